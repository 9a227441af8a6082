"""The base of statistics whose devices report once each, and whose reports are added up by cohort."""

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.number_cache import epsilon_at
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import CohortParameters
from panprivacy.statistics.events.combined_result import (
    EventOf,
    SecretSampling,
    aggregator_guarantees,
    honest_devices,
)
from panprivacy.statistics.interface import ReportStatistic, Statistic
from panprivacy.statistics.intervals.estimate import normal_factor
from panprivacy.statistics.intervals.release_rule import ReleaseRule

P = TypeVar("P", bound=CohortParameters)


@dataclass(frozen=True)
class Release:
    """The release over n devices, proved, as an event under each of these relations."""

    relations: tuple[Relation, ...]
    event_of: EventOf


class CohortStatistic(ReportStatistic[P]):
    """A mechanism whose result is the sum over a cohort of devices; each took part by the same coin."""

    parameters_class: ClassVar[type[CohortParameters]]

    release_relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    """The relations under which `_release` holds."""

    def with_noisy_count(self) -> Self:
        """The same statistic if the number of reports is published with noise."""
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
        """The same for a sum of this number of reports; without noise, a smaller number is taken as the
        cohort."""
        rule = self.release_rule
        return rule if self.noisy_count else replace(rule, cohort_size=min(self.cohort_size, reports))

    @property
    def cohort_size(self) -> int:
        return self.parameters.cohort_size

    @property
    def state_ciphertexts(self) -> int:
        """Number of ciphertexts that a device keeps until it reports; 0 if it keeps nothing."""
        return 0

    # For the server ------------------------------------------------------------

    @property
    def report_ciphertexts(self) -> int:
        """As many as a contribution has entries, unless the statistic makes others of them."""
        return self.contribution_length

    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        """The values themselves; a statistic whose values are jointly restricted refuses others."""
        self.require_values(values)
        return tuple(values)

    @abstractmethod
    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        """The values of `estimate` alone. Arguments as there."""

    def _standard_errors(
        self, exact: Sequence[float], total: Sequence[int], reports: int
    ) -> tuple[float, ...]:
        """Standard errors, including the noise in the number of reports.

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
        """A sentence on what standard errors include, made from the one without noise."""
        return f"{exact} Includes the noise of the number of reports." if self.noisy_count else exact

    # For the accountant --------------------------------------------------------

    def require_promise(self) -> None:
        """FieldError if the parameters break what the recipe states.

        Devices call it before they take part, because only they can hold a server to it.
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
        """Whether the published result has at most the ε that the recipe states for it, if it states one: the
        quick part of `require_promise`."""
        target = self.parameters.aggregator_epsilon
        return target is None or self.aggregator_event().delta(target) <= self.parameters.delta

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The release of one full cohort, against observers that read only it and may know which devices took
        part.

        Under replacement, and proved: a budget is charged with it.

        Args:
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """
        return self._release(honest_devices(self.parameters.cohort_size, dishonest_fraction))

    @property
    def release_model(self) -> Model:
        """The model of those `guarantees` that `aggregator_event` gives."""
        return Model.AGGREGATOR

    @property
    def sampling(self) -> SecretSampling | None:
        """The same release against observers that do not know which devices took part; None if all devices
        do."""
        if self.parameters.sampling_rate == 1:
            return None
        return SecretSampling(
            parameters=self.parameters,
            reporting_rate=self.reporting_rate,
            relations=self.release_relations,
            release=self._release,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        stated, sampling = self.open_guarantees(), self.sampling
        if sampling is None:
            return stated
        # Next to those of the same release.
        last = max((n for n, one in enumerate(stated) if one.model is Model.AGGREGATOR), default=-1)
        return (*stated[: last + 1], *sampling.guarantees(), *stated[last + 1 :])

    def open_guarantees(self) -> tuple[Guarantee, ...]:
        """The `guarantees` that hold whether or not observers see which devices take part. They take at most
        tenths of a second."""
        return (*self.local_guarantees(), *self.release_guarantees())

    def release_guarantees(self) -> tuple[Guarantee, ...]:
        """Those of the release of a full cohort."""
        return tuple(
            guarantee
            for release in self._releases()
            for guarantee in aggregator_guarantees(
                self.parameters, relations=release.relations, release=release.event_of
            )
        )

    @abstractmethod
    def _release(self, n: int) -> PrivacyEvent:
        """The release over n honest devices, proved, under each of `release_relations`."""

    def _releases(self) -> tuple[Release, ...]:
        """The same for every relation under which something is guaranteed."""
        return (Release(self.release_relations, self._release),)

    @abstractmethod
    def expected_standard_error(self, population: int) -> float:
        """The largest standard error to expect, computed in advance.

        Args:
            population: number of devices that receive the recipe; about population × sampling rate of them
                report.
        """

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """About how far the stated interval will reach from the estimate, of all values together.

        By the normal approximation, unless the statistic knows better.

        Args:
            population: as in `expected_standard_error`.
            failure_probability: with which any of the truths lies further away.
        """
        values = 1 if self.scalar else len(self.labels)
        return normal_factor(failure_probability, values) * self.expected_standard_error(population)


def require_population(population: int) -> None:
    """ValueError unless there is a device to ask."""
    if population < 1:
        raise ValueError(f"population must be at least 1, not {population}")


def open_guarantees(statistic: Statistic[Any]) -> tuple[Guarantee, ...]:
    """The guarantees of any statistic that hold whether or not observers see which devices take part."""
    return statistic.open_guarantees() if isinstance(statistic, CohortStatistic) else statistic.guarantees()
