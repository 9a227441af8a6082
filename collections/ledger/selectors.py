"""Reading the ledger: what is spent, what is left, and how it came to that."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import QuerySet

from ledger.budget import Budget
from ledger.composed import Event, composed_epsilon
from ledger.models import Population, Spending
from panprivacy.errors import FieldError

DELTA = 1e-6
"""δ at which spending is shown where no budget names one."""

LIKE_THE_LAST = 1_000
"""Up to how many more recipes like the last one are counted."""

NAMES_SHOWN = 10


def population_named(name: str, *, lock: bool = False) -> Population:
    """The population of this name.

    Args:
        lock: whether to hold its row until the end of the transaction.

    Raises:
        FieldError: there is none; the message names those there are.
    """
    # Not FOR UPDATE: lines that refer to the row may be added by whoever does not add up.
    rows = Population.objects.select_for_update(no_key=True) if lock else Population.objects
    population = rows.filter(name=name).first()
    if population is None:
        names = list(Population.objects.order_by("name").values_list("name", flat=True)[: NAMES_SHOWN + 1])
        more = ", …" if len(names) > NAMES_SHOWN else ""
        raise FieldError(
            "population", f"there is none named {name!r}; there are {', '.join(names[:NAMES_SHOWN])}{more}"
        )
    return population


def populations_list(before: int | None = None) -> QuerySet[Population]:
    """Every population, newest first; only those with a smaller primary key than `before`."""
    populations = Population.objects.all()
    return populations if before is None else populations.filter(pk__lt=before)


def population_choices() -> list[tuple[str, str]]:
    """Names for a form, with what the budget is."""
    return [
        (population.name, f"{population.name} ({_in_words(population.budget)})")
        for population in Population.objects.order_by("name")
    ]


def unreturned_events(population: Population) -> list[Event]:
    """The events of every recipe that spent and was not given back, oldest first."""
    spent = population.spendings.filter(returns=None, returned_by=None).order_by("pk")
    return list(spent.values_list("event", flat=True))


@dataclass(frozen=True)
class Standing:
    """Where a population stands now, at the budget's δ. Numbers are computed when they are asked for.

    Attributes:
        population: whose it is.
        events, events_if_half_colludes: of its unreturned recipes, oldest first.
    """

    population: Population
    events: Sequence[Event]
    events_if_half_colludes: Sequence[Event]

    @property
    def budget(self) -> Budget | None:
        return self.population.budget

    @property
    def delta(self) -> float:
        """The budget's δ, or 1e-6 where there is no budget."""
        return DELTA if self.budget is None else self.budget.delta

    @cached_property
    def spent(self) -> float:
        """ε of all unreturned recipes together."""
        return composed_epsilon(self.events, self.delta)

    @cached_property
    def spent_if_half_colludes(self) -> float:
        """The same for a reader with whom half of every cohort colludes."""
        return composed_epsilon(self.events_if_half_colludes, self.delta)

    @property
    def left(self) -> float | None:
        """Budget less what is spent, never below 0; None without a budget."""
        return None if self.budget is None else max(self.budget.epsilon - self.spent, 0.0)

    @property
    def overspent(self) -> bool:
        """Whether the budget was lowered below what is spent."""
        return self.budget is not None and self.spent > self.budget.epsilon

    @cached_property
    def more_like_the_last(self) -> int | None:
        """How many more recipes like the last one fit, up to `LIKE_THE_LAST`; None where that has no answer.

        Found by halving: n more recipes never cost less than n − 1.
        """
        if self.budget is None or not self.events:
            return None
        fitting, failing = 0, 1
        while failing <= LIKE_THE_LAST and self._fits(failing):
            fitting, failing = failing, failing * 2
        failing = min(failing, LIKE_THE_LAST + 1)
        while failing - fitting > 1:
            middle = (fitting + failing) // 2
            if self._fits(middle):
                fitting = middle
            else:
                failing = middle
        return fitting

    def with_event(self, event: Event) -> float:
        """ε if one more event were spent."""
        return composed_epsilon([*self.events, event], self.delta)

    def _fits(self, more: int) -> bool:
        events = [*self.events, *[self.events[-1]] * more]
        return self.budget is not None and composed_epsilon(events, self.delta) <= self.budget.epsilon


def standing_of(population: Population) -> Standing:
    """Where the population stands."""
    spent = population.spendings.filter(returns=None, returned_by=None).order_by("pk")
    pairs = list(spent.values_list("event", "event_if_half_colludes"))
    return Standing(population, [event for event, _ in pairs], [event for _, event in pairs])


@dataclass(frozen=True)
class Line:
    """One line of a population's book, with what it came to.

    Attributes:
        at: when.
        kind: `spent` or `returned`.
        recipe: identifier of the recipe that spent, in a returning line too.
        event: its privacy event.
        alone: ε of that recipe alone, at the population's δ.
        composed: ε of all recipes together after this line.
        returned_at: when what a spending line spent was given back; None if it was not.
    """

    at: datetime
    kind: str
    recipe: str
    event: Event
    alone: float
    composed: float
    returned_at: datetime | None


def spendings_list(population: Population, before: int | None = None) -> QuerySet[Spending]:
    """The population's book, newest line first; only lines with a smaller primary key than `before`."""
    spendings = population.spendings.select_related("returns", "returned_by")
    return spendings if before is None else spendings.filter(pk__lt=before)


def lines_of(population: Population, rows: Sequence[Spending], delta: float) -> list[Line]:
    """What each of these rows of the population's book came to, in their order.

    Args:
        rows: some of `spendings_list`.
        delta: δ of the numbers.
    """
    if not rows:
        return []
    wanted = {row.pk for row in rows}
    book = population.spendings.filter(pk__lte=max(wanted)).order_by("pk")
    unreturned: dict[int, Event] = {}
    composed: dict[int, float] = {}
    for pk, returns, event in book.values_list("pk", "returns", "event"):
        if returns is None:
            unreturned[pk] = event
        else:
            unreturned.pop(returns, None)
        if pk in wanted:
            composed[pk] = composed_epsilon(list(unreturned.values()), delta)
    return [_line(row, composed[row.pk], delta) for row in rows]


def _line(row: Spending, composed: float, delta: float) -> Line:
    spent = row.returns or row
    returned = getattr(row, "returned_by", None)
    return Line(
        at=row.at,
        kind=row.kind,
        recipe=str(spent.recipe),
        event=spent.event,
        alone=composed_epsilon([spent.event], delta),
        composed=composed,
        returned_at=None if returned is None else returned.at,
    )


def _in_words(budget: Budget | None) -> str:
    return "no budget" if budget is None else f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
