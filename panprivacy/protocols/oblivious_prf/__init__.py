"""A function of two parties: one has the key, the other the input, and neither learns what the other has.

`hash_to_curve` turns bytes into points of secp256k1 (RFC 9380); `evaluation` has the three steps of mode OPRF
(RFC 9497). Randomness is an argument. It must not know what inputs and keys stand for.
"""

__all__ = ["evaluation", "hash_to_curve"]
