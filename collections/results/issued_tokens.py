"""How many tokens were issued for a recipe: what its number of reports is compared with."""

from recipes.models import Recipe
from results.outcomes import Trouble
from tokens.admission.selectors import issuance_of
from tokens.admission.selectors import (
    issued_of as issued_of,  # `results` asks this package
)


def has_tokens(recipe: Recipe) -> bool:
    """Whether devices need a token to report."""
    return recipe.published.admission is not None


def issuer_trouble(recipe: Recipe) -> Trouble | None:
    """The trouble that the issuer does not report how many tokens it issued; None if it did, or is
    not asked."""
    issuance = issuance_of(recipe)
    if issuance is None or issuance.failing_since is None or issuance.send_after is None:
        return None
    return Trouble(
        since=issuance.failing_since,
        waiting=1,
        next_attempt=issuance.send_after,
        error=issuance.last_error,
    )
