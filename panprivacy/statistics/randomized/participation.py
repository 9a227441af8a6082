"""The two methods that hide which devices of `rare_categories` count, and what follows from each."""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from panprivacy.accounting.composition import Repeated
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.importance_sampling import ImportanceSampled
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.loss_cache import epsilon_at
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.rejection_sampling import RejectionSampling
from panprivacy.accounting.rounding import upwards
from panprivacy.accounting.subsampled_response_sum import SubsampledResponseSum
from panprivacy.formats.display import plain, sentence
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.combined_result import (
    DISHONEST_FRACTIONS,
    aggregator_guarantees,
    honest_devices,
)
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.randomized.categories import WeightLaw, with_drawing_again
from panprivacy.statistics.randomized.rare_parameters import Participation, RareCategoriesParameters

_COIN_SIDES = 2**64


@dataclass(frozen=True)
class Places:
    """How often the servers see a one.

    Attributes:
        absent, present: probability of a one in a report, at a place that is not the device's and at the one
            that is: for the default, and for any other category.
        rates: with which a device is among those that the sum is about.
    """

    absent: tuple[float, float]
    present: tuple[float, float]
    rates: tuple[float, float]


class Way(ABC):
    """The consequences of the method that hides which devices count."""

    shows_senders: bool
    condition: str

    def __init__(self, parameters: RareCategoriesParameters) -> None:
        self._parameters = parameters
        self._response = RandomizedResponse(parameters.epsilon)

    @property
    @abstractmethod
    def alike_epsilon(self) -> float:
        """ε of `categories` (of one place) whose reports reveal as much."""

    @property
    @abstractmethod
    def alike(self) -> str:
        """In which respect it is the same, as a clause after "That is", with ε under replacement."""

    @property
    def reporting_rate(self) -> float:
        """Probability that a device sends a report, on average over all."""
        return self._parameters.sampling_rate

    @property
    def reporting_rates(self) -> tuple[float, float]:
        """The same at least and at most, whatever devices have."""
        return self.reporting_rate, self.reporting_rate

    @abstractmethod
    def randomize(self, value: int, random_source: random.Random) -> tuple[int, ...] | None:
        """The same as the statistic's."""

    @abstractmethod
    def places(self) -> Places:
        """The same as the statistic's."""

    @abstractmethod
    def aggregator_event(self, dishonest_fraction: float) -> PrivacyEvent:
        """The same as the statistic's."""

    @abstractmethod
    def release(self, n: int) -> PrivacyEvent:
        """The sum over n reports, under replacement."""

    @abstractmethod
    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """The same as the statistic's."""

    @abstractmethod
    def release_guarantees(self) -> tuple[Guarantee, ...]:
        """The same as the statistic's."""

    def _counts(self, value: int, random_source: random.Random) -> bool:
        """The coin of a device with this category."""
        rate = self._parameters.rates[value > 0]
        return random_source.getrandbits(64) < int(rate * _COIN_SIDES)

    def _light(self, value: int | None, random_source: random.Random) -> tuple[int, ...] | None:
        """One draw of a report about this category, or about none; None if it has too many ones."""
        bits = self._response.respond_one_hot(self._parameters.k, value, random_source)
        return bits if sum(bits) <= self._parameters.required_max_weight else None

    def _law(self, rate: float = 1.0) -> WeightLaw:
        """The number of ones in a report of a device that counts with this rate."""
        return WeightLaw(self._response, self._parameters.k, rate)

    @property
    def _again(self) -> float:
        """The largest probability, over all categories, with which a draw of a report has too many ones."""
        return self._law().heavier(self._parameters.required_max_weight)


