"""A population's book up to one of its lines: what numbers of the ledger are computed from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from django.db.models import Max, Q

from ledger.budget import Budget
from ledger.composition import Event, Use, all_readable, budget_use, composed_epsilon
from ledger.models import Population, Spending
from panprivacy.accounting.interface import PrivacyEvent
from storage.columns import stored

DELTA = 1e-6
"""δ at which spending is shown if no budget names one."""


@dataclass(frozen=True)
class Book:
    """Lines are never changed, so a book up to one of them always has the same numbers.

    Attributes:
        population: primary key.
        line: primary key of the newest line that counts; 0 for none.
        budget: None if there is none.
    """

    population: int
    line: int
    budget: Budget | None

    @classmethod
    def of(cls, population: Population) -> Self:
        """The book as it is."""
        newest = population.spendings.aggregate(newest=Max("pk"))["newest"]
        return cls(population.pk, newest or 0, population.budget)

    @classmethod
    def from_mapping(cls, members: Mapping[str, Any]) -> Self:
        """As `as_dict` gives it."""
        budget = members["budget"]
        return cls(members["population"], members["line"], None if budget is None else Budget(**budget))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        budget = self.budget and {
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "rule": self.budget.rule.value,
        }
        return {"population": self.population, "line": self.line, "budget": budget}

    @property
    def delta(self) -> float:
        """The budget's δ, or `DELTA`."""
        return DELTA if self.budget is None else self.budget.delta

    @cached_property
    def _unreturned(self) -> list[tuple[Event, Event]]:
        lines = Spending.objects.filter(population=self.population, pk__lte=self.line, returns=None)
        kept = lines.filter(Q(returned_by=None) | Q(returned_by__pk__gt=self.line)).order_by("pk")
        pairs = kept.values_list("event", "event_if_half_colludes")
        return [(stored(event), stored(colluding)) for event, colluding in pairs]

    @property
    def events(self) -> list[Event]:
        """Of every recipe that spent and was not given back, oldest first."""
        return [event for event, _ in self._unreturned]

    @property
    def events_if_half_colludes(self) -> list[Event]:
        """The same if half of every cohort colludes with the reader."""
        return [event for _, event in self._unreturned]

    @cached_property
    def readable(self) -> bool:
        """Whether this version can read every event, so that a budget can be held."""
        return all_readable([*self.events, *self.events_if_half_colludes])

    @property
    def spent(self) -> float:
        """ε of all of them together. UnreadableEventError: another version wrote one."""
        return composed_epsilon(self.events, self.delta)

    @property
    def use(self) -> Use | None:
        """What is used of the budget; None without one. UnreadableEventError as below."""
        return None if self.budget is None else budget_use(self.events, self.budget)

    def with_event(self, event: Event, times: int = 1) -> float:
        """ε if one more event were spent this many times. UnreadableEventError: another version wrote one."""
        return composed_epsilon([*self.events, *[event] * times], self.delta)

    def use_with(self, event: Event, times: int = 1) -> Use | None:
        """What would then be used of the budget; None without one. UnreadableEventError as above."""
        return None if self.budget is None else budget_use([*self.events, *[event] * times], self.budget)

    def fits(self, event: Event, times: int = 1) -> bool:
        """Whether that fits into the budget."""
        use = self.use_with(event, times)
        return use is None or not use.too_much


@dataclass(frozen=True)
class Fitting:
    """That an event fits into a book, found out before its population is locked.

    Attributes:
        book: up to the line after which it fits.
        event: what is spent.
        times: how often, all together.
    """

    book: Book
    event: Event
    times: int = 1

    def is_of(self, event: PrivacyEvent, times: int) -> bool:
        """Whether it is about this event, so often."""
        own, other = (json.dumps(some, sort_keys=True) for some in (self.event, event.as_dict()))
        return self.times == times and own == other
