"""Stored recipes are those that were published."""

import hashlib

from cryptography.exceptions import InvalidSignature

from audit.models import Entry
from audit.selectors import BrokenLogError
from public_log.checks import log_check
from recipes.actions import RECIPE_PUBLISHED
from recipes.models import Recipe
from storage.signing_key import verification_key


@log_check
def recipes_verify() -> None:
    """Every published recipe against its identifier, its signature and its entry."""
    entered = set(Entry.objects.filter(action=RECIPE_PUBLISHED.name).values_list("subject", flat=True))
    for recipe in Recipe.objects.exclude(status=Recipe.Status.DRAFT).order_by("pk").iterator():
        if hashlib.sha256(recipe.document.encode()).hexdigest() != recipe.identifier:
            raise BrokenLogError(f"the document of recipe {recipe.identifier} was changed")
        if recipe.identifier not in entered:
            raise BrokenLogError(f"recipe {recipe.identifier} has no entry")
        try:
            verification_key().verify(bytes(recipe.signature), recipe.published.signed_message)
        except (InvalidSignature, ValueError):
            raise BrokenLogError(f"the signature of recipe {recipe.identifier} does not hold") from None
