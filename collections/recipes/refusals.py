"""Why a recipe would be refused with its present content, and which values of one parameter would be
accepted.

This is for pages, before publication. It asks what publishing asks: the site's limits, the promise that the
recipe states, the rule of its population's budget.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ledger.books import Book
from ledger.models import Population
from ledger.operations import BudgetExceededError, budget_require_fit
from ledger.selectors import population_named
from panprivacy.formats.errors import FieldError
from panprivacy.planning.expectation import MISSED
from panprivacy.planning.likelihood import likely_cohort, unlikely_sentence
from panprivacy.planning.limits import USUAL, RecipeLimits, local_epsilon
from panprivacy.planning.value_search import LARGER, Remedy, is_enough_with, keeps_promise, remedies_of
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.segment_estimates import ExpectedSegments
from panprivacy.statistics.trust_models import TRUST_MODELS, Servers
from recipes.cost import Cost
from recipes.operations import site_limits
from storage.answers.kinds import Content, Lane, declared
from storage.answers.questions import Answer, Asked, ask_all


@dataclass(frozen=True)
class Refusals:
    """The obstacles to publishing a recipe that lie in its parameters and its population.

    Attributes:
        errors: every refusal; empty if there is no obstacle.
        remedies: values of one parameter each. With any of them alone no error is left; or, if there is no
            such value, some errors less.
        late: whether the search has not ended, so that there may be more of either.
        devices: what devices with the usual limits refuse it for.
        unlikely: why a result is unlikely, as a sentence; empty if it is likely, or nothing is known.
        likely_cohort: the largest cohort with which one is likely; None if there is none, or none is needed.
        segments: what to expect of each, if a result is likely; None if it asks by none.
    """

    errors: tuple[FieldError, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    late: bool = False
    devices: tuple[FieldError, ...] = ()
    unlikely: str = ""
    likely_cohort: int | None = None
    segments: ExpectedSegments | None = None


def refusals_of(cost: Cost, population: str | None, population_size: int | None = None) -> Refusals:
    """What publishing would be refused for, as far as it is computed.

    Args:
        population: its name; None if none is chosen yet, so that no budget is asked.
        population_size: devices that hear of it; None if that is not known.

    Raises:
        FieldError: there is no such population, or the parameters cannot be met.
    """
    (answer,) = ask_all([refusals_question(cost, population, population_size)])
    return refusals_from(answer)


def refusals_question(cost: Cost, population: str | None, population_size: int | None) -> Asked:
    """What `refusals_of` asks. FieldError if there is no such population."""
    book = None if population is None else Book.of(population_named(population)).as_dict()
    asked = {"cost": cost.as_dict(), "book": book, "limits": asdict(site_limits()), "size": population_size}
    return Asked(REFUSALS, asked)


def refusals_from(answer: Answer) -> Refusals:
    """The answer to `refusals_question`. FieldError if the parameters cannot be met."""
    if answer.refusal is not None:
        raise answer.refusal
    if answer.content is None:
        return Refusals(late=True)
    content = answer.content
    segments = content["segments"]
    return Refusals(
        tuple(FieldError(field, message) for field, message in content["errors"]),
        tuple(Remedy(name, value) for name, value in content["remedies"]),
        not answer.complete,
        tuple(FieldError(field, message) for field, message in content["devices"]),
        content["unlikely"],
        content["likely_cohort"],
        None if segments is None else ExpectedSegments(**segments),
    )


def _answer_refusals(asked: Any) -> Iterator[Content]:
    """First the refusals and what to expect, then the values that would be accepted, as they are found."""
    cost = Cost.from_mapping(asked["cost"])
    statistic = cost.statistic()
    book = None if asked["book"] is None else Book.from_mapping(asked["book"])
    rules = _Rules(RecipeLimits(**asked["limits"]), book)
    errors = limit_errors(statistic, rules.limits)
    try:
        statistic.require_promise()
    except FieldError as error:
        errors.append(error)
    exceeded = rules.budget_error(statistic)
    if exceeded is not None:
        errors.append(exceeded)
    found: dict[str, Any] = {
        "errors": _plain(errors),
        "remedies": [],
        "devices": _plain(limit_errors(statistic, USUAL) if statistic.device_input.has_devices else []),
        **_expected(statistic, TRUST_MODELS[cost.trust], asked["size"]),
    }
    yield found
    for remedy in _remedies(statistic, rules, exceeded) if errors else ():
        found["remedies"].append([remedy.name, remedy.value])
        yield found


REFUSALS = declared("refusals", _answer_refusals, Lane.PLANS, version=2)


def _plain(errors: Iterable[FieldError]) -> list[list[str]]:
    return [[error.field, error.message] for error in errors]


def _expected(
    statistic: Statistic[Any], servers: type[Servers], population_size: int | None
) -> dict[str, Any]:
    """What keeps a recipe from being answered, if this number of devices hear of it."""
    unlikely, reached, segments = "", None, None
    if population_size is not None:
        unlikely = unlikely_sentence(statistic, servers, population_size)
        if unlikely:
            reached = likely_cohort(statistic, servers, population_size)
        elif statistic.segmentation is not None:
            segments = asdict(statistic.segmentation.expected(population_size, MISSED))
    return {"unlikely": unlikely, "likely_cohort": reached, "segments": segments}


def limit_errors(
    statistic: Statistic[Any], limits: RecipeLimits, whose: str = "this site", *, local: float | None = None
) -> list[FieldError]:
    """A refusal for each limit that this (calibrated) statistic exceeds.

    Args:
        local: its local ε; None to compute it here.
    """
    found = _stated_errors(statistic, limits, whose)
    if not found:
        local = local_epsilon(statistic) if local is None else local
        try:
            limits.require_local_epsilon(local, statistic.parameters, whose=whose)
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
    """The limits themselves that this statistic exceeds."""
    ends = {
        "cohort_size": limits.smallest_cohort,
        "epsilon": limits.largest_epsilon,
        "delta": limits.largest_delta,
    }
    return tuple(Remedy(error.field, ends[error.field]) for error in _stated_errors(statistic, limits, ""))


@dataclass(frozen=True)
class _Rules:
    """What a recipe must keep.

    Attributes:
        limits: the site's.
        book: the population's; None if none is chosen.
    """

    limits: RecipeLimits
    book: Book | None

    def fits(self, statistic: Statistic[Any]) -> bool:
        """Whether it fits into the budget: the ledger's own decision."""
        return self.book is None or self.book.fits(statistic.aggregator_event().as_dict())

    def budget_error(self, statistic: Statistic[Any]) -> FieldError | None:
        """The ledger's refusal; None if it fits."""
        if self.book is None or self.book.budget is None:
            return None
        population = Population.objects.get(pk=self.book.population)
        try:
            budget_require_fit(population=population, event=statistic.aggregator_event(), book=self.book)
        except FieldError as error:
            return error
        return None

    def all_hold(self, statistic: Statistic[Any]) -> bool:
        return not limit_errors(statistic, self.limits) and keeps_promise(statistic) and self.fits(statistic)


def _remedies(statistic: Statistic[Any], rules: _Rules, exceeded: FieldError | None) -> Iterator[Remedy]:
    """One after the other."""
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
        if exact is not None and is_enough_with(statistic, name, exact.value, rules.all_hold):
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
