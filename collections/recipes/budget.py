"""What a recipe does to the budget of its population, and what would fit where it does not."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ledger.models import Population
from ledger.operations import BudgetExceededError, budget_require_room, spending_append
from ledger.selectors import Standing, population_named, standing_of
from panprivacy.errors import FieldError
from panprivacy.mechanisms import mechanism_class
from panprivacy.mechanisms.interface import Mechanism
from panprivacy.parameters import Parameters
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from recipes.presentation import number

HALF = 0.5
"""Part of the cohort whose collusion the ledger also accounts for."""

LARGEST_COHORT = 1_000_000_000


@dataclass(frozen=True)
class Effect:
    """Where a population would stand with one more recipe.

    Attributes:
        standing: where it stands without.
        composed: ε with the recipe, at the same δ; None where time did not suffice.
        exceeds: whether that is above the budget.
    """

    standing: Standing
    composed: float | None
    exceeds: bool


def effect_of(mechanism: Mechanism[Any], population: str) -> Effect:
    """What publishing would do. FieldError where there is no such population."""
    standing = standing_of(population_named(population))
    composed = standing.with_event(mechanism.aggregator_event().as_dict())
    budget = standing.budget
    exceeds = budget is not None and composed is not None and composed > budget.epsilon
    return Effect(standing, composed, exceeds)


def room_require(*, mechanism: Mechanism[Any], population: str) -> None:
    """A first look, before anything is locked; the look that counts is `spend`'s.

    Its numbers are remembered, so that `spend` finds them ready unless somebody spent in between.

    Raises:
        FieldError: there is no such population, or its budget would be exceeded.
    """
    budget_require_room(population=population_named(population), event=mechanism.aggregator_event())


def spend(*, published: PublishedRecipe) -> None:
    """Write a recipe's cost into its population's book; FieldError where it does not fit.

    That a device may not have been sampled is not counted in its favour: who took part may be known.
    A simulation asks no real device, and costs nothing.
    """
    if published.simulation or published.population is None:
        return
    mechanism = published.mechanism
    spending_append(
        population=published.population,
        recipe=published.identifier,
        event=mechanism.aggregator_event(),
        event_if_half_colludes=mechanism.aggregator_event(HALF),
    )


@contextmanager
def saying_what_fits(draft: RecipeDraft) -> Iterator[None]:
    """Add to a refusal within the block what would have fitted. Wrap it around the transaction, not inside.

    Raises:
        FieldError: the refusal.
    """
    try:
        yield
    except BudgetExceededError as error:
        advice = what_fits(draft.mechanism(), error.population)
        raise FieldError(error.field, f"{error.message}; {advice}") from None


def what_fits(mechanism: Mechanism[Any], population: Population) -> str:
    """The largest ε and the smallest cohort size with which the recipe would fit, else the largest δ.

    Each is found with all other parameters as they are, among values of two significant digits; what is
    named was computed, and does fit. Returns a clause.
    """
    parameters = mechanism.parameters
    epsilons = [value for value in _two_digits(-6, 2) if value < parameters.epsilon]
    # From the strongest protection to the weakest, so that what fits lies at one end.
    cohorts = [int(value) for value in _two_digits(1, 10) if parameters.cohort_size < value <= LARGEST_COHORT]
    statistic = mechanism_class(mechanism.statistic)

    def fits(changes: dict[str, Any]) -> bool:
        try:
            changed = statistic(_recalibrated(parameters, changes))
            budget_require_room(population=population, event=changed.aggregator_event())
        except FieldError:
            return False
        return True

    epsilon = _last(epsilons, lambda value: fits({"epsilon": value}))
    deltas = [value for value in _two_digits(-30, 0) if value < parameters.delta]
    cohort_size = _last(cohorts[::-1], lambda value: fits({"cohort_size": value}))
    # Only where the recipe fails with a probability of its own, which a smaller ε would not change.
    delta = None if epsilon or cohort_size else _last(deltas, lambda value: fits({"delta": value}))
    found = [
        *([] if epsilon is None else [f"ε = {number(epsilon)}"]),
        *([] if cohort_size is None else [f"a cohort size of {number(cohort_size)}"]),
        *([] if delta is None else [f"δ = {number(delta)}"]),
    ]
    return f"{' or '.join(found)} would fit" if found else "no other ε, cohort size or δ would fit"


def _recalibrated(parameters: Parameters, changes: dict[str, Any]) -> Parameters:
    derived = dict.fromkeys(parameters.derived_names())
    return dataclasses.replace(parameters, **derived, **changes).calibrated()


def _two_digits(first_exponent: int, last_exponent: int) -> list[float]:
    """Every number of two significant digits from 10^first_exponent up to below 10^last_exponent."""
    return [
        float(f"{digits}e{exponent - 1}")
        for exponent in range(first_exponent, last_exponent)
        for digits in range(10, 100)
    ]


def _last(values: Sequence[Any], holds: Callable[[Any], bool]) -> Any:
    """The last value for which `holds`, where it holds up to one and for none after; None where for none."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if holds(values[middle]):
            low = middle + 1
        else:
            high = middle
    return values[low - 1] if low else None
