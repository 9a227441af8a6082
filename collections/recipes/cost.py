"""What is asked of devices, as data: enough to compute what it guarantees and costs, and no names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.trust import Trust
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.hidden_count import dummies_calibrated
from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.privacy import rounds_condition, rounds_event
from panprivacy.statistics.catalogue import statistic_class, statistic_of
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic, event_with_collusion
from panprivacy.statistics.trust_models import statistic_under_trust, trust_named


@dataclass(frozen=True)
class Cost:
    """A statistic and how often it is published: this many times, or in rounds on one line of a book.

    Attributes:
        members: name and parameters of the statistic, its trust model, number of segments and hidden count.
        times: lines of a book.
        rounds: rounds on one line; None for one release a line.
        once: whether a device gives in one of these rounds at most.
    """

    members: Mapping[str, Any]
    times: int = 1
    rounds: int | None = None
    once: bool = False

    @classmethod
    def of(cls, asked: RecipeDraft | Repetition, times: int = 1) -> Self:
        """Of a draft, or of one that is repeated.

        Args:
            times: lines of a book.
        """
        draft = asked if isinstance(asked, RecipeDraft) else asked.recipe
        members = statistic_members(draft.statistic, draft.parameters, draft.trust, len(draft.segments))
        if draft.hidden_count is not None:
            members |= {
                "hidden_count": list(draft.hidden_count),
                "population_size": draft.plan.population_size,
            }
        if isinstance(asked, RoundsDraft):
            return cls(members, times, asked.rounds, asked.once)
        return cls(members, times)

    @classmethod
    def from_mapping(cls, members: Mapping[str, Any]) -> Self:
        """As `as_dict` gives it."""
        return cls(members["statistic"], members["times"], members["rounds"], members["once"])

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "statistic": dict(self.members),
            "times": self.times,
            "rounds": self.rounds,
            "once": self.once,
        }

    @property
    def trust(self) -> Trust:
        return trust_named(self.members["trust"])

    def statistic(self) -> Statistic[Any]:
        """The calibrated statistic; FieldError if its parameters cannot be met."""
        members = self.members
        parameters = statistic_class(members["statistic"]).parameters_class.from_mapping(
            members["parameters"]
        )
        dummies = None
        if "hidden_count" in members:
            epsilon, delta = members["hidden_count"]
            dummies = dummies_calibrated((epsilon, delta), parameters, members["population_size"])
        segments = tuple(f"s{number}" for number in range(members["segments"]))
        statistic = statistic_of(members["statistic"], parameters.calibrated(), segments, dummies)
        return statistic_under_trust(statistic, self.trust)

    def event_of(self, statistic: Statistic[Any], dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """What one line costs: with `statistic`, or the same with other parameters."""
        if self.rounds is None:
            return event_with_collusion(statistic, dishonest_fraction)
        return rounds_event(
            _with_cohort(statistic), self.rounds, once=self.once, dishonest_fraction=dishonest_fraction
        )

    def condition(self, statistic: Statistic[Any]) -> str:
        """What `event_of` relies on, as a clause; empty if it holds as it is."""
        if self.rounds is None:
            return statistic.budget_condition
        return rounds_condition(_with_cohort(statistic), once=self.once)


def _with_cohort(statistic: Statistic[Any]) -> CohortStatistic[Any]:
    """A statistic that may be asked in rounds. TypeError for any other: what its rounds cost is not known."""
    if not isinstance(statistic, CohortStatistic):
        raise TypeError(f"the cost of rounds of {statistic.statistic} is not known")
    return statistic


def statistic_members(name: str, parameters: Any, trust: Trust, segments: int) -> dict[str, Any]:
    """A statistic as data.

    Args:
        parameters: calibrated or not: what is derived is left out.
        segments: their number; their names change no number.
    """
    derived = parameters.derived_names()
    given = {name: value for name, value in parameters.as_dict().items() if name not in derived}
    return {"statistic": name, "parameters": given, "trust": trust.value, "segments": segments}
