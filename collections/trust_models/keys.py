"""The key pair of a recipe whose reports are encrypted."""

import random

from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe_draft import RecipeDraft


def recipe_key_make(draft: RecipeDraft, random_source: random.Random) -> PrivateKey:
    """A fresh key of the scheme that the draft names; ValueError where it names none."""
    if draft.encryption is None:
        raise ValueError(f"nothing is encrypted in a {draft.trust} recipe")
    return generate_private_key(draft.encryption, random_source)
