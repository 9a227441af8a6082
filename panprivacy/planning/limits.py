"""The bounds of recipes, whatever their publisher: what a site publishes, and what a device takes part in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import TIMES_COHORT, PublicParameters
from panprivacy.statistics.interface import Statistic

NO_LIMIT = 20.0
"""The largest ε that a recipe can have."""

NO_DELTA_LIMIT = 0.1
"""The largest δ that a recipe can have."""

NO_LOCAL_LIMIT = 1e9
"""Above every local ε."""


class LimitError(FieldError):
    """A recipe that is beyond a limit.

    Attributes:
        limit: the attribute of `RecipeLimits` that refuses the recipe.
    """

    def __init__(self, field: str, message: str, *, limit: str) -> None:
        super().__init__(field, message)
        self.limit = limit


def local_epsilon(statistic: Statistic[Any]) -> float:
    """The largest ε of a (calibrated) statistic's local guarantees; 0 if it has none.

    `NO_LOCAL_LIMIT` if no ε holds: then only devices without a limit agree.
    """
    stated = [known.epsilon for known in statistic.local_guarantees()]
    return max((NO_LOCAL_LIMIT if epsilon is None else epsilon for epsilon in stated), default=0.0)


def report_epsilon(statistic: Statistic[Any]) -> float | None:
    """The same; None if there is no number: no ε holds, or one report alone is not protected (shufflers)."""
    local = local_epsilon(statistic)
    return local if 0 < local < NO_LOCAL_LIMIT else None


@dataclass(frozen=True)
class RecipeLimits:
    """Limits on recipes for real devices. Simulations need none.

    In a cohort of two, the sender of one of the reports learns the other, and a report with a large ε reveals
    what happened. The guarantees state this, and hold; limits keep such recipes from being asked.

    Attributes:
        smallest_cohort: reports, or users of a shuffler, below which no recipe may release; at least 1.
            Streams have no cohort.
        largest_epsilon: the recipe's ε, in nats.
        largest_local_epsilon: ε of the local guarantees: what one report reveals to a server that decrypts
            it, and to an attacker that sends all others of its cohort. Twice the ε for a replaced histogram,
            hundreds for a mean with the guarantee `aggregator`. For a mean of vectors there is often none,
            which only `NO_LOCAL_LIMIT` admits. Users of a shuffler have none, and trust it instead.
        largest_delta: the recipe's δ. With this probability a guarantee may fail altogether, for each device:
            at 0.1, one report of ten may be revealed.
    """

    smallest_cohort: int = 100
    largest_epsilon: float = 8.0
    largest_local_epsilon: float = 16.0
    largest_delta: float = 1e-4

    @property
    def smallest_target(self) -> int:
        """Devices that a target must surely have: `TIMES_COHORT` of the smallest cohorts."""
        return TIMES_COHORT * self.smallest_cohort

    def require(self, members: Mapping[str, Any], *, whose: str) -> None:
        """LimitError naming `cohort_size`, `smallest_target`, `epsilon` or `delta` if a recipe exceeds its
        limit.

        Args:
            members: of a recipe file or a published document, already checked.
            whose: the owner of the limit, after "for": "this site", "this device".
        """
        cohort_size, epsilon = members.get("cohort_size"), members.get("epsilon", 0.0)
        delta = members.get("delta", 0.0)
        if cohort_size is not None and cohort_size < self.smallest_cohort:
            raise LimitError(
                "cohort_size",
                f"must be at least {self.smallest_cohort:,} for {whose}, not {cohort_size:,}",
                limit="smallest_cohort",
            )
        # In a recipe file it may be left out: the default is as many times its own cohort.
        target = members.get("smallest_target")
        if target is not None and target < self.smallest_target:
            raise LimitError(
                "smallest_target",
                f"must be at least {self.smallest_target:,} for {whose}, not {target:,}",
                limit="smallest_cohort",
            )
        if epsilon > self.largest_epsilon:
            raise LimitError(
                "epsilon",
                f"must be at most {self.largest_epsilon:g} for {whose}, not {epsilon:g}",
                limit="largest_epsilon",
            )
        if delta > self.largest_delta:
            raise LimitError(
                "delta",
                f"must be at most {plain(self.largest_delta)} for {whose}, not {plain(delta)}",
                limit="largest_delta",
            )

    def require_local(self, statistic: Statistic[Any], *, whose: str) -> None:
        """LimitError naming `guarantee`, or `epsilon`, if a (calibrated) statistic's reports reveal more."""
        self.require_local_epsilon(local_epsilon(statistic), statistic.parameters, whose=whose)

    def require_local_epsilon(self, local: float, parameters: PublicParameters, *, whose: str) -> None:
        """The same if `local_epsilon` of the statistic with these parameters is known."""
        if local > self.largest_local_epsilon:
            chosen = hasattr(parameters, "guarantee")
            found = (
                "no local ε"
                if local >= NO_LOCAL_LIMIT
                else f"a local ε of {_above(local, self.largest_local_epsilon)}"
            )
            raise LimitError(
                "guarantee" if chosen else "epsilon",
                f"leaves single reports {found}, and the limit for {whose} is {self.largest_local_epsilon:g}",
                limit="largest_local_epsilon",
            )


def _above(value: float, limit: float) -> str:
    """A larger value with the fewest digits, but at least 3, that show that it is larger."""
    shown = (f"{value:.{digits}g}" for digits in range(3, 17))
    return next((text for text in shown if float(text) > limit), repr(value))


USUAL = RecipeLimits()
"""Limits of a device, and of a site in production, that names none."""
