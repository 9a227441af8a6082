"""What every statistic declares, whether devices, a curator or a shuffler collect for it.

Three protocols: of the accountant (`Accountant`), of the estimator (`Estimator`), and of the device, which
each package of statistics has its own. What only some statistics can do is an object that a statistic has
(`Segmentation`, `PartialErrors`), or a class of its own (`SizeBounds`, `NamedValues`).
"""

import copy
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.parameters import PublicParameters
from panprivacy.formats.value_labels import numbers_of
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.robustness import Robustness

if TYPE_CHECKING:  # a document can be read without it
    from panprivacy.statistics.intervals.segment_estimates import (
        ExpectedSegments,
        SegmentBounds,
        SegmentEstimate,
    )

P = TypeVar("P", bound=PublicParameters)


class InvalidReportError(ValueError):
    """Decrypted values that no honest device sends.

    Attributes:
        reason: machine-readable, e.g. `value_out_of_range`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Segmentation(ABC):
    """The segments of a statistic: each device is in one, or in none."""

    labels: tuple[str, ...]
    """Their labels, 1 or more that differ."""

    @abstractmethod
    def on_device(self, segment: str | None) -> Any:
        """The statistic for a device of this segment; None for a device in none of them."""

    @abstractmethod
    def expected(self, population: int, failure_probability: float) -> "ExpectedSegments":
        """What to expect of each segment.

        Args:
            population: devices that receive the recipe.
            failure_probability: with which any interval of a segment misses.
        """

    @abstractmethod
    def estimates(self, total: Sequence[int], reports: int) -> tuple["SegmentEstimate", ...]:
        """The answer within each segment. Arguments as in `Estimator.estimate`."""

    @abstractmethod
    def bounds_at(
        self, level: float, devices: float, answers: Sequence[float], reports: int
    ) -> "SegmentBounds":
        """The intervals of one segment at another level than those that are stated, by the same tests. Those
        of all segments hold together.

        Args:
            level: above 0 and below 1.
            devices, answers: of `estimates`, for a segment that is shown.
            reports: as in `Estimator.estimate`.
        """

    @abstractmethod
    def truths(self, devices_by_count: Mapping[Any, int]) -> list[dict[str, Any]]:
        """The exact answers, for simulations: `label`, `devices` and `answers` of each segment.

        Args:
            devices_by_count: as in the statistic's `truth`.
        """


class SizeBounds(ABC):
    """Proved bounds of numbers of devices: a target can rest on the results of a statistic that has them."""

    @abstractmethod
    def between(
        self, values: Sequence[float], reports: int, failure_probability: float
    ) -> tuple[tuple[float, float], ...]:
        """Between which the number of devices lies: with each value of the answer, and last, with any.

        Args:
            values: of an estimate.
            reports: the number of reports in the sum.
            failure_probability: with which any of the bounds does not hold.

        Raises:
            FieldError: named `estimate`: no sum of that number of reports gives these.
            ValueError: they are not one finite number for each value of the answer.
        """


class PartialErrors(ABC):
    """What to know of expected errors that leave out a value of the answer.

    Attributes:
        without: the value, e.g. "the default".
    """

    without: str

    @abstractmethod
    def remark(self, population: int) -> str:
        """What to expect of that value, in sentences.

        Args:
            population: devices that receive the recipe.
        """


class NamedValues:
    """A statistic whose devices have a whole number each, for which a recipe may have names."""

    _numbers: Mapping[str, int] = MappingProxyType({})
    """Name → number, empty if the recipe names none."""

    def with_value_names(self, labels: Sequence[str]) -> Self:
        """The same if the recipe names the values.

        Args:
            labels: one for each value; empty if the recipe names none.
        """
        made = copy.copy(self)
        made._numbers = numbers_of(labels)
        return made


class Accountant(ABC):
    """What a statistic guarantees, and what its release costs."""

    budget_condition: ClassVar[str] = ""
    """What `aggregator_event` assumes in addition to the recipe, as a clause; empty if it assumes nothing."""

    @abstractmethod
    def require_promise(self) -> None:
        """FieldError if the parameters break what the recipe states.

        Devices call it before they take part, because only they can hold a server to it.
        """

    @abstractmethod
    def aggregator_event(self) -> PrivacyEvent:
        """The release, against observers who read only it. Proved: a budget is charged with it."""

    @abstractmethod
    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """The `guarantees` that hold against readers of one report."""

    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Every guarantee; those that are not computed have `epsilon` and `delta` None. Takes seconds if a
        composition is sampled."""


