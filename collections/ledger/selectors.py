"""Reading the ledger: what is spent, what is left, and how it came to that."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import ClassVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from ledger.budget import Budget, Rule
from ledger.composed import Allowance, Composition, Event, Use, all_readable
from ledger.models import Population, Spending
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.planning.value_search import Values
from storage.columns import stored

DELTA = 1e-6
"""δ at which spending is shown if no budget names one."""

SECONDS = 2.0
"""How long one answer may compute numbers that are not remembered."""

PAGE_SECONDS = 0.05
"""The same for a page: a worker computes numbers that are missing (remembering.py)."""

SHORT_BOOK = 10
"""Up to this many recipes, a single number takes at most that long, so it is not interrupted."""

LIKE_THE_LAST = 1_000
"""Up to how many more recipes like the last one are counted."""

NAMES_SHOWN = 10

LATE = "not computed yet"
UNREADABLE = "unknown (written by another version)"
"""Why a number is None."""


def population_named(name: str, *, lock: bool = False) -> Population:
    """The population of this name.

    Args:
        lock: whether to hold its row until the end of the transaction.

    Raises:
        FieldError: there is none; the message names those there are.
    """
    # Not FOR UPDATE: those who do not add up may add lines that refer to the row.
    rows = Population.objects.select_for_update(no_key=True) if lock else Population.objects
    population = rows.filter(name=name).first()
    if population is None:
        names = list(Population.objects.order_by("name").values_list("name", flat=True)[: NAMES_SHOWN + 1])
        more = ", …" if len(names) > NAMES_SHOWN else ""
        raise FieldError(
            "population", f"there is none named {name!r}; there are {', '.join(names[:NAMES_SHOWN])}{more}"
        )
    return population


def log_subject(population: str) -> str:
    """How the log names a population, by its name."""
    return f"population {population}"


def populations_list() -> QuerySet[Population]:
    """Every population, newest first."""
    return Population.objects.all()


def population_choices() -> list[tuple[str, str]]:
    """Names for a form, with what the budget is."""
    return [
        (population.name, f"{population.name} ({_in_words(population.budget)})")
        for population in Population.objects.order_by("name")
    ]


def population_names() -> list[str]:
    """The name of every population, by the alphabet."""
    return list(Population.objects.order_by("name").values_list("name", flat=True))


def unreturned_events(population: Population) -> list[Event]:
    """The events of every recipe that spent and was not given back, oldest first."""
    spent = population.spendings.filter(returns=None, returned_by=None).order_by("pk")
    return [stored(event) for event in spent.values_list("event", flat=True)]


def conditions_of(population: Population) -> list[str]:
    """What the events of its unreturned recipes rely on, each once, as clauses."""
    spent = population.spendings.filter(returns=None, returned_by=None).exclude(condition="")
    return sorted(set(spent.values_list("condition", flat=True)))


@dataclass(frozen=True)
class Balance:
    """The present state of a population, at the budget's δ.

    Numbers are computed when they are asked for, within the allowance; those it does not reach are None,
    and so are all that need an event which this version cannot read.

    Attributes:
        population: whose it is.
        events, events_if_half_colludes: of its unreturned recipes, oldest first.
        allowance: for all numbers together.
    """

    model: ClassVar[str] = "aggregator"
    """The adversary of every number: a reader of only combined results."""

    relation: ClassVar[str] = "replace"
    """For which neighbouring relation: one device's whole history for another."""

    population: Population
    events: Sequence[Event]
    events_if_half_colludes: Sequence[Event]
    allowance: Allowance

    @property
    def budget(self) -> Budget | None:
        return self.population.budget

    @property
    def delta(self) -> float:
        """The budget's δ, or 1e-6 if there is no budget."""
        return DELTA if self.budget is None else self.budget.delta

    @cached_property
    def readable(self) -> bool:
        """Whether this version can read every event, so that a budget can be held."""
        return all_readable([*self.events, *self.events_if_half_colludes])

    @property
    def why_unknown(self) -> str:
        """The text in place of a number that is None."""
        return LATE if self.readable else UNREADABLE

    @cached_property
    def spent(self) -> float | None:
        """ε of all unreturned recipes together."""
        return self.allowance.composed_epsilon(self.events, self.delta)

    @cached_property
    def spent_if_half_colludes(self) -> float | None:
        """The same for a reader with whom half of every cohort colludes."""
        return self.allowance.composed_epsilon(self.events_if_half_colludes, self.delta)

    @cached_property
    def use(self) -> Use | None:
        """What is used of the budget; None without one, or if it is unknown."""
        return self._use(self.events)

    @property
    def complete(self) -> bool:
        """Whether every number that this population has is known."""
        of_budget = [] if self.budget is None or not self.events else [self.share, self.more_like_the_last]
        return None not in [self.spent, self.spent_if_half_colludes, *of_budget]

    @property
    def left(self) -> float | None:
        """Budget less what is spent, never below 0; None without a budget, or if a filter enforces it: what a
        filter counts is no ε."""
        if self.budget is None or self.budget.rule is Rule.FILTER or self.spent is None:
            return None
        return max(self.budget.epsilon - self.spent, 0.0)

    @property
    def share(self) -> float | None:
        """Part of the budget that is used, at most 1; None if there is none or it is unknown."""
        return None if self.use is None else min(self.use.share, 1.0)

    @property
    def overspent(self) -> bool:
        """Whether more is used than the budget: it was lowered, or its rule was changed."""
        return self.use is not None and self.use.too_much

    @cached_property
    def more_like_the_last(self) -> int | None:
        """How many more recipes like the last one fit, up to `LIKE_THE_LAST`; None if that has no answer."""
        if self.budget is None or not self.events:
            return None
        numbers, last = Values.of(1, LIKE_THE_LAST), self.events[-1]
        try:
            beyond = numbers.nearest(
                lambda more: not self.fits(last, int(more)),
                since=-1,
                until=numbers.length - 1,
                outwards=True,
            )
        except TimeoutError:
            return None
        return LIKE_THE_LAST if beyond is None else int(numbers.value(beyond)) - 1

    def with_event(self, event: Event, times: int = 1) -> float | None:
        """ε if one more event were spent this many times."""
        return self.allowance.composed_epsilon([*self.events, *[event] * times], self.delta)

    def use_with(self, event: Event, times: int = 1) -> Use | None:
        """What would be used of the budget with the event added this many times; None without a budget, or if
        it is unknown."""
        return self._use([*self.events, *[event] * times])

    def fits(self, event: Event, times: int = 1) -> bool:
        """Whether the event, added this many times, fits into the budget; TimeoutError if it is unknown."""
        use = self.use_with(event, times)
        if use is None:
            raise TimeoutError
        return not use.too_much

    def _use(self, events: Sequence[Event]) -> Use | None:
        return None if self.budget is None else self.allowance.budget_use(events, self.budget)


