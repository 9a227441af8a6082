"""What to expect of a recipe whose devices send one value through a shuffler."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from pages.publish.quantile_plot import QuantilePlot, quantile_plot
from panprivacy.planning.expectation import MISSED
from panprivacy.statistics.interface import is_uninformative
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from web.numbers import significant


@dataclass(frozen=True)
class ShufflePreview:
    """What the preview shows if exactly this many devices send at once.

    Attributes:
        standard_error, margin, noise: in `unit`; `noise` is the change between two such releases below which
            a change is probably noise (95%).
        together: whether `margin` is of several values for all together.
        margin_points: the margin in percentage points of the devices, for statistics that count them; else
            empty.
        uninformative: whether the margin is half the range of answers or more.
        hypothesis_test: whether a hypothesis is tested.
        note: what else to expect.
        most_messages: of one device.
    """

    template: ClassVar = "publish/preview/_shuffled.html"

    unit: str
    standard_error: str
    margin: str
    margin_points: str
    noise: str
    together: bool
    uninformative: bool
    hypothesis_test: bool
    note: str
    cohort_size: int
    most_messages: int
    plot: QuantilePlot

    @property
    def line(self) -> str:
        """The preview in one line."""
        if self.hypothesis_test:
            return "A verdict, and the statistic behind it"
        points = f" (± {self.margin_points} points)" if self.margin_points else ""
        return f"± {self.margin} {self.unit}{points}"


def preview_of_shuffle(
    statistic: ShuffleStatistic[Any], population_size: int | None
) -> ShufflePreview:  # exactly n take part, of however many
    """What to expect of a recipe with this (calibrated) statistic; exactly n devices take part in it, however
    many hear of it."""
    error = statistic.expected_standard_error()
    margin, devices = statistic.expected_margin(MISSED), statistic.cohort_size
    return ShufflePreview(
        unit=statistic.unit,
        standard_error=significant(error),
        margin=significant(margin),
        margin_points=significant(100 * margin / devices) if statistic.counts_devices else "",
        noise=significant(math.sqrt(2) * margin),
        together=not statistic.scalar,
        uninformative=is_uninformative(statistic, margin),
        hypothesis_test=statistic.hypothesis_test,
        note=statistic.expected_note,
        cohort_size=devices,
        most_messages=statistic.most_messages,
        plot=quantile_plot(error),
    )
