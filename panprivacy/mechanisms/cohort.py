"""What is common to statistics whose devices report once each, and whose reports are added up by cohort."""

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self, TypeVar

from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.remembered import epsilon_at
from panprivacy.accounting.sampling import Sampled
from panprivacy.bounds.release_rule import ReleaseRule
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

    def with_noisy_count(self) -> Self:
        """The same statistic where the number of reports is published with noise."""
        made = copy.copy(self)
        made.noisy_count = True
        return made

    def having(self, parameters: P) -> Self:
        made = super().having(parameters)
        return made.with_noisy_count() if self.noisy_count else made

    @property
    def release_rule(self) -> ReleaseRule:
        """How many reports a result needs, and how their number is shown."""
        return ReleaseRule(self.cohort_size, self.reporting_rate, self.noisy_count)

    def _rule_for(self, reports: int) -> ReleaseRule:
        """The same for a sum of so many reports; without noise, a smaller number is taken as the cohort."""
        rule = self.release_rule
        return rule if self.noisy_count else replace(rule, cohort_size=min(self.cohort_size, reports))

    @property
    def cohort_size(self) -> int:
        return self.parameters.cohort_size

    @property
    def state_ciphertexts(self) -> int:
        """Number of ciphertexts that a device keeps until it reports; 0 where it keeps nothing."""
        return 0

    # The server's face ---------------------------------------------------------

    @abstractmethod
    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        """The values of `estimate` alone. Arguments as there."""

    def _standard_errors(
        self, exact: Sequence[float], total: Sequence[int], reports: int
    ) -> tuple[float, ...]:
        """Standard errors with what noise in the number of reports adds.

        Args:
            exact: of each value, if the number of reports were exact.
        """
        if not self.noisy_count:
            return tuple(exact)
        # Values are linear in the number of reports, or nearly so.
        values, others = self.debiased(total, reports), self.debiased(total, reports + 1)
        deviation = self.release_rule.noise_deviation
        return tuple(
            math.hypot(error, deviation * (other - value))
            for error, value, other in zip(exact, values, others, strict=True)
        )

    def _error_note(self, exact: str) -> str:
        """What standard errors include, for people; what they would include without noise is given."""
        return f"{exact} Includes the noise of the number of reports." if self.noisy_count else exact

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
