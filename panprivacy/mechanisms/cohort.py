"""What is common to statistics whose devices report once each, and whose reports are added up by cohort."""

from abc import abstractmethod
from typing import ClassVar, TypeVar

from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.remembered import epsilon_at
from panprivacy.accounting.sampling import Sampled
from panprivacy.errors import FieldError
from panprivacy.estimate import normal_factor
from panprivacy.mechanisms.combined_result import honest_devices, population_of
from panprivacy.parameters import CohortParameters
from panprivacy.shown import plain
from panprivacy.statistic import ReportStatistic

P = TypeVar("P", bound=CohortParameters)


class CohortStatistic(ReportStatistic[P]):
    """One whose result is the sum over a cohort of devices, each of which took part by the same coin."""

    parameters_class: ClassVar[type[CohortParameters]]

    segments: tuple[str, ...] = ()
    """Labels by which it is asked; empty where by none."""

    @property
    def cohort_size(self) -> int:
        return self.parameters.cohort_size

    @property
    def state_ciphertexts(self) -> int:
        """Number of ciphertexts that a device keeps until it reports; 0 where it keeps nothing."""
        return 0

    # The accountant's face -----------------------------------------------------

    def require_population(self, population: int) -> None:
        """ValueError unless there is a device to ask."""
        if population < 1:
            raise ValueError(f"population must be at least 1, not {population}")

    def require_promise(self) -> None:
        """FieldError where the parameters do not keep what the recipe states.

        Devices call it before they take part, as nobody else can hold a server to it.
        """
        if not self.keeps_target:
            target = self.parameters.aggregator_epsilon
            reached = epsilon_at(self.aggregator_event(), self.parameters.delta)
            raise FieldError(
                "aggregator_epsilon",
                f"{target:g} is not met: with these parameters the published result has "
                f"{reached:.4g} (proved, under replacement, δ = {plain(self.parameters.delta)}, "
                f"cohort size {self.parameters.cohort_size:,})",
            )

    @property
    def keeps_target(self) -> bool:
        target = self.parameters.aggregator_epsilon
        return target is None or self.aggregator_event().delta(target) <= self.parameters.delta

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The release of one full cohort, against observers who read only it and may know who took part.

        Under replacement, and proved: a budget is charged with it.

        Args:
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """
        return self._release(honest_devices(self.parameters.cohort_size, dishonest_fraction))

    @property
    def release_model(self) -> Model:
        """The model of those `guarantees` that `aggregator_event` gives."""
        return Model.AGGREGATOR

    def sampled_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent | None:
        """The same release, proved, against observers who do not know who took part; None where all do."""
        parameters = self.parameters
        if parameters.sampling_rate == 1:
            return None
        population = population_of(parameters.cohort_size, self.reporting_rate)
        return self._sampled(honest_devices(population, dishonest_fraction))

    @abstractmethod
    def _release(self, n: int) -> PrivacyEvent:
        """The release over n honest devices, proved, under replacement."""

    def _sampled(self, n: int) -> PrivacyEvent:
        """The release over those who take part of n honest devices that heard of it, proved."""
        return Sampled(event=self._release(n), n=n, sampling_rate=self.parameters.sampling_rate)

    @abstractmethod
    def expected_standard_error(self, population: int) -> float:
        """The largest standard error to expect, before anything is published.

        Args:
            population: number of devices that hear of the recipe; about
                population × sampling rate of them report.
        """

    def expected_remark(self, population: int) -> str:  # noqa: ARG002  # for those that override it
        """What else to expect, in sentences; empty where the standard error says all.

        Args:
            population: as of `expected_standard_error`.
        """
        return self.expected_note

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """About how far the stated interval will reach from the estimate, of all values together.

        By the normal approximation, unless the statistic knows better.

        Args:
            population: as of `expected_standard_error`.
            failure_probability: with which any of the truths lies further away.
        """
        values = 1 if self.scalar else len(self.labels)
        return normal_factor(failure_probability, values) * self.expected_standard_error(population)
