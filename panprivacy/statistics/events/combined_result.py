"""Guarantees against readers of the combined result alone, in the same words for every statistic."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from panprivacy.accounting.guarantees import Guarantee, Model, Relation, bracket
from panprivacy.accounting.interface import LARGEST_N, PrivacyEvent
from panprivacy.accounting.number_cache import epsilon_at
from panprivacy.accounting.sampling import Sampling
from panprivacy.formats.display import sentence
from panprivacy.formats.parameters import CohortParameters
from panprivacy.statistics.events.dummies import Dummies

DISHONEST_FRACTIONS = (0.0, 0.5)
"""Every number is stated for these parts of the devices colluding with the observer."""

EventOf = Callable[[int], PrivacyEvent]
"""A release over n devices, the protected one among them, as an event."""


def honest_devices(devices: int, dishonest_fraction: float) -> int:
    """How many of `devices` (≥ 1) are left, the protected one among them, if a part (0 ≤ part < 1) colludes.

    The observer knows what colluding devices sent, and subtracts it: the rest is a smaller cohort.

    Raises:
        ValueError: the part is below 0, or 1 or more.
    """
    if not 0 <= dishonest_fraction < 1:
        raise ValueError(f"dishonest_fraction must be at least 0 and below 1, not {dishonest_fraction!r}")
    # 0.29 · 100 is 28.999999999999996.
    return max(1, devices - int(dishonest_fraction * devices * (1 + 1e-12)))


def aggregator_guarantees(
    parameters: CohortParameters, *, relations: Sequence[Relation], release: EventOf
) -> tuple[Guarantee, ...]:
    """The guarantees of a full cohort, for each relation and each of `DISHONEST_FRACTIONS`.

    Args:
        parameters: the cohort size, and δ of every guarantee.
        relations: those for which the numbers hold alike.
        release: over n devices, by proof.
    """
    cohort_size, delta = parameters.cohort_size, parameters.delta
    guarantees = []
    for fraction in DISHONEST_FRACTIONS:
        event = release(honest_devices(cohort_size, fraction))
        guarantees += [
            Guarantee(
                model=Model.AGGREGATOR,
                relation=relation,
                epsilon=_proved_epsilon(event, delta),
                delta=delta,
                dishonest_fraction=fraction,
                source=sentence(event.method),
                assumption=honest_cohort(cohort_size, fraction),
            )
            for relation in relations
        ]
    return tuple(guarantees)


@dataclass(frozen=True, kw_only=True)
class SecretSampling:
    """A release if no observer sees which devices take part.

    Attributes:
        parameters: the cohort size, the sampling rate (below 1), and δ of every guarantee.
        reporting_rate: probability that a device sends anything: more than the sampling rate if some send
            dummies. A dummy is one more report with an unknown sender: its effect follows from the reports
            that count, and from their number.
        relations: those for which the numbers hold alike.
        release: over n devices that take part, by proof. It bounds the sampled release too: observers that do
            not know which devices took part learn no more than those that do.
        found: over the devices that take part, of n that receive the recipe, in the worst case that was
            found. That case is attained: it is the lower end of a bracket, if it is not proved. None if none
            was searched.
    """

    parameters: CohortParameters
    reporting_rate: float
    relations: tuple[Relation, ...]
    release: EventOf
    found: EventOf | None = None

    def _receivers(self, dishonest_fraction: float) -> int:
        """Devices that receive the recipe and do not collude."""
        return honest_devices(
            population_of(self.parameters.cohort_size, self.reporting_rate), dishonest_fraction
        )

    def event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The release over those that take part, proved.

        Args:
            dishonest_fraction: the part of the devices that colludes with the observer, below 1.
        """
        n = self._receivers(dishonest_fraction)
        return Sampling(event=self.release(n), n=n, sampling_rate=self.parameters.sampling_rate)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """For each of `DISHONEST_FRACTIONS`. Takes seconds if a composition is sampled."""
        cohort_size, delta = self.parameters.cohort_size, self.parameters.delta
        guarantees = []
        for fraction in DISHONEST_FRACTIONS:
            honest = self._receivers(fraction)
            event, full = self.event(fraction), self.release(honest_devices(cohort_size, fraction))
            epsilon, source = _proved_epsilon(event, delta), sentence(event.method)
            assumption = (
                f"at least {honest:,} devices that follow the protocol hearing of the recipe, "
                "and on their participation being unseen"
            )
            found_epsilon = None
            if self.found is not None:
                worst = self.found(honest)
                if worst.proved:
                    epsilon, source = epsilon_at(worst, delta), sentence(worst.method)
                else:
                    found_epsilon = epsilon_at(worst, delta)
                    source = f"{sentence(bracket(found_epsilon, epsilon))} {sentence(worst.method)} {source}"
            epsilon_of_cohort = _proved_epsilon(full, delta)
            if epsilon > epsilon_of_cohort:
                epsilon, source = epsilon_of_cohort, f"As if it were known who took part: {full.method}."
                assumption = honest_cohort(cohort_size, fraction)
            guarantees += [
                Guarantee(
                    model=Model.SAMPLED,
                    relation=relation,
                    epsilon=epsilon,
                    found_epsilon=found_epsilon,
                    delta=delta,
                    dishonest_fraction=fraction,
                    source=source,
                    assumption=assumption,
                )
                for relation in self.relations
            ]
        return tuple(guarantees)


def hidden_count_guarantees(dummies: Dummies, sampling_rate: float) -> tuple[Guarantee, ...]:
    """How well the number of reports is hidden, for each of `DISHONEST_FRACTIONS` of the devices that receive
    the recipe."""
    guarantees = []
    for fraction in DISHONEST_FRACTIONS:
        honest = honest_devices(dummies.population_size, fraction)
        epsilon = dummies.epsilon_of(honest, sampling_rate)
        guarantees.append(
            Guarantee(
                model=Model.COUNT,
                relation=Relation.PARTICIPATION,
                epsilon=epsilon if math.isfinite(epsilon) else None,
                delta=dummies.delta,
                dishonest_fraction=fraction,
                source="Binomial dummies, exact hockey-stick divergence in both directions: SAA section 4.6, "
                "with a rate that is computed (docs/errata.md).",
                assumption=f"at least {honest:,} devices that follow the protocol hearing of the recipe and "
                "being able to send, and on it being unseen which of them send, and when",
            )
        )
    return tuple(guarantees)


def population_of(cohort_size: int, sampling_rate: float) -> int:
    """How many devices must receive a recipe for `cohort_size` to be expected to take part, rounded up.

    At most `LARGEST_N`: what holds for that number of devices holds for more.
    """
    return min(LARGEST_N, -int(-cohort_size // sampling_rate))


def honest_cohort(cohort_size: int, dishonest_fraction: float = 0.0) -> str:
    """What a guarantee for the sum of a cohort relies on."""
    devices = honest_devices(cohort_size, dishonest_fraction)
    return f"at least {devices:,} devices that follow the protocol, and single reports being unread"


def _proved_epsilon(event: PrivacyEvent, delta: float) -> float:
    if not event.proved:
        raise TypeError(f"{event.kind} is not proved, so it gives no guarantee")
    return epsilon_at(event, delta)
