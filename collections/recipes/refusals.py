"""Why a recipe would not be published as it stands, and which values of one parameter would do.

This is for pages, before anyone publishes. It asks what publishing asks: the site's limits, the promise that
the recipe states, the rule of its population's budget.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ledger.composed import Allowance
from ledger.operations import BudgetExceededError, budget_require_room
from ledger.selectors import Balance, balance_of, population_named
from panprivacy.errors import FieldError
from panprivacy.limits import RecipeLimits
from panprivacy.remedies import LARGER, Remedy, keeps_promise, remedies_of, with_value
from panprivacy.statistic import Statistic
from recipes.operations import site_limits

SEARCH_SECONDS = 4.0
"""How long a page may look for values that would do. What was composed is remembered: the next look gets
further."""


@dataclass(frozen=True)
class Refusals:
    """What stands in the way of a recipe, as far as its parameters and its population go.

    Attributes:
        errors: every refusal; empty where nothing stands in the way.
        remedies: values of one parameter each. With any of them alone no error is left; or, where there is
            no such value, some errors less.
        late: whether the time did not suffice, so that there may be more of either.
    """

    errors: tuple[FieldError, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    late: bool = False


def refusals_of(statistic: Statistic[Any], population: str | None) -> Refusals:
    """What publishing a recipe with this (calibrated) statistic would be refused for.

    Args:
        population: its name; None where none is chosen yet, so that no budget is asked.

    Raises:
        FieldError: there is no such population.
    """
    rules = _Rules(
        site_limits(),
        None if population is None else balance_of(population_named(population), Allowance(SEARCH_SECONDS)),
        time.monotonic() + SEARCH_SECONDS,
    )
    errors: list[FieldError] = limit_errors(statistic, rules.limits)
    try:
        statistic.require_promise()
    except FieldError as error:
        errors.append(error)
    try:
        exceeded = rules.budget_error(statistic)
    except _TooLateError:
        return Refusals(tuple(errors), late=True)
    if exceeded is not None:
        errors.append(exceeded)
    remedies: list[Remedy] = []
    try:
        for remedy in _remedies(statistic, rules, exceeded) if errors else ():
            remedies.append(remedy)  # noqa: PERF402  # what was found stays, when the time is over
    except _TooLateError:
        return Refusals(tuple(errors), tuple(remedies), late=True)
    return Refusals(tuple(errors), tuple(remedies))


def limit_errors(
    statistic: Statistic[Any], limits: RecipeLimits, whose: str = "this site"
) -> list[FieldError]:
    """A refusal for each of the limits beyond which this (calibrated) statistic goes."""
    found = _stated_errors(statistic, limits, whose)
    if not found:
        try:
            limits.require_local(statistic, whose=whose)
        except FieldError as error:
            found.append(error)
    return found


def _stated_errors(statistic: Statistic[Any], limits: RecipeLimits, whose: str) -> list[FieldError]:
    """Of the limits on parameters."""
    found = []
    for name in ("cohort_size", "epsilon", "delta"):
        value = getattr(statistic.parameters, name, None)
        try:
            limits.require({} if value is None else {name: value}, whose=whose)
        except FieldError as error:
            found.append(error)
    return found


def limit_remedies(statistic: Statistic[Any], limits: RecipeLimits) -> tuple[Remedy, ...]:
    """The limits themselves, of those beyond which this statistic goes."""
    ends = {
        "cohort_size": limits.smallest_cohort,
        "epsilon": limits.largest_epsilon,
        "delta": limits.largest_delta,
    }
    return tuple(Remedy(error.field, ends[error.field]) for error in _stated_errors(statistic, limits, ""))


class _TooLateError(Exception):
    """The time for looking is over."""


@dataclass(frozen=True)
class _Rules:
    """What a recipe must keep.

    Attributes:
        limits: the site's.
        balance: the population's; None where none is chosen.
        ends: when the time for looking is over, by the monotonic clock.
    """

    limits: RecipeLimits
    balance: Balance | None
    ends: float

    def fits(self, statistic: Statistic[Any]) -> bool:
        """Whether the budget has room: the ledger's own decision, within the allowance."""
        if self.balance is None or self.balance.budget is None:
            return True
        use = self.balance.use_with(statistic.aggregator_event().as_dict())
        if use is None:
            raise _TooLateError
        return not use.too_much

    def budget_error(self, statistic: Statistic[Any]) -> FieldError | None:
        """The ledger's refusal; None where there is room."""
        if self.balance is None or self.balance.budget is None:
            return None
        if self.balance.readable and self.fits(statistic):
            return None
        try:
            budget_require_room(population=self.balance.population, event=statistic.aggregator_event())
        except FieldError as error:
            return error
        return None  # somebody's recipe gave back what it had spent, this moment

    def all_hold(self, statistic: Statistic[Any]) -> bool:
        if time.monotonic() > self.ends:
            raise _TooLateError
        return not limit_errors(statistic, self.limits) and keeps_promise(statistic) and self.fits(statistic)


def _remedies(statistic: Statistic[Any], rules: _Rules, exceeded: FieldError | None) -> Iterator[Remedy]:
    """One after the other, so that those that were found in time are there."""
    failing = False
    if isinstance(exceeded, BudgetExceededError):
        failing = exceeded.failing
    elif exceeded is not None:
        return  # what is spent is unknown, whatever this recipe costs
    at_limits = {one.name: one for one in limit_remedies(statistic, rules.limits)}
    found = 0
    # What may fail altogether gains by a smaller δ only.
    names: tuple[str, ...] = ("epsilon", "cohort_size", *(["delta"] if "delta" in at_limits else []))
    for name in ("delta",) if failing else names:
        exact = at_limits.get(name)
        if exact is not None and _holds(statistic, exact, rules.all_hold):
            one = [exact]
        else:
            one = [*remedies_of(statistic, rules.all_hold, (name,))]
        found += len(one)
        yield from one
    if not found and not failing:
        yield from _for_each_rule(statistic, rules, at_limits.values())


def _for_each_rule(statistic: Statistic[Any], rules: _Rules, at_limits: Iterable[Remedy]) -> Iterable[Remedy]:
    """No value alone does away with everything: of each rule, what would do for it."""
    each = [*at_limits]
    for rule in (keeps_promise, rules.fits):
        if not rule(statistic):
            each += remedies_of(statistic, rule, LARGER)
    strictest: dict[str, Remedy] = {}
    for one in each:
        best = max if LARGER[one.name] else min
        known = strictest.setdefault(one.name, one)
        strictest[one.name] = best(known, one, key=lambda remedy: remedy.value)
    return strictest.values()


def _holds(statistic: Statistic[Any], remedy: Remedy, enough: Callable[[Statistic[Any]], bool]) -> bool:
    try:
        return enough(with_value(statistic, remedy.name, remedy.value))
    except FieldError:
        return False