class Statistic(Accountant, Generic[P]):
    """One statistic with its parameters: its description, and what an accountant asks of it."""

    statistic: ClassVar[str]
    """Registered name, e.g. `count_nonzero`."""

    title: ClassVar[str]
    """For people, e.g. "Devices with at least one event"."""

    description: ClassVar[str]
    """One or two sentences for the analyst that chooses a statistic."""

    unit: ClassVar[str]
    """The unit of the estimate: `devices` or `events per device`."""

    counts_devices: ClassVar[bool] = False
    """Whether the estimates are numbers of devices, so that each is a share of the population."""

    rare_counterpart: ClassVar[str] = ""
    """Registered name of a statistic with the same question that is more precise if nearly all devices have
    the value 0; empty if there is none."""

    hypothesis_test: ClassVar[bool] = False
    """Whether a hypothesis is tested: the estimate is then its statistic, and `details` has the verdict."""

    detail_labels: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """For people: the label of each of the estimate's `details`, and a sentence on what it means."""

    device_input: ClassVar[DeviceInput]
    """The type of input that is counted."""

    planning_obstacle: ClassVar[str] = ""
    """Why there is nothing for the planner to choose, as a clause; empty if there is."""

    provable: ClassVar[bool] = False
    """Whether servers can check a report without reading it."""

    needs_proof: ClassVar[bool] = False
    """Whether it is asked only if servers check reports without reading them."""

    fresh_ciphertexts: ClassVar[bool] = False
    """Whether devices add up ciphertexts of their state: it needs a scheme whose rerandomized sums are as
    fresh ones."""

    dummy_obstacle: ClassVar[str] = "a report of nothing would change its answer"
    """Why devices that do not take part cannot send dummies, as a clause; empty if they can."""

    parameters_class: ClassVar[type[PublicParameters]]

    noisy_count: bool = False
    """Whether the number of reports is published with noise, and a result needs a margin of reports beyond
    the cohort size (`panprivacy.accounting.noisy_count`)."""

    scalar: ClassVar[bool] = True
    """Whether the estimate is one number (otherwise a list, labelled by `labels`)."""

    coordinates: ClassVar[bool] = False
    """Whether the estimates are the coordinates of one vector: a large one is far from 0 on either side, and
    all count together."""

    def __init__(self, parameters: P) -> None:
        self.parameters = parameters

    def having(self, parameters: P) -> Self:
        """The same with other parameters."""
        return type(self)(parameters)

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """One label per value of the estimate."""

    def label(self, position: int) -> str:
        """One of `labels`, computed without making the others."""
        return self.labels[position]

    @property
    def largest(self) -> float:
        """The largest value that an answer can have; infinite if it has no bound."""
        return math.inf

    @property
    def segmentation(self) -> Segmentation | None:
        """The segments within which it is estimated, too; None if there are none."""
        return None

    def interval_at(
        self,
        level: float,  # noqa: ARG002  # for statistics with exact tests, as the others
        values: Sequence[float],  # noqa: ARG002
        reports: int,  # noqa: ARG002
    ) -> Interval | None:
        """The interval of an estimate at another level than those that are stated, by the same exact tests;
        None if it is made otherwise. Takes milliseconds for each value.

        Args:
            level: above 0 and below 1.
            values: of an estimate: they show the sum from which they were made.
            reports: as in `Estimator.estimate`.
        """
        return None

    @property
    def partial_errors(self) -> PartialErrors | None:
        """What to know of errors that leave out a value; None if they include all."""
        return None

    @property
    def robustness(self) -> Robustness | None:
        """The most that dishonest devices can move; None if it is not stated."""
        return None

    @property
    def expected_note(self) -> str:
        """What to know about the expected error. For a stream: the condition under which it is expected, as a
        clause. Otherwise: what to expect besides, in sentences. Empty if the error is all."""
        return ""

    @property
    def reporting_rate(self) -> float:
        """Probability that a device sends a report: the sampling rate, and more if other devices send
        dummies."""
        return self.parameters.sampling_rate

    @property
    def reporting_rates(self) -> tuple[float, float]:
        """The same as a least and a largest probability if it depends on the device's value; otherwise both
        are equal."""
        return self.reporting_rate, self.reporting_rate

    @property
    @abstractmethod
    def cohort_size(self) -> int:
        """The number of accepted reports below which nothing is released; 0 if no reports are sent."""

    @property
    def most_ciphertexts(self) -> int:
        """The most ciphertexts that one device sends; 0 if devices send none."""
        return 0