def balance_of(population: Population, allowance: Allowance | None = None) -> Balance:
    """The state of the population; `SECONDS` to compute it in, unless another allowance is shared."""
    spent = population.spendings.filter(returns=None, returned_by=None).order_by("pk")
    pairs = list(spent.values_list("event", "event_if_half_colludes"))
    return Balance(
        population,
        [stored(event) for event, _ in pairs],
        [stored(event) for _, event in pairs],
        Allowance(SECONDS) if allowance is None else allowance,
    )


def balances_of(populations: Iterable[Population]) -> list[Balance]:
    """The states of several populations, computed within one allowance."""
    allowance = Allowance(SECONDS)
    return [balance_of(population, allowance) for population in populations]


def shown_balances(populations: Iterable[Population]) -> list[Balance]:
    """As `balances_of`, for a page: of a long book it has what is remembered."""
    moment, nothing = Allowance(PAGE_SECONDS), Allowance(-1.0)
    balances = [balance_of(population, moment) for population in populations]
    return [replace(one, allowance=nothing) if len(one.events) > SHORT_BOOK else one for one in balances]


def shown_spending(count: int) -> list[Balance]:
    """Up to `count` populations that have a budget or spent something, newest first, for a page."""
    concerned = Q(epsilon__isnull=False) | Exists(Spending.objects.filter(population=OuterRef("pk")))
    return shown_balances(Population.objects.filter(concerned)[:count])


