"""The outcome of a collection, and its progress."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.intervals.segment_estimates import SegmentEstimate


class SourceLostError(RuntimeError):
    """The data of a result cannot be read at present. The operator may restore it, or an analyst give the
    result up.
    """


@dataclass(frozen=True)
class Sum:
    """The sum over all reports of a closed recipe.

    Attributes:
        total: vector sum of their contributions.
        reports: how many; at least the cohort size, but for noise if the number is published with noise.
    """

    total: tuple[int, ...]
    reports: int

    def estimate(self, recipe: PublishedRecipe) -> Estimate:
        """What the recipe's statistic makes of it."""
        return statistic_as(recipe, ReportStatistic).estimate(self.total, self.reports)

    def segments(self, recipe: PublishedRecipe) -> tuple[SegmentEstimate, ...]:
        """The same for each segment of the recipe; empty if it asks by none."""
        segmentation = statistic_as(recipe, ReportStatistic).segmentation
        return () if segmentation is None else segmentation.estimates(self.total, self.reports)


@dataclass(frozen=True)
class Estimated:
    """An estimate that the curator made from its state, without reports.

    Attributes:
        made: None if none could be computed.
        reports: None: a curator does not count reports.
    """

    made: Estimate | None
    reports: None = None

    def estimate(self, recipe: PublishedRecipe) -> Estimate:
        """The estimate as it was made. Raises ArithmeticError if none could be computed."""
        if self.made is None:
            raise ArithmeticError("no estimate could be computed from the data")
        return self.made

    def segments(self, recipe: PublishedRecipe) -> tuple[SegmentEstimate, ...]:
        """None: items of a stream have no segments."""
        return ()


@dataclass(frozen=True)
class TooFew:
    """Fewer reports than the cohort size; `received` were stored.

    If invalid ones do not count, `received` may reach the cohort size all the same.
    """

    received: int


@dataclass(frozen=True)
class Refused:
    """There will never be a sum; `reason` is a clause."""

    reason: str


Outcome = Sum | Estimated | TooFew | Refused


@dataclass(frozen=True)
class Trouble:
    """A server that does not do its part.

    Attributes:
        since: when it last did.
        waiting: requests that wait for it.
        next_attempt: when it is asked again.
        error: what happened at the last attempt.
    """

    since: datetime
    waiting: int
    next_attempt: datetime
    error: str


@dataclass(frozen=True)
class ServerProgress:
    """What one server of a recipe has to do with its reports.

    Attributes:
        name: as a heading.
        url: its base address; empty for this site.
        counted: reports in its sum by its own account, with noise once it is drawn; None until it has
            reported it.
        public_rejections: reports that it rejected for what is seen without decrypting, by reason.
        hidden_rejections: for what verifying found. An attacker with a copy of a device's state can make
            reports from it whose validity depends on what is encrypted there. Never shown; only `collect` and
            the page of a simulation count them.
        trouble: None if there is none.
        verification_key: Ed25519, 32 bytes, as the recipe's document names it; None for this site.
        count_signature: its claimed signature of the number of reports that is published; None if it has not
            signed. This site signs when it releases.
    """

    name: str
    url: str = ""
    counted: int | None = 0
    public_rejections: Mapping[str, int] = field(default_factory=dict)
    hidden_rejections: Mapping[str, int] = field(default_factory=dict)
    trouble: Trouble | None = None
    verification_key: bytes | None = None
    count_signature: bytes | None = None


@dataclass(frozen=True)
class Progress:
    """How far a recipe is.

    Attributes:
        received: reports that were stored, whether they verify or not: what is shown of an open recipe comes
            from here. May stop at the cohort size.
        waiting: reports not yet processed.
        servers: one or two.
    """

    received: int
    waiting: int
    servers: tuple[ServerProgress, ...]
