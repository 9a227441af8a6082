"""How far a recipe may go, whoever published it: what a site publishes, and what a device takes part in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.errors import FieldError
from panprivacy.statistic import Statistic

NO_LIMIT = 20.0
"""The largest ε that a recipe can have."""

NO_LOCAL_LIMIT = 1e9
"""Above every local ε."""


@dataclass(frozen=True)
class RecipeLimits:
    """Limits on recipes for real devices. Simulations need none.

    In a cohort of two, the sender of one of the reports learns the other, and a report with a large ε says
    what happened. The guarantees say so, and hold; limits keep such recipes from being asked.

    Attributes:
        smallest_cohort: reports, or users of a shuffler, below which no recipe may release; at least 1.
            Streams have no cohort.
        largest_epsilon: the recipe's ε, in nats.
        largest_local_epsilon: ε of the local guarantees: what one report tells a server that decrypts it, and
            an attacker who sends all others of its cohort. Twice the ε for a replaced histogram, hundreds
            for a mean with the guarantee `aggregator`. Users of a shuffler have none, and trust it instead.
    """

    smallest_cohort: int = 100
    largest_epsilon: float = 8.0
    largest_local_epsilon: float = 16.0

    def require(self, members: Mapping[str, Any], *, whose: str) -> None:
        """FieldError naming `cohort_size` or `epsilon` where a recipe goes beyond.

        Args:
            members: of a recipe file or a published document, checked before.
            whose: limit it is, after "for": "this site", "this device".
        """
        cohort_size, epsilon = members.get("cohort_size"), members.get("epsilon", 0.0)
        if cohort_size is not None and cohort_size < self.smallest_cohort:
            raise FieldError(
                "cohort_size", f"must be at least {self.smallest_cohort:,} for {whose}, not {cohort_size:,}"
            )
        if epsilon > self.largest_epsilon:
            raise FieldError(
                "epsilon", f"must be at most {self.largest_epsilon:g} for {whose}, not {epsilon:g}"
            )

    def require_local(self, statistic: Statistic[Any], *, whose: str) -> None:
        """FieldError naming `guarantee`, or `epsilon`, where a (calibrated) statistic's reports tell more."""
        local = max((known.epsilon or 0.0 for known in statistic.local_guarantees()), default=0.0)
        if local > self.largest_local_epsilon:
            chosen = hasattr(statistic.parameters, "guarantee")
            raise FieldError(
                "guarantee" if chosen else "epsilon",
                f"leaves single reports a local ε of {local:.3g}, and the limit for {whose} is "
                f"{self.largest_local_epsilon:g}",
            )


USUAL = RecipeLimits()
"""Limits of a device, and of a site in production, that names none."""