@dataclass(frozen=True)
class Line:
    """One line of a population's book, with what it came to.

    Attributes:
        at: when.
        kind: `spent` or `returned`.
        recipe: identifier of the recipe that spent, in a returning line too.
        event: its privacy event.
        condition: what that relies on, as a clause; empty if it holds as it is.
        alone: ε of that recipe alone, at the population's δ; None if time did not suffice, or an event was
            written by another version.
        composed: ε of all recipes together after this line; None likewise.
        delta: δ of both.
        returned_at: when what a spending line spent was given back; None if it was not.
        why_unknown: the text in place of a number that is None; empty if none is.
    """

    at: datetime
    kind: str
    recipe: str
    event: Event
    condition: str
    alone: float | None
    composed: float | None
    delta: float
    returned_at: datetime | None
    why_unknown: str

    @property
    def computed(self) -> bool:
        """Whether both numbers are known."""
        return self.alone is not None and self.composed is not None


def spendings_list(population: Population) -> QuerySet[Spending]:
    """The population's book, newest line first."""
    return population.spendings.select_related("returns", "returned_by")


def lines_of(balance: Balance, rows: Sequence[Spending]) -> list[Line]:
    """What each of these rows of the population's book came to, in their order, at the balance's δ.

    Args:
        balance: of the population, with the allowance for these numbers too.
        rows: some of `spendings_list`.
    """
    if not rows:
        return []
    wanted = {row.pk for row in rows}
    book = balance.population.spendings.filter(pk__lte=max(wanted)).order_by("pk")
    spent: dict[int, Event] = {}
    unreturned = Composition()
    after: dict[int, Composition] = {}
    for pk, returns, event in book.values_list("pk", "returns", "event"):
        if returns is None:
            spent[pk] = stored(event)
            unreturned.add(spent[pk])
        else:
            unreturned.remove(spent[returns])
        if pk in wanted:
            after[pk] = unreturned.copy()
    # In the order of the rows: if time is short, the first rows have their numbers.
    asked = [one for row in rows for one in (after[row.pk], Composition([spent[row.returns_id or row.pk]]))]
    numbers = balance.allowance.composed_epsilons(asked, balance.delta)
    return [
        _line(balance, row, composed, alone)
        for row, composed, alone in zip(rows, numbers[::2], numbers[1::2], strict=True)
    ]


def _line(balance: Balance, row: Spending, composed: float | None, alone: float | None) -> Line:
    spent = row.returns or row
    event: Event = stored(spent.event)
    returned = getattr(row, "returned_by", None)
    why_unknown = ""
    if composed is None or alone is None:
        why_unknown = balance.why_unknown if all_readable([event]) else UNREADABLE
    return Line(
        at=row.at,
        kind=row.kind,
        recipe=str(spent.recipe),
        event=event,
        condition=spent.condition,
        composed=composed,
        alone=alone,
        delta=balance.delta,
        returned_at=None if returned is None else returned.at,
        why_unknown=why_unknown,
    )


@dataclass(frozen=True)
class Spent:
    """What one recipe took from its population.

    Attributes:
        population: name.
        at: when.
        epsilon: of that recipe alone, at `delta`; None if time did not suffice, or another version wrote its
            event.
        delta: the population's.
        is_returned: whether it was given back.
    """

    population: str
    at: datetime
    epsilon: float | None
    delta: float
    is_returned: bool


def spending_times(recipes: Iterable[str]) -> list[tuple[str, datetime]]:
    """Each of these recipes that spent something, by its identifier, and when it did."""
    rows = Spending.objects.filter(recipe__in=set(recipes)).values_list("recipe", "at")
    return [(str(recipe), at) for recipe, at in rows]


def spent_by(recipes: Iterable[str]) -> dict[str, Spent]:
    """Identifier → what the recipe spent, of those among them that spent something; for a page."""
    rows = Spending.objects.filter(recipe__in=set(recipes)).select_related("population", "returned_by")
    allowance, by_delta = Allowance(PAGE_SECONDS), defaultdict(list)
    for row in rows:
        delta = row.population.delta
        by_delta[DELTA if delta is None else delta].append(row)
    found = {}
    for delta, group in by_delta.items():
        numbers = allowance.composed_epsilons([Composition([stored(row.event)]) for row in group], delta)
        for row, epsilon in zip(group, numbers, strict=True):
            is_returned = getattr(row, "returned_by", None) is not None
            found[str(row.recipe)] = Spent(row.population.name, row.at, epsilon, delta, is_returned)
    return found


def _in_words(budget: Budget | None) -> str:
    return "no budget" if budget is None else f"ε = {budget.epsilon:g}, δ = {plain(budget.delta)}"
