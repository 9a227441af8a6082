"""Reading the recipe that somebody asks another server to take part in."""

import json

from panprivacy.encryption.interface import InvalidKeyError
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from peers.problems import refused


def recipe_read(*, document: str, identifier: str) -> PublishedRecipe:
    """The recipe, checked as a device checks it but for the signatures.

    Args:
        document: its canonical JSON, exactly.
        identifier: 64 hexadecimal digits; must be the SHA-256 of the document.

    Raises:
        Problem: it is not, or does not keep what it states; the detail says what is wrong.
    """
    try:
        members = json.loads(document)
        if not isinstance(members, dict):
            raise refused("document: must be a JSON object.")
        recipe = PublishedRecipe.from_document(members)
        # What it derived must keep what it names, as a device checks it.
        recipe.calibrated_statistic.require_promise()
    except (FieldError, InvalidKeyError) as error:
        raise refused(f"document: {error}.") from None
    except (ValueError, RecursionError):
        raise refused("document: must be JSON.") from None
    if recipe.canonical != document.encode() or recipe.identifier != identifier:
        raise refused("document: must be canonical, and its SHA-256 the identifier that is asked for.")
    return recipe
