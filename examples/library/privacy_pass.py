"""A token that proves a device may take part, without identifying it (RFC 9578, token type 2)."""

import secrets

from panprivacy.protocols.privacy_pass import issuance, rsa_keys
from panprivacy.protocols.privacy_pass.tokens import TOKEN_TYPE, TokenChallenge

source = secrets.SystemRandom()
key = rsa_keys.generate(source)  # the issuer's
challenge = TokenChallenge(TOKEN_TYPE, b"issuer.example", b"", b"site.example")

pending = issuance.ask(key.public, challenge, source)  # the client's, kept secret
response = issuance.issue(key, pending.request, source)  # the issuer signs without seeing the token
token = pending.finish(response)

issuance.verify(key.public, challenge.digest, token)  # the site, which also refuses a token used before
print(f"a token of {len(token.encode())} bytes")