def is_uninformative(statistic: Statistic[Any], margin: float) -> bool:
    """Whether a margin of error of `margin` is useless: the middle of the range of answers would be as good
    an answer."""
    lowest = -statistic.largest if statistic.coordinates else 0.0
    return margin >= (statistic.largest - lowest) / 2


class Estimator(ABC):
    """What a server makes of decrypted reports: each is a contribution to a sum, and the sum an estimate."""

    @property
    @abstractmethod
    def report_ciphertexts(self) -> int:
        """Number of ciphertexts in one report."""

    @property
    @abstractmethod
    def allowed_values(self) -> range:
        """The plaintexts that a report's ciphertext can have.

        Raises:
            FieldError: there are more than can be decrypted, so that no result could be computed.
        """

    @property
    @abstractmethod
    def contribution_length(self) -> int:
        """Length of the vectors that are added up."""

    @abstractmethod
    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        """The decrypted values of one report as a vector for the sum.

        Raises InvalidReportError if `values` are individually allowed but jointly impossible.
        """

    def add(self, total: list[int], values: Sequence[int]) -> None:
        """Add the decrypted values of one report to a sum of contributions, in place.

        Raises:
            InvalidReportError: as in `contribution`; the sum is unchanged.
        """
        for position, value in enumerate(self.contribution(values)):
            total[position] += value

    def random_values(self, random_source: random.Random) -> tuple[int, ...]:
        """The values of a report, uniform among all that `contribution` accepts.

        They replace values that it refuses, so that the number of refusals stays hidden. A statistic that
        refuses combinations of allowed values overrides this.
        """
        allowed = self.allowed_values
        return tuple(allowed[random_source.randrange(len(allowed))] for _ in range(self.report_ciphertexts))

    @abstractmethod
    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """Debias a sum of contributions to an estimate about the whole population.

        Args:
            total: their sum, exact.
            reports: their number, at least 1; noisy if the number is shown with noise.

        Raises:
            ValueError: that number of contributions cannot have this sum (`require_total`).
        """

    def require_values(self, values: Sequence[int]) -> None:
        """InvalidReportError unless `values` has one allowed value for each ciphertext of a report."""
        if len(values) != self.report_ciphertexts:
            raise InvalidReportError(
                "wrong_length", f"a report has {self.report_ciphertexts} values, not {len(values)}"
            )
        allowed = self.allowed_values
        for value in values:
            if value not in allowed:
                raise InvalidReportError(
                    "value_out_of_range", f"a value must lie in {allowed[0]}..{allowed[-1]}, not {value}"
                )

    def require_total(self, total: Sequence[int], reports: int) -> None:
        """ValueError unless `total` can be a sum of `reports` ≥ 1 contributions."""
        if len(total) != self.contribution_length or reports < 1:
            raise ValueError(
                f"a total has {self.contribution_length} entries from at least 1 report, "
                f"not {len(total)} from {reports}"
            )


class ReportStatistic(Statistic[P], Estimator):
    """A statistic whose sum is made of encrypted reports: what a server uses. Devices make its noise."""

    @property
    def most_ciphertexts(self) -> int:
        return self.report_ciphertexts

    @abstractmethod
    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The release, against observers who read only it. Proved: a budget is charged with it.

        Args:
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """


def event_with_collusion(statistic: Statistic[Any], dishonest_fraction: float) -> PrivacyEvent:
    """The release if this part of the cohort colludes with the observer, below 1: the same as without if a
    server makes the noise."""
    if isinstance(statistic, ReportStatistic):
        return statistic.aggregator_event(dishonest_fraction)
    return statistic.aggregator_event()
