"""What the values of a form come to, as data: some of it takes a search, so a worker computes it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pages.kinds import kind_of
from panprivacy.formats.errors import FieldError
from panprivacy.planning.expectation import MISSED, shown_margin
from panprivacy.planning.limits import local_epsilon
from panprivacy.statistics.events.cohort import CohortStatistic
from recipes.cost import Cost
from recipes.planner.guarantees import derived_numbers
from storage.answers.kinds import Content, Lane, declared
from storage.answers.questions import State, ask


@dataclass(frozen=True)
class Figures:
    """What is shown while someone types.

    Attributes:
        derived: parameters that are computed from the others.
        local_epsilon: as `panprivacy.planning.limits.local_epsilon`.
        preview: what to expect, with `template` and `line`; None if it depends on a number of devices that is
            not known, or cannot be computed.
        obstacle: why it cannot.
        share_margin: the 95% margin of the share of devices, or of each segment's, in percentage points; None
            without a preview, or if devices are not counted.
        segments_shown: whether every segment is expected to reach the cohort size.
    """

    derived: Mapping[str, Any]
    local_epsilon: float
    preview: Mapping[str, Any] | None
    obstacle: FieldError | None
    share_margin: float | None
    segments_shown: bool


def _answer_figures(asked: Any) -> Iterator[Content]:
    """A refusal if the parameters cannot be met."""
    statistic, size = Cost.from_mapping(asked["cost"]).statistic(), asked["size"]
    shown, obstacle, margin, segments_shown = None, None, None, True
    if size is not None or not isinstance(statistic, CohortStatistic):
        try:
            preview = kind_of(type(statistic)).preview(statistic, size)
            shown = {"template": preview.template, "line": preview.line, **asdict(preview)}
            if size is not None and isinstance(statistic, CohortStatistic) and statistic.counts_devices:
                margin, segments_shown = _of_shares(statistic, size)
        except FieldError as error:
            obstacle = [error.field, error.message]
    yield {
        "derived": derived_numbers(statistic)["derived"],
        "local_epsilon": local_epsilon(statistic),
        "preview": shown,
        "obstacle": obstacle,
        "share_margin": margin,
        "segments_shown": segments_shown,
    }


def _of_shares(statistic: CohortStatistic[Any], size: int) -> tuple[float, bool]:
    if statistic.segmentation is None:
        return shown_margin(statistic, size), True
    expected = statistic.segmentation.expected(size, MISSED)
    return expected.margin_points, expected.shown


FIGURES = declared("figures", _answer_figures, Lane.PREVIEWS, version=3)


def figures_of(cost: Cost, population_size: int | None) -> Figures | State:
    """What these values come to, or why that is not known.

    Args:
        population_size: devices that hear of it; None if that is not known.

    Raises:
        FieldError: the parameters cannot be met.
    """
    answer = ask(FIGURES, {"cost": cost.as_dict(), "size": population_size})
    if not answer.complete:
        return answer.state
    obstacle = answer.content["obstacle"]
    return Figures(**{**answer.content, "obstacle": obstacle and FieldError(*obstacle)})
