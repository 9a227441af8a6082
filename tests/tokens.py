"""An issuer's part without an issuer: admission as a document names it, and tokens that its key signed."""

import random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.tokens import Token
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.recipe.token import challenge
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key

ISSUER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(96, 128)))
"""With which the issuer signs documents."""

STRANGERS_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(128, 160))).public_key().public_bytes_raw()
"""A verification key, 32 bytes, of no server in the tests."""

ATTESTER_URL = "https://attester.example/attester"


def token_admission(seed: int = 0, **changes: Any) -> TokenAdmission:
    """Whose tokens `seeded_key(seed)` signs."""
    members = {
        "issuer_name": "issuer.example",
        "issuer_key": ISSUER_KEY.public_key().public_bytes_raw(),
        "attester_url": ATTESTER_URL,
        "token_key": seeded_key(seed).public.encoded,
    }
    return TokenAdmission(**(members | changes))


def issued_token(
    recipe: PublishedRecipe, source: random.Random, seed: int = 0, nonce: bytes | None = None
) -> Token:
    """A token of this recipe, signed by `seeded_key(seed)`; with this nonce, 32 bytes, or one that is
    drawn."""
    key = seeded_key(seed)
    drawn, salt = source.randbytes(32), source.randbytes(48)
    factor = source.randrange(1, key.public.n)
    pending = issuance.ask_with(key.public, challenge(recipe).digest, nonce or drawn, salt, factor)
    return pending.finish(issuance.issue(key, pending.request, source))
