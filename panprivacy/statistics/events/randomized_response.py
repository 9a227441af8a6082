"""Randomized response on an encrypted bit, and its debiasing.

LPP Definition 2.11 and Observation 5: keep the bit with probability (e^ε − 1)/(e^ε + 1), otherwise
send a fair bit. LPP Algorithms 5 and 6 print this coin inverted (docs/errata.md).
"""

import decimal
import math
import random
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.intervals.estimate import Interval, normal_factor
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, ends, intervals
from panprivacy.statistics.intervals.release_rule import ReleaseRule

_COIN_BITS = 64
_COIN_SIDES: int = 2**_COIN_BITS

_TOSS = np.dtype([("coin", "<u8"), ("word", "<u4")])
"""Of many tosses, one: the coin, and a word whose highest bit is the fair one."""


class RandomizedBit(Protocol):
    """A bit of a report, and how its number among all devices is estimated from the reported ones."""

    @property
    def absent(self) -> float:
        """The probability that a 0 is reported as 1."""

    @property
    def present(self) -> float:
        """The probability that a 1 is reported as 1, above `absent`."""

    def debiased(self, total: int, reports: int) -> float:
        """The unbiased estimate of Σ bits from the sum of `reports` reported bits."""

    def total_of(self, debiased: float, reports: int) -> int:
        """The total that was debiased to this."""


class RandomizedResponse:
    """The coin for one ε, tossed with 64 random bits compared to an integer threshold.

    The probability of randomizing is 2/(e^ε + 1) rounded *up* to a multiple of 2^−64. So the coin is
    ε'-private with ε' ≤ ε and ε − ε' ≤ 2^−64·((e^ε + 1)/2 + 1), which is 1.4e-11 at ε = 20. Debiasing uses
    the rounded probability and is therefore exactly unbiased.
    """

    def __init__(self, epsilon: float) -> None:
        """Raises FieldError for an ε that is not above 0 or too small for the coin (below about 1e-19)."""
        if not (epsilon > 0 and math.isfinite(epsilon)):
            raise FieldError("epsilon", f"must be a number above 0, not {epsilon!r}")
        with decimal.localcontext(prec=100):
            exact = 2 * _COIN_SIDES / (decimal.Decimal(epsilon).exp() + 1)
            self._randomized_sides = int(exact.to_integral_value(decimal.ROUND_CEILING))
        if self._randomized_sides >= _COIN_SIDES:
            raise FieldError("epsilon", f"is too small for a coin of {_COIN_BITS} bits: {epsilon!r}")

    @property
    def keep_probability(self) -> float:
        """(e^ε − 1)/(e^ε + 1), rounded: 1 − 2·flip_probability."""
        return (_COIN_SIDES - self._randomized_sides) / _COIN_SIDES

    @property
    def flip_probability(self) -> float:
        """1/(e^ε + 1), rounded: the probability that the response differs from the bit."""
        return self._randomized_sides / (2 * _COIN_SIDES)

    @property
    def variance(self) -> float:
        """Variance that one response adds to a debiased sum: e^ε/(e^ε − 1)²."""
        return self.flip_probability * (1 - self.flip_probability) / self.keep_probability**2

    @property
    def absent(self) -> float:
        """See `RandomizedBit`."""
        return self.flip_probability

    @property
    def present(self) -> float:
        """See `RandomizedBit`."""
        return 1 - self.flip_probability

    def respond(self, bit: int, random_source: random.Random) -> int:
        """The response to a bit (0 or 1) in the clear."""
        keep, fair_bit = self._toss(random_source)
        return bit if keep else fair_bit

    def respond_one_hot(
        self, length: int, place: int | None, random_source: random.Random
    ) -> tuple[int, ...]:
        """The responses to many bits in the clear; at most one of them is 1.

        All tosses are drawn at once: one request to the operating system for each would take most of a
        report's time.

        Args:
            length: number of bits, at least 1.
            place: of the 1, from 0 to length − 1; None if all are 0.
            random_source: asked once, for 96 bits a toss, whatever is tossed.
        """
        size = _TOSS.itemsize * length
        drawn = np.frombuffer(random_source.getrandbits(8 * size).to_bytes(size, "little"), _TOSS)
        bits = np.zeros(length, np.uint32)
        bits[place or 0] = place is not None  # the same steps if there is none
        randomized = drawn["coin"] < np.uint64(self._randomized_sides)
        return tuple(np.where(randomized, drawn["word"] >> 31, bits).tolist())

    def respond_encrypted(
        self,
        public_key: PublicKey,
        bit: Ciphertext,
        rerandomizations: int,
        random_source: random.Random,
        *,
        blank: bool = False,
    ) -> Ciphertext:
        """The response to an encrypted bit: Φ(bit), or an encryption of a fair bit.

        Args:
            blank: respond to a 0 in place of the bit, in the same steps.
            bit: an encryption of 0 or 1 that was rerandomized `rerandomizations` − 1 times.
            rerandomizations: T + 1, the number of rerandomizations on either branch.
        """
        # LPP Algorithm 3, lines 12 to 14: r and r′.
        keep, fair_bit = self._toss(random_source)
        # Lines 15 to 22: Φ(c) if r = 1, else Φᵀ⁺¹ of an encryption of the fair bit. The paper prints r′ = 1
        # as Enc(0); the distribution is the same.
        return public_key.replace_or_rerandomize(
            blank or not keep,
            0 if keep else fair_bit,
            bit,
            random_source,
            rerandomizations=rerandomizations,
        )

    def debiased(self, total: int, reports: int) -> float:
        """The unbiased estimate of Σ bits from the sum of `reports` responses (LPP Theorem 6)."""
        return (total - reports * self.flip_probability) / self.keep_probability

    def total_of(self, debiased: float, reports: int) -> int:
        """The total that was debiased to this."""
        return round(debiased * self.keep_probability + reports * self.flip_probability)

    def _toss(self, random_source: random.Random) -> tuple[bool, int]:
        # Always make both draws: the amount of randomness does not depend on the coin.
        keep = random_source.getrandbits(_COIN_BITS) >= self._randomized_sides
        return keep, random_source.getrandbits(1)


