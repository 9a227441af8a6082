"""What comes of a collection, and how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from panprivacy.estimate import Estimate
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_statistic import report_statistic
from panprivacy.segment_estimates import SegmentEstimate


class SourceLostError(RuntimeError):
    """What a result is made of cannot be read now. Somebody may bring it back, or give the result up."""


@dataclass(frozen=True)
class Sum:
    """The sum over all reports of a closed recipe.

    Attributes:
        total: vector sum of their contributions.
        reports: how many; at least the cohort size, but for noise where the number is published with noise.
    """

    total: tuple[int, ...]
    reports: int

    def estimate(self, recipe: PublishedRecipe) -> Estimate:
        """What the recipe's statistic makes of it."""
        return report_statistic(recipe).estimate(self.total, self.reports)

    def segments(self, recipe: PublishedRecipe) -> tuple[SegmentEstimate, ...]:
        """The same for each segment of the recipe; empty where it asks by none."""
        return report_statistic(recipe).segment_estimates(self.total, self.reports)


@dataclass(frozen=True)
class Estimated:
    """An estimate that was made where the data is; no reports stand behind it.

    Attributes:
        made: None where none could be computed.
        reports: None: nobody counts what comes to a curator.
    """

    made: Estimate | None
    reports: None = None

    def estimate(self, recipe: PublishedRecipe) -> Estimate:
        """The estimate as it was made. Raises ArithmeticError where none could be computed."""
        if self.made is None:
            raise ArithmeticError("no estimate could be computed from the data")
        return self.made

    def segments(self, recipe: PublishedRecipe) -> tuple[SegmentEstimate, ...]:
        """None: items of a stream have no segments."""
        return ()


@dataclass(frozen=True)
class TooFew:
    """Fewer reports than the cohort size; `received` were stored.

    Where invalid ones do not count, `received` may reach the cohort size all the same.
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
        url: its base address; empty for this very site.
        counted: reports in its sum, as it says itself, with noise once it is drawn; None while it has not
            said.
        public_rejections: reports that it rejected for what is seen without decrypting, by reason.
        hidden_rejections: for what verifying found. Who has a copy of a device's state can make reports
            from it that are valid or not depending on what is encrypted there. Never shown; only `collect`
            and the page of a simulation count them.
        trouble: None where there is none.
        verification_key: Ed25519, 32 bytes, as the recipe's document names it; None for this very site.
        count_signature: what it says is its signature of the number of reports that is published; None where
            it has not signed. This very site signs when it releases.
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
        received: reports that were stored, whatever verifying them says: what is shown of an open recipe
            comes from here. May stop at the cohort size.
        waiting: reports not yet looked into.
        servers: one or two.
    """

    received: int
    waiting: int
    servers: tuple[ServerProgress, ...]
