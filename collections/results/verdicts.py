"""What others found who recomputed a result: entries of the log, which no one can change."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from log.audit.models import Entry
from panprivacy.formats.errors import FieldError
from panprivacy.recompute.checks import CHECKS
from recipes.errors import RecipeStateError
from recipes.log_entries import recipe_entry_append
from recipes.models import Recipe
from results.actions import VERDICT_FILED
from results.bundles import has_bundle

BY_LENGTH = 120
"""Most characters of the name of who recomputed it."""

MOST_VERDICTS = 100
"""Of one recipe: entries cannot be deleted from the log."""

MOST_OF_AN_ACCOUNT = 2
"""Of one recipe: a mistake can be corrected once, and no account takes the place of other auditors."""


@dataclass(frozen=True)
class Verdict:
    """What one party found.

    Attributes:
        by: who recomputed it.
        failed: the first check that failed; empty if all hold.
        at: when it was filed.
    """

    by: str
    failed: str
    at: datetime


@transaction.atomic
def verdict_file(*, recipe: Recipe, by: str, failed: str, actor: AbstractBaseUser) -> Verdict:
    """Log what an auditor found who recomputed the result of a recipe with a joint key.

    An account can correct a mistake once, but not fill the places of other auditors. All stay in the log.

    Args:
        by: who, 1 to 120 printable characters; public.
        failed: name of the check that failed (`panprivacy.recompute.checks.CHECKS`); empty if all hold.
        actor: the auditor's account; not public.

    Raises:
        FieldError: a text is none.
        RecipeStateError: the recipe has no bundle, or `MOST_VERDICTS` verdicts, or `MOST_OF_AN_ACCOUNT` of
            this account.
    """
    if not (1 <= len(by) <= BY_LENGTH and by.isprintable()):
        raise FieldError("by", f"must have 1 to {BY_LENGTH} printable characters")
    if failed and failed not in CHECKS:
        raise FieldError("failed", f"must be empty, or one of {', '.join(CHECKS)}")
    recipe = Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
    if not has_bundle(recipe):
        raise RecipeStateError("only a released result of a recipe with a joint key can be recomputed")
    entries = _entries(recipe)
    if entries.count() >= MOST_VERDICTS:
        raise RecipeStateError(f"the log has {MOST_VERDICTS} verdicts on this result already")
    if entries.filter(actor=actor.get_username()).count() >= MOST_OF_AN_ACCOUNT:
        raise RecipeStateError(f"an account files at most {MOST_OF_AN_ACCOUNT} verdicts on one result")
    recipe_entry_append(
        recipe=recipe, action=VERDICT_FILED, actor=actor, details={"by": by, "failed": failed}
    )
    return verdicts_of(recipe)[-1]


def verdicts_of(recipe: Recipe) -> list[Verdict]:
    """All verdicts on a result, in the order in which they were filed."""
    return [
        Verdict(entry.details["by"], entry.details["failed"], entry.at)
        for entry in _entries(recipe).order_by("index")
    ]


def _entries(recipe: Recipe) -> QuerySet[Entry]:
    return Entry.objects.filter(action=VERDICT_FILED.name, subject=str(recipe.identifier))
