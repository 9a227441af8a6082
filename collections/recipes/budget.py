"""What a recipe does to the budget of its population, and what would fit where it does not."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ledger.budget import Rule
from ledger.composed import Allowance
from ledger.models import Population
from ledger.operations import BudgetExceededError, budget_require_room, reservations_append, spending_append
from ledger.selectors import Balance, balance_of, population_named
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe, RecipeDraft
from panprivacy.remedies import NOTHING_WOULD_DO, nearest_value, remedy_clause
from panprivacy.shown import plain
from panprivacy.statistic import Statistic

HALF = 0.5
"""Part of the cohort whose collusion the ledger also accounts for."""

SEARCH_SECONDS = 15.0
"""How long is looked for values that would do."""

LARGE_EPSILON = 100.0
"""At which the δ of an event is what it may fail by altogether."""


@dataclass(frozen=True)
class Effect:
    """Where a population would stand with one more recipe.

    Attributes:
        balance: where it stands without.
        composed: ε with the recipe, at the same δ; None where time did not suffice.
        share: part of the budget that is used with it; None without a budget, or where time did not suffice.
        exceeds: whether that is more than the budget.
        delta_reason: why no ε is promised with it, and which δ would fit, as a clause; else empty.
        condition: what the recipe's cost relies on, as a clause; empty where it holds as it is.
    """

    balance: Balance
    composed: float | None
    share: float | None
    exceeds: bool
    delta_reason: str
    condition: str


def effect_of(mechanism: Statistic[Any], population: str) -> Effect:
    """What publishing would do. FieldError where there is no such population."""
    balance = balance_of(population_named(population))
    event = mechanism.aggregator_event().as_dict()
    composed, use = balance.with_event(event), balance.use_with(event)
    return Effect(
        balance=balance,
        composed=composed,
        share=None if use is None else use.share,
        exceeds=use is not None and use.too_much,
        delta_reason=delta_reason(mechanism, balance)
        if composed == math.inf or (use is not None and use.failing)
        else "",
        condition=mechanism.budget_condition,
    )


def delta_reason(mechanism: Statistic[Any], balance: Balance, times: int = 1) -> str:
    """Why no ε is promised with this recipe, so many times, and the largest δ with which one is, as a clause;
    empty where it is not for the recipe's own δ."""
    total = times * mechanism.aggregator_event().delta(LARGE_EPSILON)
    if total == 0 or balance.spent == math.inf or (balance.use is not None and balance.use.failing):
        return ""

    def promised(changed: Statistic[Any]) -> bool:
        event = changed.aggregator_event().as_dict()
        composed, use = balance.with_event(event, times), balance.use_with(event, times)
        return composed is not None and composed < math.inf and not (use is not None and use.failing)

    largest = nearest_value(mechanism, "delta", promised, larger=False)
    fitting = "no smaller one fits" if largest is None else f"the largest that fits is δ = {plain(largest)}"
    by_filter = balance.budget is not None and balance.budget.rule is Rule.FILTER
    most, whose = (
        (balance.delta / 2, "half of the population's δ, which is")
        if by_filter
        else (
            balance.delta,
            "the population's δ of",
        )
    )
    if total > most:
        why = f"the δ of this recipe, {plain(total)} in total, is"
    else:
        why = f"the δ of this recipe, {plain(total)} in total, and the δ already spent are together"
    return f"{why} above {whose} {plain(most)}; {fitting}"


def affordable(draft: RecipeDraft, *, free: bool, times: int = 1) -> Statistic[Any]:
    """The statistic of a draft, after a first look at the budget; the look that counts is `spend`'s.

    Call it before anything is locked: it takes up to seconds. Its numbers are remembered, so that `spend`
    finds them ready unless somebody spent in between.

    Args:
        free: whether nothing is spent: by a simulation, or where the cost is reserved.
        times: how often the draft is to be published.

    Raises:
        FieldError: there is no such population, its budget would be exceeded, or the draft's parameters
            cannot be met.
    """
    population = population_named(draft.population)  # the cheap refusal first
    mechanism = draft.calibrated_statistic()
    if not free:
        budget_require_room(population=population, event=mechanism.aggregator_event(), times=times)
    return mechanism


def reserve(draft: RecipeDraft, names: Sequence[str]) -> None:
    """Write into the population's book what publishing a draft so often will cost: `spend` takes the place of
    each line, one by one. FieldError where all together do not fit.

    Args:
        names: of the lines (`reservations_append`).
    """
    mechanism = draft.calibrated_statistic()
    reservations_append(
        population=draft.population,
        names=names,
        event=mechanism.aggregator_event(),
        event_if_half_colludes=mechanism.aggregator_event(HALF),
        condition=mechanism.budget_condition,
    )


def spend(*, published: PublishedRecipe, reserved: str | None = None) -> None:
    """Write a recipe's cost into its population's book; FieldError where it does not fit.

    That a device may not have been sampled is not counted in its favour: who took part may be known.
    A simulation asks no real device, and costs nothing; nothing else does.
    """
    if published.simulation:
        return
    if published.population is None:
        raise FieldError("population", "is missing")
    mechanism = published.calibrated_statistic
    spending_append(
        population=published.population,
        recipe=published.identifier,
        event=mechanism.aggregator_event(),
        event_if_half_colludes=mechanism.aggregator_event(HALF),
        condition=mechanism.budget_condition,
        reserved=reserved,
    )


@contextmanager
def saying_what_fits(draft: RecipeDraft, times: int = 1) -> Iterator[None]:
    """Add to a refusal within the block what would have fitted. Wrap it around the transaction, not inside.

    Args:
        times: how often the draft is to be published.

    Raises:
        FieldError: the refusal.
    """
    try:
        yield
    except BudgetExceededError as error:
        mechanism = draft.calibrated_statistic()
        if error.failing:
            reason = delta_reason(mechanism, balance_of(error.population), times)
            if reason:
                raise FieldError("delta", f"does not fit the population's budget: {reason}") from None
        advice = what_fits(mechanism, error.population, times)
        raise FieldError(error.field, f"{error.message}; {advice}") from None


def what_fits(mechanism: Statistic[Any], population: Population, times: int) -> str:
    """Which ε or cohort size the budget has room for, so many times, all else as it is: a clause.

    Looks for `SEARCH_SECONDS`, and one number longer; what was composed is remembered.
    """
    ends = time.monotonic() + SEARCH_SECONDS
    balance = balance_of(population, Allowance(SEARCH_SECONDS))
    if balance.share == 1:
        return NOTHING_WOULD_DO  # whatever is published costs something

    def fits(changed: Statistic[Any]) -> bool:
        use = None
        if time.monotonic() <= ends:
            use = balance.use_with(changed.aggregator_event().as_dict(), times)
        if use is None:
            raise TimeoutError
        return not use.too_much

    try:
        return remedy_clause(mechanism, fits)
    except TimeoutError:
        return "what would fit takes longer to find; try a smaller ε"
