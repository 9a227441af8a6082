"""What to expect of a recipe whose items come to a curator."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pages.words.units import within
from panprivacy.statistics.interface import is_uninformative
from panprivacy.statistics.streams.interface import CONFIDENCE, StreamStatistic
from web.numbers import significant

ALL_INCLUDED = "the random numbers in what is kept and the noise of the result"
SAMPLE_INCLUDED = (
    "the random numbers in what is kept, the choice of the items that have a place in it and the noise of "
    "the result"
)


@dataclass(frozen=True)
class AnnouncedBound:
    """After this many announced intrusions: the error bound to expect, and whether it is half the range of
    answers or more."""

    announced: int
    error_bound: str
    uninformative: bool


@dataclass(frozen=True)
class StreamPreview:
    """What the preview shows for a curator.

    Attributes:
        percent: the confidence of the error bounds.
        error_bound: if no intrusion is announced, in `unit`.
        within: the same as a clause.
        note: what it holds for, as a clause; empty if it holds as it is.
        included: what it includes, as a list in words.
        sampled: whether only a part of the universe has a place in the state.
        announced_bounds: for every number of announced intrusions that the recipe allows, 0 included.
    """

    template: ClassVar = "publish/preview/_streams.html"

    unit: str
    percent: str
    error_bound: str
    within: str
    note: str
    included: str
    sampled: bool
    announced_bounds: tuple[AnnouncedBound, ...]

    @property
    def line(self) -> str:
        """The preview in one line."""
        return f"± {self.error_bound} {self.unit}"


def preview_of_stream(
    statistic: StreamStatistic[Any], population_size: int | None
) -> StreamPreview:  # items come from however many
    """What to expect of a recipe with this statistic."""
    bounds = expected_bounds(statistic)
    sampled = statistic.parameters.table_size < statistic.parameters.universe_size
    return StreamPreview(
        unit=statistic.unit,
        percent=significant(100 * CONFIDENCE),
        error_bound=significant(bounds[0]),
        within=within(bounds[0], statistic.unit),
        note=statistic.expected_note,
        included=SAMPLE_INCLUDED if sampled else ALL_INCLUDED,
        sampled=sampled,
        announced_bounds=tuple(
            AnnouncedBound(announced, significant(bound), is_uninformative(statistic, bound))
            for announced, bound in enumerate(bounds)
        ),
    )


def expected_bounds(statistic: StreamStatistic[Any]) -> list[float]:
    """The error bound to expect after 0, 1, … announced intrusions, as many as the recipe allows."""
    allowed = statistic.parameters.announced_intrusions
    return [
        statistic.expected_error_bound(announced_intrusions=announced) for announced in range(allowed + 1)
    ]
