"""A recipe's effect on the budget of its population, and what would fit if it does not."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ledger.budget import Rule
from ledger.composed import Allowance
from ledger.models import Population
from ledger.operations import (
    BudgetExceededError,
    budget_require_room,
    reservation_require,
    reservations_append,
    spending_append,
)
from ledger.selectors import Balance, balance_of, population_named
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.planning.value_search import NO_ALTERNATIVE, largest_number, nearest_value, remedy_clause
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.repetition import Repetition
from panprivacy.statistics.interface import Statistic, event_with_collusion
from storage.connections import connection_release
from web.turns import BusyError, turn

HALF = 0.5
"""Part of the cohort whose collusion the ledger also accounts for."""

SEARCH_SECONDS = 4.0
"""Time limit of the search for values that would fit."""

ROUNDS_SECONDS = 2.0
"""Time limit of the search for the number of rounds that would fit."""

_LATE = "what would fit takes longer to find; try a smaller ε"
_BUSY = "too much is being computed to find what would fit; ask again in a minute"

LARGE_EPSILON = 100.0
"""At which the δ of an event is what it may fail by altogether."""


EventOf = Callable[..., PrivacyEvent]
"""What something with a statistic costs; takes the statistic, and the part of the cohort that colludes."""


def one_release(mechanism: Statistic[Any], dishonest_fraction: float = 0.0) -> PrivacyEvent:
    """The cost of one recipe."""
    return event_with_collusion(mechanism, dishonest_fraction)


@dataclass(frozen=True)
class Effect:
    """The state of a population with one more recipe.

    Attributes:
        balance: its state without that recipe.
        composed: ε with the recipe, at the same δ; None if time did not suffice.
        share: part of the budget that is used with it; None without a budget, or if time ran out.
        exceeds: whether that is more than the budget.
        delta_reason: why no ε is promised with it, and which δ would fit, as a clause; else empty.
        condition: what the recipe's cost relies on, as a clause; empty if it holds as it is.
    """

    balance: Balance
    composed: float | None
    share: float | None
    exceeds: bool
    delta_reason: str
    condition: str


def effect_of(
    mechanism: Statistic[Any],
    population: str,
    *,
    event_of: EventOf = one_release,
    condition: str | None = None,
) -> Effect:
    """What publishing would do. FieldError if there is no such population.

    Args:
        event_of: what it costs.
        condition: on what that relies; None for what one release relies on.
    """
    balance = balance_of(population_named(population))
    event = event_of(mechanism).as_dict()
    composed, use = balance.with_event(event), balance.use_with(event)
    return Effect(
        balance=balance,
        composed=composed,
        share=None if use is None else use.share,
        exceeds=use is not None and use.too_much,
        delta_reason=delta_reason(mechanism, balance, event_of=event_of)
        if composed == math.inf or (use is not None and use.failing)
        else "",
        condition=mechanism.budget_condition if condition is None else condition,
    )


def delta_reason(
    mechanism: Statistic[Any], balance: Balance, times: int = 1, event_of: EventOf = one_release
) -> str:
    """Why no ε is promised with this recipe, published this many times, and the largest δ with which one is,
    as a clause; empty if it is not for the recipe's own δ."""
    total = times * event_of(mechanism).delta(LARGE_EPSILON)
    if total == 0 or balance.spent == math.inf or (balance.use is not None and balance.use.failing):
        return ""

    def promised(changed: Statistic[Any]) -> bool:
        event = event_of(changed).as_dict()
        composed, use = balance.with_event(event, times), balance.use_with(event, times)
        return composed is not None and composed < math.inf and not (use is not None and use.failing)

    largest = nearest_value(mechanism, "delta", promised)
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


def affordable(
    draft: RecipeDraft, *, free: bool, times: int = 1, event_of: EventOf = one_release
) -> Statistic[Any]:
    """The statistic of a draft, after a first check of the budget; the check that counts is `spend`'s.

    Call it before anything is locked: it takes up to seconds. Its numbers are remembered, so that `spend`
    finds them ready unless another recipe spent in between.

    Args:
        free: whether nothing is spent: by a simulation, or if the cost is reserved.
        times: how often the draft is to be published.
        event_of: what each time costs.

    Raises:
        FieldError: there is no such population, its budget would be exceeded, or the draft's parameters
            cannot be met.
    """
    population = population_named(draft.population)  # the cheap refusal first
    mechanism = draft.calibrated_statistic()
    if not free:
        budget_require_room(population=population, event=event_of(mechanism), times=times)
    return mechanism


