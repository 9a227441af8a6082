"""What to expect of a recipe whose devices report once."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from pages.publish.quantile_plot import QuantilePlot, quantile_plot
from pages.words.sentences import sampling_sentence
from panprivacy.accounting.trust import Trust
from panprivacy.planning.expectation import MISSED, expected_margin, margin_points
from panprivacy.planning.likelihood import unlikely_advice
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of
from web.numbers import significant


@dataclass(frozen=True)
class SegmentPreview:
    """What to expect of each segment, if all have as many devices.

    Attributes:
        count: how many segments there are.
        devices: of each.
        margin: of an answer within one, in devices; all of them together.
        points: the same in percentage points of the segment.
        margin_points: the same, exact.
    """

    count: int
    devices: int
    margin: str
    points: str
    margin_points: float


@dataclass(frozen=True)
class DevicePreview:
    """What the preview shows if devices report once.

    Attributes:
        standard_error, margin, noise: in `unit`; `noise` is the change between two such releases below which
            a change is probably noise (95%).
        together: whether `margin` is of several values for all together.
        without: the value that it leaves out; empty if it is of all.
        points: the standard error in percentage points of the population, for statistics
            that count devices; else empty.
        reporting: number of devices expected to report.
        plan_query: for the address of the planner with the same numbers.
        segments: None if the recipe asks by none.
        note: what else to know of the error, in sentences; else empty.
        warning: why a result is unlikely, and which cohort would do; empty if it is likely.
    """

    template: ClassVar = "publish/preview/_devices.html"

    unit: str
    standard_error: str
    margin: str
    points: str
    margin_points: str
    noise: str
    together: bool
    without: str
    population_size: int
    reporting: int
    cohort_size: int
    sampling: str
    plot: QuantilePlot
    plan_query: str
    segments: SegmentPreview | None
    note: str
    warning: str

    @property
    def line(self) -> str:
        """The preview in one line."""
        if self.warning:
            return "A result is unlikely"
        if self.segments is not None:
            return f"± {self.segments.points} points in each segment"
        points = f" (± {self.margin_points} points)" if self.margin_points else ""
        return f"± {self.margin} {self.unit}{points}"


def preview_of_devices(mechanism: CohortStatistic[Any], population_size: int) -> DevicePreview:
    """What to expect if `population_size` devices (≥ 1) hear of a recipe with this (calibrated) mechanism."""
    error = mechanism.expected_standard_error(population_size)
    margin = expected_margin(mechanism, population_size)
    percentage_points = margin_points(mechanism, margin, population_size)
    parameters = mechanism.parameters
    reporting = round(population_size * mechanism.reporting_rate)
    counts_devices, partial = mechanism.counts_devices, mechanism.partial_errors
    return DevicePreview(
        unit=mechanism.unit,
        standard_error=significant(error),
        margin=significant(margin),
        points=significant(100 * error / population_size) if counts_devices else "",
        margin_points="" if percentage_points is None else significant(percentage_points),
        noise=significant(math.sqrt(2) * margin),
        together=not mechanism.scalar,
        without="" if partial is None else partial.without,
        population_size=population_size,
        reporting=reporting,
        cohort_size=parameters.cohort_size,
        sampling=sampling_sentence(parameters.sampling_rate),
        plot=quantile_plot(error),
        plan_query=_plan_query(mechanism, population_size),
        segments=_segments(mechanism, population_size),
        note=mechanism.expected_note if partial is None else partial.remark(population_size),
        warning=unlikely_advice(mechanism, TRUST_MODELS[_trust(mechanism)], population_size),
    )


def _trust(mechanism: CohortStatistic[Any]) -> Trust:
    # Only two servers publish the number of reports with noise.
    return Trust.TWO_SERVER if mechanism.noisy_count else trusts_of(type(mechanism))[0]


def _segments(mechanism: CohortStatistic[Any], population_size: int) -> SegmentPreview | None:
    if mechanism.segmentation is None:
        return None
    expected = mechanism.segmentation.expected(population_size, MISSED)
    return SegmentPreview(
        count=len(mechanism.segmentation.labels),
        devices=round(expected.devices),
        margin=significant(expected.margin),
        points=significant(expected.margin_points),
        margin_points=expected.margin_points,
    )


def _plan_query(mechanism: CohortStatistic[Any], population_size: int) -> str:
    names = mechanism.parameters.entered_names()
    # Lists and tables are not taken over: they are no numbers.
    entered = {
        name: value
        for name, value in mechanism.parameters.as_dict().items()
        if name in names and not isinstance(value, list | dict)
    }
    if mechanism.noisy_count:
        entered["trust"] = Trust.TWO_SERVER.value
    return urlencode({"statistic": mechanism.statistic, "population_size": population_size, **entered})
