"""The key pair of a recipe whose reports are encrypted."""

import random

from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.draft import RecipeDraft
from storage.connections import connection_release


def recipe_key_make(draft: RecipeDraft, random_source: random.Random) -> PrivateKey:
    """A fresh key of the scheme that the draft names; ValueError if it names none."""
    if draft.encryption is None:
        raise ValueError(f"nothing is encrypted in a {draft.trust} recipe")
    connection_release()  # some schemes search for seconds
    return generate_private_key(draft.encryption, random_source)