class _Cover(Way):
    """Every device sends a report: a local randomizer like any other, whatever the network shows."""

    shows_senders = False
    condition = ""

    def randomize(self, value: int, random_source: random.Random) -> tuple[int, ...]:
        while True:
            counted = value if self._counts(value, random_source) else None
            bits = self._light(counted, random_source)
            if bits is not None:
                return bits

    def places(self) -> Places:
        weight, sampled = self._parameters.required_max_weight, self._parameters.sampling_rate
        default, other = (self._law(rate).accepted_bits(weight) for rate in self._parameters.rates)
        return Places((default[0], other[0]), (default[1], other[1]), (sampled, sampled))

    def aggregator_event(self, dishonest_fraction: float) -> PrivacyEvent:
        return self.release(honest_devices(self._parameters.cohort_size, dishonest_fraction))

    def release(self, n: int) -> PrivacyEvent:
        # Two places move under replacement; given all inputs, they are independent.
        return self._redrawn(Repeated(event=self._place(n), times=2), n, self._replaced)

    def _added(self, n: int) -> PrivacyEvent:
        return self._redrawn(self._place(n), n, self._reference)

    def _redrawn(self, event: PrivacyEvent, n: int, alone: float) -> PrivacyEvent:
        return RejectionSampling(event=event, n=n, probability=self._again, largest_epsilon=alone)

    def _place(self, n: int) -> PrivacyEvent:
        _, other = self._parameters.rates
        return SubsampledResponseSum(n=n, epsilon0=self._parameters.epsilon, rate=other)

    @property
    def _reference(self) -> float:
        """ε of a report against one about no category: a one at the device's place gains most."""
        return with_drawing_again(self._gained, self._again)

    @property
    def _replaced(self) -> float:
        """ε under replacement: a one at the place of the one category, a zero at that of the other."""
        _, other = self._parameters.rates
        epsilon = self._parameters.epsilon
        # Never more than 2ε, whatever the rate: rounding up does not exceed what is proved without it.
        alone = min(upwards(self._gained + _lost(epsilon, other)), 2 * epsilon)
        return with_drawing_again(alone, self._again)

    @property
    def alike_epsilon(self) -> float:
        return self._replaced / 2

    @property
    def alike(self) -> str:
        return (
            f"with as many reports that each reveal as much (local ε = {plain(self._replaced, '.3g')}, "
            "replacement, δ = 0)"
        )

    @property
    def _gained(self) -> float:
        """ln(1 + π·(e^ε − 1)), which is at most ε."""
        _, other = self._parameters.rates
        epsilon = self._parameters.epsilon
        return min(upwards(math.log1p(other * math.expm1(epsilon))), epsilon)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        source = (
            "Exact: a device's own place is a one with p + π·(1 − 2p), at the largest rate π over all "
            "categories, every other place with p; and what drawing heavy reports again adds (SAA section "
            "3.1, with the rates as a part of the randomizer)."
        )
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.ADD_REMOVE,
                epsilon=self._reference,
                delta=0.0,
                source=source,
                assumption=f"{FOLLOWS_PROTOCOL}; the reference is a report about no category",
            ),
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=self._replaced,
                delta=0.0,
                source=source,
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    def release_guarantees(self) -> tuple[Guarantee, ...]:
        parameters = self._parameters
        return (
            *aggregator_guarantees(parameters, relations=(Relation.REPLACE,), release=self.release),
            *aggregator_guarantees(parameters, relations=(Relation.ADD_REMOVE,), release=self._added),
        )


class _Relayed(Way):
    """Only devices that count send: privacy rests on hiding which devices do."""

    shows_senders = True
    condition = (
        "the relay does not reveal senders, and the issuer gives each device one token, so that only a "
        "device itself sees whether it takes part"
    )
    assumption = (
        "the relay not revealing senders, and the issuer giving each device one token, so that only a "
        "device itself sees whether it takes part"
    )

    @property
    def alike_epsilon(self) -> float:
        return self._parameters.epsilon

    @property
    def alike(self) -> str:
        return (
            "with one report from every device; each reveals as much once it is sent (ε = "
            f"{plain(2 * self._parameters.epsilon, '.3g')}, replacement, δ = 0)"
        )

    @property
    def reporting_rate(self) -> float:
        default, other = self._parameters.rates
        return default + self._parameters.rare_share * (other - default)

    @property
    def reporting_rates(self) -> tuple[float, float]:
        return self._parameters.rates

    def randomize(self, value: int, random_source: random.Random) -> tuple[int, ...] | None:
        if not self._counts(value, random_source):
            return None
        while (bits := self._light(value, random_source)) is None:
            pass
        return bits

    def places(self) -> Places:
        absent, present = self._law().accepted_bits(self._parameters.required_max_weight)
        return Places((absent, absent), (present, present), self._parameters.rates)

    def aggregator_event(self, dishonest_fraction: float) -> PrivacyEvent:
        parameters = self._parameters
        default, other = parameters.rates
        return ImportanceSampled(
            event=self.release(honest_devices(parameters.cohort_size, dishonest_fraction)),
            n=honest_devices(parameters.devices, dishonest_fraction),
            lowest_rate=default,
            highest_rate=other,
        )

    def release(self, n: int) -> PrivacyEvent:
        epsilon = self._parameters.epsilon
        return RejectionSampling(
            event=Repeated(event=RandomizedResponseSum(n=n, epsilon0=epsilon), times=2),
            n=n,
            probability=self._again,
            largest_epsilon=2 * epsilon,
        )

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        default, other = self._parameters.rates
        sent = upwards(math.log(other / default) + 2 * self._parameters.epsilon)
        silent = upwards(math.log((1 - default) / (1 - other)))
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=max(sent, silent),
                delta=0.0,
                source="Exact, against readers who also see whether the device sends: the largest ratio of "
                "two categories' rates of sending, or of sending nothing, times that of randomized response "
                "in two places.",
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    def release_guarantees(self) -> tuple[Guarantee, ...]:
        parameters = self._parameters
        return tuple(
            Guarantee(
                model=Model.SAMPLED,
                relation=Relation.REPLACE,
                epsilon=epsilon_at(event := self.aggregator_event(fraction), parameters.delta),
                delta=parameters.delta,
                dishonest_fraction=fraction,
                source=sentence(event.method),
                assumption=f"{self.assumption}; on at least "
                f"{honest_devices(parameters.devices, fraction):,} devices that follow the protocol hearing "
                f"of the recipe, and {honest_devices(parameters.cohort_size, fraction):,} reports of such",
            )
            for fraction in DISHONEST_FRACTIONS
        )


def _lost(epsilon: float, rate: float) -> float:
    """−ln(1 − π·(1 − e^−ε)), without the cancellation if that is nearly 0."""
    gone = -rate * math.expm1(-epsilon)
    return -math.log1p(-gone) if gone <= 0.5 else -math.log((1 - rate) + rate * math.exp(-epsilon))


WAYS: Mapping[Participation, type[Way]] = {Participation.COVER: _Cover, Participation.RELAYED: _Relayed}
