"""Whether a result has as many reports as its tokens explain, and what happens to one that has more.

A result with far too many reports is held: an attacker may have made them. It is neither released nor deleted
until an administrator lets it pass, or an analyst withholds it. Nothing that is shown of a held result is
finer than what is shown of an open recipe: that it is held, how many tokens there were, and how many reports
would have been expected.
"""

from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from panprivacy.accounting import noisy_count
from panprivacy.accounting.rate_validation import RateCheck, Verdict, rate_check
from recipes.errors import RecipeStateError
from recipes.log_entries import recipe_entry_append
from recipes.models import Recipe
from recipes.steps import step_due
from results.actions import RESULT_ALLOWED, RESULT_HELD
from results.models import HeldResult, Release
from results.outcomes import Outcome, Sum, Trouble
from results.reasons import require_reason
from results.trust_models import collection_model_of
from storage import clock
from tokens.admission.selectors import issuance_of, issued_of


def has_tokens(recipe: Recipe) -> bool:
    """Whether devices need a token to report."""
    return recipe.published.admission is not None


def is_held(recipe: Recipe) -> bool:
    """Whether the result waits for a decision: a cheap check without locks."""
    return has_tokens(recipe) and HeldResult.objects.filter(recipe=recipe, allowed_at=None).exists()


def count_is_missing(recipe: Recipe, outcome: Outcome) -> bool:
    """Whether there is a sum, and the issuer has not yet reported how many tokens belong to it. A recipe
    without a sum does not wait, so that its keys are deleted."""
    return isinstance(outcome, Sum) and has_tokens(recipe) and issued_of(recipe) is None


def check_of(recipe: Recipe, outcome: Outcome) -> RateCheck | None:
    """Reports against tokens; None if there are no tokens, or no sum.

    Computed from the number of reports as it is published: if that has noise, so has the rate.
    """
    if not isinstance(outcome, Sum) or not has_tokens(recipe):
        return None
    issued = issued_of(recipe)
    if issued is None:
        raise RecipeStateError("the issuer has not said how many tokens there are")
    statistic = recipe.published.calibrated_statistic
    return rate_check(
        issued=issued,
        accepted=outcome.reports,
        rate=statistic.reporting_rate,
        # Every device has a token, and the number of those in a target is unknown.
        rates=statistic.reporting_rates
        if recipe.published.target is None
        else (0.0, statistic.reporting_rates[1]),
        count_scale=noisy_count.scale(statistic.cohort_size) if statistic.noisy_count else None,
        taken=recipe.cohort_size if collection_model_of(recipe).takes_one_cohort else None,
    )


def result_passes(recipe: Recipe, check: RateCheck | None) -> bool:
    """Whether the result may be released; otherwise hold it. The recipe's row is locked."""
    if check is None or check.verdict is not Verdict.HELD:
        return True
    held, created = HeldResult.objects.get_or_create(
        recipe=recipe,
        defaults={
            "issued": check.issued,
            "expected": check.expected,
            "most": check.high,
            "held_at": clock.database_now(),
        },
    )
    if created:
        recipe_entry_append(
            recipe=recipe,
            action=RESULT_HELD,
            actor=None,
            details={"issued": check.issued, "most": check.high},
        )
    return held.allowed_at is not None


@transaction.atomic
def result_allow(*, recipe: Recipe, reason: str, actor: AbstractBaseUser | None) -> HeldResult:
    """Let a held result be released all the same, at its next step.

    Args:
        reason: why, as a clause; it is public.

    Raises:
        FieldError: the reason does not have 1 to 200 printable characters.
        RecipeStateError: the result is not held, or was let pass for another reason.
    """
    require_reason(reason)
    # In this order everywhere: the recipe's row first.
    Recipe.objects.select_for_update().get(pk=recipe.pk)
    held = HeldResult.objects.filter(recipe=recipe).first()
    if held is None or Release.objects.filter(recipe=recipe, outcome=Release.Outcome.WITHHELD).exists():
        raise RecipeStateError("the result is not held")
    if held.allowed_at is not None:
        if held.allowed_reason != reason:
            raise RecipeStateError("it was released already, for another reason")
        return held
    held.allowed_at, held.allowed_reason = clock.database_now(), reason
    held.save(update_fields=["allowed_at", "allowed_reason"])
    step_due(recipe=recipe)
    recipe_entry_append(recipe=recipe, action=RESULT_ALLOWED, actor=actor, details={"reason": reason})
    return held


def held_of(recipe: Recipe) -> HeldResult | None:
    """What is shown of a held result; None for any other."""
    return HeldResult.objects.filter(recipe=recipe, allowed_at=None, recipe__release=None).first()


def told_of_check(recipe: Recipe, check: RateCheck | None) -> dict[str, Any] | None:
    """What a release states about its tokens, as plain JSON values; None if there were none."""
    if check is None:
        return None
    allowed = HeldResult.objects.filter(recipe=recipe).values_list("allowed_reason", flat=True).first()
    return {**asdict(check), "allowed": allowed or None}


def issuer_trouble(recipe: Recipe) -> Trouble | None:
    """The trouble that the issuer does not report how many tokens it issued; None if it did, or is
    not asked."""
    issuance = issuance_of(recipe) if has_tokens(recipe) else None
    if issuance is None or issuance.failing_since is None or issuance.send_after is None:
        return None
    return Trouble(
        since=issuance.failing_since,
        waiting=1,
        next_attempt=issuance.send_after,
        error=issuance.last_error,
    )
