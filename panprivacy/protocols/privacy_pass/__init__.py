"""Privacy Pass with blind RSA signatures: the issuer of a token cannot recognize it when it is used.

`rsa_keys` makes and encodes keys, and `blind_rsa` is RFC 9474 in all four variants. `tokens` are the messages
of RFC 9577 and RFC 9578 (token type 0x0002). `issuance` has the three parts: client, issuer, verifier.

Randomness is an argument. It must not know HTTP, clocks, devices or recipes.
"""

__all__ = ["blind_rsa", "issuance", "rsa_keys", "tokens"]
