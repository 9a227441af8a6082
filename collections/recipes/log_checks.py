"""Stored recipes are those that were published."""

import hashlib
import json

import structlog
from cryptography.exceptions import InvalidSignature

from log.audit.models import Entry
from log.audit.selectors import BrokenLogError
from log.public_log.checks import log_check
from panprivacy.recipe.signed_documents import signed_message
from recipes.actions import RECIPE_PUBLISHED
from recipes.models import Recipe
from storage.signing_key import verification_key

logger = structlog.get_logger(__name__)


@log_check
def recipes_verify() -> None:
    """Every published recipe against its identifier, its signature and its entry."""
    entered = set(Entry.objects.filter(action=RECIPE_PUBLISHED.name).values_list("subject", flat=True))
    for recipe in Recipe.objects.exclude(status=Recipe.Status.DRAFT).order_by("pk").iterator():
        if hashlib.sha256(recipe.document.encode()).hexdigest() != recipe.identifier:
            raise BrokenLogError(f"the document of recipe {recipe.identifier} was changed")
        if recipe.identifier not in entered and not recipe.private:
            raise BrokenLogError(f"recipe {recipe.identifier} has no entry")
        # Of the document as it is stored: another version may have written what cannot be read here.
        content = recipe.document.encode()
        try:
            message = signed_message(str(json.loads(content).get("format")), content)
            verification_key().verify(bytes(recipe.signature), message)
        except InvalidSignature:
            raise BrokenLogError(f"the signature of recipe {recipe.identifier} does not hold") from None
        if recipe.unreadable:
            logger.warning("recipe_unreadable", recipe=recipe.identifier, error=recipe.unreadable)
