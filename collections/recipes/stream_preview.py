"""What to expect of a recipe whose items come to a curator."""

from dataclasses import dataclass
from typing import Any, ClassVar

from panprivacy.streams.interface import CONFIDENCE, StreamStatistic
from recipes.presentation import significant, within


@dataclass(frozen=True)
class Looks:
    """After so many announced intrusions: the error bound to expect, and whether it is as large as all
    answers reach."""

    announced: int
    error_bound: str
    says_nothing: bool


@dataclass(frozen=True)
class StreamPreview:
    """What the preview shows where a curator counts.

    Attributes:
        percent: the confidence of the error bounds.
        error_bound: if no intrusion is announced, in `unit`.
        within: the same as a clause.
        looks: after every number of announced intrusions that the recipe allows, none among them.
    """

    template: ClassVar = "recipes/preview/_streams.html"

    unit: str
    percent: str
    error_bound: str
    within: str
    looks: tuple[Looks, ...]


def preview_of_stream(
    statistic: StreamStatistic[Any], population_size: int | None
) -> StreamPreview:  # items come from however many
    """What to expect of a recipe with this statistic."""
    bounds = expected_bounds(statistic)
    return StreamPreview(
        unit=statistic.unit,
        percent=significant(100 * CONFIDENCE),
        error_bound=significant(bounds[0]),
        within=within(bounds[0], statistic.unit),
        looks=tuple(
            Looks(announced, significant(bound), bound >= statistic.largest)
            for announced, bound in enumerate(bounds)
        ),
    )


def expected_bounds(statistic: StreamStatistic[Any]) -> list[float]:
    """The error bound to expect after 0, 1, … announced intrusions, as many as the recipe allows."""
    allowed = statistic.parameters.announced_intrusions
    return [
        statistic.expected_error_bound(announced_intrusions=announced) for announced in range(allowed + 1)
    ]
