"""Reading the ledger: what is spent, what is left, and how it came to that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from ledger.answers import BALANCE, COSTS, LINES, TOGETHER
from ledger.books import DELTA, Book
from ledger.budget import Budget, Rule
from ledger.composition import Event, Use, all_readable
from ledger.models import Population, Spending
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from storage.answers.questions import Asked, ask, ask_all
from storage.columns import stored

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

    Attributes:
        population: whose it is.
        events: of its unreturned recipes, oldest first.
        numbers: what is computed of it so far (`answers.BALANCE`). What is missing is None below, and so
            is what needs an event that this version cannot read.
    """

    model: ClassVar[str] = "aggregator"
    """The adversary of every number: a reader of only combined results."""

    relation: ClassVar[str] = "replace"
    """For which neighbouring relation: one device's whole history for another."""

    population: Population
    events: Sequence[Event]
    numbers: Mapping[str, Any]

    @property
    def budget(self) -> Budget | None:
        return self.population.budget

    @property
    def delta(self) -> float:
        """The budget's δ, or 1e-6 if there is no budget."""
        return DELTA if self.budget is None else self.budget.delta

    @property
    def readable(self) -> bool:
        """Whether this version can read every event, as far as is known."""
        return bool(self.numbers.get("readable", True))

    @property
    def why_unknown(self) -> str:
        """The text in place of a number that is None."""
        return LATE if self.readable else UNREADABLE

    @property
    def spent(self) -> float | None:
        """ε of all unreturned recipes together."""
        return self.numbers.get("spent")

    @property
    def spent_if_half_colludes(self) -> float | None:
        """The same for a reader with whom half of every cohort colludes."""
        return self.numbers.get("spent_if_half_colludes")

    @property
    def use(self) -> Use | None:
        """What is used of the budget by its rule; None without one."""
        found = self.numbers.get("use")
        return None if found is None else Use(*found)

    @property
    def complete(self) -> bool:
        """Whether every number is computed."""
        return "more_like_the_last" in self.numbers

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

    @property
    def more_like_the_last(self) -> int | None:
        """How many more recipes like the last one fit, up to `LIKE_THE_LAST`; None if that has no answer."""
        return self.numbers.get("more_like_the_last")


def balance_of(population: Population) -> Balance:
    """The state of a population, as far as its numbers are computed within the deadline of answers."""
    (balance,) = balances_of([population])
    return balance


def balances_of(populations: Iterable[Population]) -> list[Balance]:
    """The states of several populations, within one deadline."""
    books = [(population, Book.of(population)) for population in populations]
    asked = {book: Asked(BALANCE, book.as_dict()) for _, book in books if book.events}
    found = dict(zip(asked, ask_all(list(asked.values())), strict=True))
    return [
        Balance(population, book.events, found[book].content or {} if book in found else _nothing_spent(book))
        for population, book in books
    ]


def _nothing_spent(book: Book) -> dict[str, Any]:
    """The numbers of a book in which no recipe counts."""
    use = None if book.budget is None else [0.0, False]
    none = {"spent": 0.0, "spent_if_half_colludes": 0.0, "use": use, "more_like_the_last": None}
    return {"readable": True, **none}


def shown_spending(count: int) -> list[Balance]:
    """Up to `count` populations that have a budget or spent something, newest first."""
    concerned = Q(epsilon__isnull=False) | Exists(Spending.objects.filter(population=OuterRef("pk")))
    return balances_of(Population.objects.filter(concerned)[:count])


@dataclass(frozen=True)
class Line:
    """One line of a population's book, with what it came to.

    Attributes:
        at: when.
        kind: `spent` or `returned`.
        recipe: identifier of the recipe that spent, in a returning line too.
        event: its privacy event.
        condition: what that relies on, as a clause; empty if it holds as it is.
        alone: ε of that recipe alone, at the population's δ; None until a worker has computed it, or if
            another version wrote an event.
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
        rows: some of `spendings_list`.
    """
    if not rows:
        return []
    wanted = list(dict.fromkeys(row.pk for row in rows))
    asked = {"population": balance.population.pk, "delta": balance.delta, "lines": wanted}
    numbers = ask(LINES, asked).content or {}
    return [_line(balance, row, *numbers.get(str(row.pk), (None, None))) for row in rows]


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
        epsilon: of that recipe alone, at `delta`; None until a worker has computed it, or if another version
            wrote its event.
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
    rows = list(Spending.objects.filter(recipe__in=set(recipes)).select_related("population", "returned_by"))
    if not rows:
        return {}
    deltas = {row.pk: row.population.delta or DELTA for row in rows}
    numbers = ask(COSTS, {"spendings": sorted(deltas.items())}).content or {}
    return {
        str(row.recipe): Spent(
            population=row.population.name,
            at=row.at,
            epsilon=numbers.get(str(row.pk)),
            delta=deltas[row.pk],
            is_returned=getattr(row, "returned_by", None) is not None,
        )
        for row in rows
    }


@dataclass(frozen=True)
class SpentTogether:
    """What several recipes of one population are charged with, together.

    Attributes:
        epsilon: of all of them; infinite if none is promised at this δ; None if it is unknown.
        delta: the population's.
        conditions: what that relies on, each once, as clauses.
        why_unknown: the text in place of a number that is None; empty if it is known.
    """

    epsilon: float | None
    delta: float
    conditions: tuple[str, ...]
    why_unknown: str


def spent_together(population: Population, recipes: Iterable[str]) -> SpentTogether | None:
    """What these are charged with, by the names in the population's book; None if it has none of them. What
    was given back is not counted."""
    lines = population.spendings.filter(recipe__in=set(recipes), returned_by=None).order_by("pk")
    rows = list(lines.only("event", "condition"))
    if not rows:
        return None
    delta = DELTA if population.delta is None else population.delta
    asked = {"spendings": [row.pk for row in rows], "delta": delta}
    epsilon = (ask(TOGETHER, asked).content or {}).get("epsilon")
    late = LATE if all_readable([stored(row.event) for row in rows]) else UNREADABLE
    return SpentTogether(
        epsilon=epsilon,
        delta=delta,
        conditions=tuple(sorted({row.condition for row in rows} - {""})),
        why_unknown=late if epsilon is None else "",
    )


def _in_words(budget: Budget | None) -> str:
    return "no budget" if budget is None else f"ε = {budget.epsilon:g}, δ = {plain(budget.delta)}"
