"""Sampling with a probability that depends on data: then the number of reports reveals something, too."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial import Numbers
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import LARGEST_N, NestedEvent, PrivacyEvent, require_epsilon
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described

_OUTSIDE = 1e-40
_MOST_RANGES = 8  # of the number of devices that the observer is not given
_MOST_UNKNOWN = 10**8
"""Most devices that the observer is not given; of the rest it is given all. The arrays grow as their root."""

_STEP, _SMALLEST, _LARGEST = math.log(1.06), 1e-3, 600.0
"""Points at which the curve of a full cohort is computed: 6% apart, and 0."""


@dataclass(frozen=True, kw_only=True)
class ImportanceSampling(NestedEvent):
    """An event over the devices that take part, with rates by value: (sum, count) is released, not which
    devices.

    A device with value x takes part with a probability π_x between `lowest_rate` l and `highest_rate` h
    (importance sampling, SAA section 3.1). Its report is randomized on its own. Less than a full cohort of
    `event` releases nothing but its number. Holds for any event under replacement over independent reports.

    Derivation. Every π between l and h is λ·s + (1 − λ)·t with λ = 1 − h + l, s = l/λ, and a t from 0 to 1.
    So with probability λ, whatever its value, a device tosses a coin of the same bias s, and otherwise one of
    its own. Give the observer which devices toss coins of their own, and how these fall. Of the n − 1 others,
    J ~ Bin(n − 1, λ) are left. F ~ Bin(J, s) of these take part, all equally likely. With the protected
    device k take part, in addition to those given. Let f be the distribution of F. Let R_k be the sums if
    none of the k is the protected device. Let P_k and Q_k be those if it is, with values x and y. The
    releases are

        P = Σ_k (1 − π_x)·f(k)·R_k + π_x·f(k − 1)·P_k,   Q = Σ_k (1 − π_y)·f(k)·R_k + π_y·f(k − 1)·Q_k.

    Any two of R_k, P_k, Q_k are the same mixture of sums that differ in one replaced report (in R_k another
    of the J stands in). So δ_B(t), the curve of `event`, bounds the divergence between them and between their
    mixtures. Further reports are noise. In the divergence of P from Q at ε, the factor of R_k is

        r = ((1 − π_x) − e^ε·(1 − π_y))·f(k).

    Collect what is positive, with sum g, and what is negative, with sum T: both are multiples of mixtures. So
    outcomes with k reports add at most g·δ_B(ln(T/g)) if T ≥ g, otherwise g − T + T·δ_B(0). This is advanced
    joint convexity (Balle, Barthe & Gaboardi 2018, Theorem 2) for different rates. Divergences are convex in
    P and in Q, so rates of l and h for x and for y are the worst. Fewer coins are worse: ranges of J are
    bounded by their least. δ_B is convex in e^t, so it is interpolated linearly in e^t.

    If h = 1, λ·s·(1 − s) = 0: no device's coin hides the number of reports. Indeed, if all others take part
    for certain, it shows whether one more does. Then δ is at least 1 − l, whatever ε.

    Attributes:
        event: one over a full cohort of reports, under replacement.
        n: devices, the one protected included, that may take part.
        lowest_rate, highest_rate: l and h; l ≤ h.
    """

    kind: ClassVar[str] = "importance_sampled"
    quick = False
    dots_apart = 0.25
    fixed_devices = True

    n: int = described(
        label="Devices (n)", help="Number of devices that may take part.", minimum=1, maximum=LARGEST_N
    )
    lowest_rate: float = described(
        label="Lowest rate", help="Probability of taking part, at least.", minimum=1e-9, maximum=1
    )
    highest_rate: float = described(
        label="Highest rate", help="Probability of taking part, at most.", minimum=1e-9, maximum=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.event.neighbours is not Relation.REPLACE:
            raise FieldError("event", "must be one under replacement")
        if self.lowest_rate > self.highest_rate:
            raise FieldError("lowest_rate", f"must be at most the highest rate, {self.highest_rate:g}")

    @property
    def largest_loss(self) -> float:
        """Of one report that is, or is not, seen."""
        if self.highest_rate == 1:
            return math.inf
        seen = math.log(self.highest_rate / self.lowest_rate) + self.event.largest_loss
        return max(seen, math.log((1 - self.lowest_rate) / (1 - self.highest_rate)))

    @property
    def size_fields(self) -> None:
        """None: its cohort is part of it."""

    @property
    def method(self) -> str:
        return (
            "advanced joint convexity (Balle, Barthe & Gaboardi 2018, Theorem 2) for each number of reports, "
            f"if values decide who takes part, with rates of {self.lowest_rate:.4g} to "
            f"{self.highest_rate:.4g}, over: {self.event.method}"
        )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.largest_loss:
            return 0.0
        rates = self.lowest_rate, self.highest_rate
        found = max(self._between(x, y, epsilon) for x in set(rates) for y in set(rates))
        return min(1.0, found * (1 + 1e-12) + 4 * _OUTSIDE)

    def _between(self, here: float, there: float, epsilon: float) -> float:
        """A bound on the divergence of P from Q, for π_x = `here` and π_y = `there`."""
        # λ, s, and the mean over ranges of J.
        unknown = 1 - self.highest_rate + self.lowest_rate  # λ
        bias = min(1.0, self.lowest_rate / unknown)
        return sum(
            probability * self._with_coins(coins, bias, here, there, epsilon)
            for probability, coins in _ranges(self.n - 1, unknown)
        )

    def _with_coins(self, coins: int, bias: float, here: float, there: float, epsilon: float) -> float:
        """The same if this number of others toss a coin of this bias, and the observer is given all of the
        rest."""
        # f(k) and f(k − 1) for every number of reports k.
        growth = math.exp(epsilon)
        without, with_it, error = _numbers(coins, bias)
        # g and T: what is positive and what is negative in the divergence at k.
        absent = (1 - here) - growth * (1 - there)
        gain = here * with_it + max(absent, 0.0) * without
        loss = growth * there * with_it + max(-absent, 0.0) * without
        # T ≤ g: g − T + T·δ_B(0).
        certain = loss <= gain
        found = float((gain - loss)[certain].sum()) + float(loss[certain].sum()) * _curve(self.event, -1)[0]
        found += 2 * error * float((gain + loss)[certain].sum())
        # T > g: g·δ_B(ln(T/g)).
        gain, loss = gain[~certain], loss[~certain]
        matters = gain > 0
        gain, loss = gain[matters], loss[matters]
        ratio = loss / gain * (1 - 2 * error)
        return found + float((gain * (1 + error)) @ _interpolated(self.event, ratio))


def _interpolated(event: PrivacyEvent, ratio: Numbers) -> Numbers:
    """δ_B(ln ratio), from above, by values at points and linear in the ratio between them."""
    if not len(ratio):
        return np.zeros(0)
    exponent = np.log(np.maximum(ratio, 1.0))
    with np.errstate(divide="ignore"):
        place = np.floor(np.log(np.maximum(exponent, 1e-300) / _SMALLEST) / _STEP)
    last = math.floor(math.log(_LARGEST / _SMALLEST) / _STEP)
    place = np.clip(place, -1, last).astype(np.int64)
    points, which = np.unique(place, return_inverse=True)
    lower = np.array([_curve(event, int(point)) for point in points])
    upper = np.array([_curve(event, min(int(point) + 1, last)) for point in points])
    (height, start), (next_height, end) = lower[which].T, upper[which].T
    width = np.maximum(end - start, 1e-300)
    share = np.clip((np.maximum(ratio, 1.0) - start) / width, 0.0, 1.0)
    return np.asarray(height + (next_height - height) * share)


@lru_cache(maxsize=65_536)
def _curve(event: PrivacyEvent, point: int) -> tuple[float, float]:
    """δ_B(t) and e^t at one of the points; t = 0 is at −1."""
    at = 0.0 if point < 0 else _SMALLEST * math.exp(point * _STEP)
    return event.delta_roughly(at), math.exp(at)


@lru_cache(maxsize=256)
def _numbers(coins: int, bias: float) -> tuple[Numbers, Numbers, float]:
    """f(k), f(k − 1) for all k that matter, and a bound on the relative errors of both."""
    if bias == 1.0 or coins == 0:
        return np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0
    low, high = binomial.window(coins, bias, 1 - bias, _OUTSIDE)
    k = np.arange(low, high + 2, dtype=float)
    chance = binomial.probability(k, coins, bias, 1 - bias)
    before = binomial.probability(k - 1, coins, bias, 1 - bias)
    before[0] = 0.0 if low == 0 else before[0]
    error = float(np.max(binomial.relative_error(np.array([low, high + 1]), coins, bias)))
    return chance, before, error


@lru_cache(maxsize=256)
def _ranges(others: int, unknown: float) -> tuple[tuple[float, int], ...]:
    """Ranges that cover 0..n − 1: a bound on the probability that J lies there, and the least J."""
    return tuple(_every_range(others, unknown))


def _every_range(others: int, unknown: float) -> Iterator[tuple[float, int]]:
    if others == 0 or unknown >= 1:
        yield 1.0, min(others, _MOST_UNKNOWN)
        return
    low, high = binomial.window(others, unknown, 1 - unknown, _OUTSIDE)
    yield _OUTSIDE, 0
    width = -(-(high - low + 1) // _MOST_RANGES)
    for first in range(low, high + 1, width):
        last = min(first + width - 1, high)
        numbers = first, last
        if width == 1:
            mass = float(binomial.probability(first, others, unknown, 1 - unknown))
        elif last < others * unknown:
            mass = float(binomial.lower_tail(last, others, unknown, 1 - unknown))
            mass -= float(binomial.lower_tail(first - 1, others, unknown, 1 - unknown))
        else:
            mass = float(binomial.upper_tail(first, others, unknown, 1 - unknown))
            mass -= float(binomial.upper_tail(last + 1, others, unknown, 1 - unknown))
        error = max(float(binomial.relative_error(number, others, unknown)) for number in numbers)
        yield min(1.0, mass + error + 1e-300) if width > 1 else mass * (1 + error), min(first, _MOST_UNKNOWN)