def reserve(repeated: Repetition, names: Sequence[str]) -> dict[str, Any]:
    """Write into the population's book what all rounds will cost: `spend` takes the place of each line, one
    by one, or relies on the one line of all. FieldError if all together do not fit.

    Args:
        names: of the lines (`reservations_append`).

    Returns:
        The privacy event of each, as data.
    """
    mechanism = repeated.recipe.calibrated_statistic()
    event = repeated.event_of(mechanism)
    reservations_append(
        population=repeated.recipe.population,
        names=names,
        event=event,
        event_if_half_colludes=repeated.event_of(mechanism, HALF),
        condition=repeated.condition,
    )
    return event.as_dict()


def spend(*, published: PublishedRecipe, reserved: str | None = None) -> dict[str, Any] | None:
    """Write a recipe's cost into its population's book; FieldError if it does not fit.

    That a device may not have been sampled is not counted in its favour: who took part may be known.
    A simulation asks no real device, and costs nothing. A round of a recipe in rounds is in the line that is
    reserved for all of them, and stays there.

    Args:
        reserved: name of what is reserved for it; None if nothing is.

    Returns:
        The privacy event that was spent, as data; None if nothing was.
    """
    if published.simulation:
        return None
    if published.round is not None:
        reservation_require(population=published.population, name=reserved or "this round")
        return None
    mechanism = published.calibrated_statistic
    event = mechanism.aggregator_event()
    spending_append(
        population=published.population,
        recipe=published.identifier,
        event=event,
        event_if_half_colludes=event_with_collusion(mechanism, HALF),
        condition=mechanism.budget_condition,
        reserved=reserved,
    )
    return event.as_dict()


@contextmanager
def saying_what_fits(draft: RecipeDraft, times: int = 1, event_of: EventOf = one_release) -> Iterator[None]:
    """Add to a refusal within the block what would have fitted. Wrap it around the transaction, not inside.

    This search needs a request's turn: if others compute, the refusal comes without it.

    Args:
        times: how often the draft is to be published.
        event_of: what each time costs.

    Raises:
        FieldError: the refusal.
    """
    try:
        yield
    except BudgetExceededError as error:
        connection_release()
        try:
            with turn():
                refusal = _with_advice(error, draft.calibrated_statistic(), times, event_of)
        except BusyError:
            refusal = FieldError(error.field, _joined(error.message, _BUSY))
        raise refusal from None


def _with_advice(
    error: BudgetExceededError, mechanism: Statistic[Any], times: int, event_of: EventOf
) -> FieldError:
    rounds = rounds_that_fit(mechanism, error.population, times)
    if error.failing:
        reason = delta_reason(mechanism, balance_of(error.population), times, event_of)
        if reason:
            return FieldError("delta", _joined(f"does not fit the population's budget: {reason}", rounds))
    advice = what_fits(mechanism, error.population, times, event_of)
    return FieldError(error.field, _joined(error.message, rounds, advice))


def _joined(*clauses: str) -> str:
    return "; ".join(filter(None, clauses))


def rounds_that_fit(mechanism: Statistic[Any], population: Population, times: int) -> str:
    """How many of this number of recipes fit into the budget unchanged: a clause; empty for one recipe, or if
    time runs out.
    """
    if times == 1:
        return ""
    balance = balance_of(population, Allowance(ROUNDS_SECONDS))
    event = mechanism.aggregator_event().as_dict()
    try:
        fitting = largest_number(lambda rounds: balance.fits(event, rounds), 1, times - 1)
    except TimeoutError:
        return ""
    if fitting is None:
        return "not one round fits as it is"
    return "1 round fits as it is" if fitting == 1 else f"{fitting:,} rounds fit as they are"


def what_fits(
    mechanism: Statistic[Any], population: Population, times: int, event_of: EventOf = one_release
) -> str:
    """Which ε or cohort size fits into the budget, this many times, all else unchanged: a clause.

    Searches for `SEARCH_SECONDS`, and one number longer; what was composed is remembered.
    """
    ends = time.monotonic() + SEARCH_SECONDS
    balance = balance_of(population, Allowance(SEARCH_SECONDS))
    if balance.share == 1:
        return NO_ALTERNATIVE  # whatever is published costs something

    def fits(changed: Statistic[Any]) -> bool:
        if time.monotonic() > ends:
            raise TimeoutError
        return balance.fits(event_of(changed).as_dict(), times)

    try:
        return remedy_clause(mechanism, fits)
    except TimeoutError:
        return _LATE