def bits_intervals(
    response: RandomizedBit,
    ones: Sequence[int],
    reports: int,
    sampling_rate: float,
    rule: ReleaseRule,
    coins: int = 1,
    together: int | None = None,
) -> tuple[Interval, ...]:
    """For several numbers of devices together, by tests, from the sums of `reports` responses.

    Args:
        rule, coins: see RandomizedBits.
        together: as in `exact.intervals`.
    """
    most = reports / sampling_rate
    bits = RandomizedBits(reports, response.absent, response.present, sampling_rate, coins, rule)
    found = intervals(bits, ones, together)
    possible = [
        min(max(response.debiased(total, reports * coins) / sampling_rate, 0.0), most) for total in ones
    ]
    return tuple(interval.reaching(possible) for interval in found)


def bits_interval_at(
    level: float,
    response: RandomizedBit,
    values: Sequence[float],
    reports: int,
    sampling_rate: float,
    rule: ReleaseRule,
    coins: int = 1,
    together: int | None = None,
) -> Interval:
    """The same at one level, for estimates of numbers of devices."""
    most = reports / sampling_rate
    bits = RandomizedBits(reports, response.absent, response.present, sampling_rate, coins, rule)
    ones = [response.total_of(value * sampling_rate, reports * coins) for value in values]
    low, high = ends(bits, ones, (1 - level) / (together or len(values)))
    found = Interval(level, tuple(map(float, low)), tuple(map(float, high)))
    return found.reaching([min(max(value, 0.0), most) for value in values])


def bits_expected_margin(
    response: RandomizedBit,
    population: int,
    sampling_rate: float,
    failure_probability: float,
    *,
    rule: ReleaseRule,
    coins: int = 1,
    devices: float | None = None,
) -> float:
    """How far the interval by exact tests reaches from the estimate if every device has the bit, about.

    It solves (E − estimate)² = z²·Var(E) for E, with a variance that grows with E by (1 − q)/q for each
    device, and by more if a 1 varies more than a 0 (Wilson 1927). It adds half
    of what one response is worth. The exact interval is that of what comes
    in.

    Args:
        rule, coins: see RandomizedBits.
        devices: those that have the bit, if not every device.
    """
    factor = normal_factor(failure_probability)
    having = population if devices is None else devices
    error = expected_bits_error(response, population, sampling_rate, rule=rule, coins=coins, devices=having)
    zero, one = _variances(response)
    growth = factor**2 * ((1 - sampling_rate) + (one - zero)) / sampling_rate / 2
    half_step = 1 / (2 * (response.present - response.absent) * sampling_rate)
    return growth + math.hypot(factor * error, growth) + half_step


def _variances(response: RandomizedBit) -> tuple[float, float]:
    """Variance that a reported 0, and a reported 1, adds to a debiased sum."""
    gain = response.present - response.absent
    zero, one = (rate * (1 - rate) / gain**2 for rate in (response.absent, response.present))
    return zero, one


def bits_standard_error(
    response: RandomizedBit, estimate: float, reports: float, sampling_rate: float
) -> float:
    """Standard error of a number of devices scaled up by 1/sampling_rate.

    Randomization adds to the variance, for each report, p(1 − p)/(p − p')²/q² if its bit is 1, and the same
    of p' if it is 0 (`present`, `absent`; e^ε/(e^ε − 1)² for both in randomized response); that each device
    took part with probability q adds estimate·(1 − q)/q (a negative estimate counts as 0).
    """
    zero, one = _variances(response)
    having = min(max(estimate, 0.0) * sampling_rate, reports)
    randomization = (reports * zero + having * (one - zero)) / sampling_rate**2
    sampling = max(estimate, 0.0) * (1 - sampling_rate) / sampling_rate
    return math.sqrt(randomization + sampling)


def expected_bits_error(
    response: RandomizedBit,
    population: float,
    sampling_rate: float,
    *,
    rule: ReleaseRule,
    coins: int = 1,
    devices: float,
) -> float:
    """The same in advance of a collection, with the noise in the number of reports, which have `coins` bits
    each.

    Args:
        population: all devices; `devices` of them have a bit that is counted.
        rule, coins: see RandomizedBits.
    """
    bits = population * rule.reporting_rate * coins
    noise = coins * response.absent * rule.noise_deviation
    return math.hypot(
        bits_standard_error(response, devices, bits, sampling_rate),
        noise / ((response.present - response.absent) * sampling_rate),
    )


def bits_standard_error_note(sampling_rate: float) -> str:
    """What `bits_standard_error` includes, for people."""
    if sampling_rate == 1:
        return "Includes randomized response; every device was asked to take part."
    return (
        "Includes randomized response and the random choice of participating devices, "
        "the latter computed from the estimate."
    )
