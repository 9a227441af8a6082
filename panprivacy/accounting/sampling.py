"""What not knowing which devices took part adds: amplification by Poisson sampling."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

from panprivacy.accounting import binomial
from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import LARGEST_EPSILON, LARGEST_N, NestedEvent, require_epsilon
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampled_assignments import LESS_WORK
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described

_HALF_EDGES = (0.75, 1.5, 2.5, 3.5, 4.75, 6.25, 9, 14)
_EDGES = (*(-edge for edge in reversed(_HALF_EDGES)), 0, *_HALF_EDGES)
"""The possible ends of ranges of the number of reports, in standard deviations from its mean."""

_SAME_CURVE = 3.5
"""From this number of standard deviations on, up to twice as many reports are treated as fewer: they are
rare."""

_NEGLIGIBLE_SHARE = 1e-9
"""Part of δ that is left to ranges whose curves are not computed."""

_DOTS_APART = 1 / 4
_FEW = 1_000  # devices up to which they are computed twice as close together
_NARROW = 1.03
"""Neighbouring ranges are merged if their ends then differ by no more than this factor."""


def amplified_epsilon(epsilon: float, sampling_rate: float) -> float:
    """ε' = ln(1 + q·(e^ε − 1)): of an (ε, δ)-private event that a device takes part in with probability q.

    The amplified guarantee has δ' = q·δ: to promise δ', take ε at the base's δ'/q (Balle, Barthe &
    Gaboardi 2018, Theorem 8). This needs the observer's view without the device to be (ε, δ)-close to the
    view with it, as under adding and removing. Sampling does not hinder an observer that sees that a device
    is missing.
    """
    require_epsilon(epsilon)
    if epsilon > 1:
        return epsilon + math.log(sampling_rate + (1 - sampling_rate) * math.exp(-epsilon))
    return math.log1p(sampling_rate * math.expm1(epsilon))


@dataclass(frozen=True, kw_only=True)
class Sampling(NestedEvent):
    """An event over the devices that take part, each with probability q: (sum, count) is released, not which.

    Holds for any event over n reports under replacement, whose reports are independent of each other.

    Derivation. Let c be the number of reports. Taking part does not depend on data, so c has the same
    distribution for both neighbours, and δ is the mean of its values given c. Given c, the protected device
    is among the c with probability w = c/n, because all n devices are alike in this. So the outputs are
    distributed as (1 − w)·R + w·P' and (1 − w)·R + w·Q': R without it, P' and Q' with it and its two values.
    Any two of R, P', Q' are mixtures, over which other devices take part, of sums over c reports. These sums
    differ in one replaced report (for R: a random other device takes its place). So δ_c(ε) bounds the
    divergence between them, and, by convexity, that of P' from any mixture of R and Q'. Advanced joint
    convexity (Balle, Barthe & Gaboardi 2018, Theorem 2) gives δ' = w·δ_c(ε) at ε' = ln(1 + w·(e^ε − 1)).

    δ_c falls with c, because a further report is independent noise (post-processing). So, for all c in a
    range c_lo..c_hi and w = c_hi/n, δ' is at most w·δ_{c_lo}(ln(1 + (e^ε' − 1)/w)). Summed over ranges:

        δ'(ε') ≤ Σ Pr[c_lo ≤ c ≤ c_hi]·w·δ_{c_lo}(ln(1 + (e^ε' − 1)/w)).

    Curves are what takes time. Numbers of reports that are far above the mean share one, that of the fewest
    of them and of the numbers below them. Ranges so rare that a δ of 1 would not matter get none.

    That convexity pairs the worst R with the worst others, which need not go together. A sum of randomized
    bits has a closer bound of its own (`RandomizedResponseSum.proved_delta`), which is taken instead.

    Attributes:
        event: one over devices under replacement; its own number of them plays no role.
        n: devices, the one protected included, that may take part.
        sampling_rate: q.
    """

    kind: ClassVar[str] = "sampled"
    quick = False

    n: int = described(
        label="Devices (n)", help="Number of devices that may take part.", minimum=1, maximum=LARGEST_N
    )
    sampling_rate: float = described(
        label="Sampling rate", help="Probability with which each takes part.", minimum=1e-6, maximum=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.event.over(1)
        if self.event.neighbours is not Relation.REPLACE:
            raise FieldError("event", "must be one under replacement")
        if getattr(self.event, "sampling_rate", 1.0) != 1.0:
            raise FieldError("event", "must not be sampled already")

    @property
    def _bits(self) -> RandomizedResponseSum | None:
        """The event with its sampling, if it is a sum of bits."""
        if not isinstance(self.event, RandomizedResponseSum):
            return None
        return replace(self.event, n=self.n, sampling_rate=self.sampling_rate)

    @property
    def method(self) -> str:
        if (bits := self._bits) is not None:
            return bits.proved_method
        return (
            "advanced joint convexity (Balle, Barthe & Gaboardi 2018, Theorem 2) for each number of reports, "
            f"over: {self.event.method}"
        )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if self.sampling_rate == 1:
            return self.event.over(self.n).delta(epsilon)
        if (bits := self._bits) is not None:
            return bits.proved_delta(epsilon)
        return self._by_convexity(epsilon)

    def delta_bound(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if self.sampling_rate == 1:
            return self.event.over(self.n).delta_bound(epsilon)
        if (bits := self._bits) is not None:
            return bits.proved_delta(epsilon, LESS_WORK)
        return self._by_convexity(epsilon)

    @property
    def dots_apart(self) -> float:
        """The bound over all assignments takes a tenth of a second. Some 60 points cost 0.1% of ε."""
        if self._bits is None or self.n <= LARGEST_ENUMERATED:
            return 0.0
        return _DOTS_APART / 2 if self.n <= _FEW else _DOTS_APART

    def _by_convexity(self, epsilon: float) -> float:
        # Pr[c_lo ≤ c ≤ c_hi]·w of each range, from the largest down, so that the rarest need no curve.
        found = 0.0
        shares = sorted(
            (probability * high / self.n, curve, high / self.n)
            for probability, curve, high in _ranges(self.n, self.sampling_rate)
        )
        rests = list(accumulate(share for share, *_ in shares))
        for (share, curve, weight), rest in zip(reversed(shares), reversed(rests), strict=True):
            # No δ exceeds 1, so that what is as rare as this needs no curve.
            if rest <= _NEGLIGIBLE_SHARE * found:
                found += rest
                break
            # δ_{c_lo} at ln(1 + (e^ε' − 1)/w).
            found += share * self.event.over(curve).delta_roughly(_unamplified(epsilon, weight))
        return min(1.0, found * (1 + 1e-13))

    def epsilon(self, delta: float) -> float:
        bits = self._bits
        return super().epsilon(delta) if bits is None else bits.proved_epsilon(delta)


def _unamplified(epsilon: float, weight: float) -> float:
    """Inverse of `amplified_epsilon`, rounded down."""
    if weight == 1:
        return epsilon
    if epsilon > 1:
        found = epsilon + math.log1p((weight - 1) * math.exp(-epsilon)) - math.log(weight)
    else:
        found = math.log1p(math.expm1(epsilon) / weight)
    # Beyond the largest ε a curve is taken for what it is there.
    return min(LARGEST_EPSILON, max(0.0, found * (1 - 4e-16)))


@lru_cache(maxsize=256)
def _ranges(n: int, rate: float) -> tuple[tuple[float, int, int], ...]:
    """Ranges that cover 1..n: a bound on Pr[c_lo ≤ c ≤ c_hi] for c binomial; c_lo or less, and c_hi.

    c = 0 is left out: without a report nothing is lost.
    """
    mean, deviation = n * rate, math.sqrt(n * rate * (1 - rate))
    ends = sorted({min(n, max(1, round(mean + edge * deviation))) for edge in _EDGES} | {n})
    ranges, low, curve = [], 1, 1
    for high, following in zip(ends, [*ends[1:], math.inf], strict=True):
        if following <= _NARROW * low:
            continue
        # A difference of tails on the side where both are small, to keep its digits.
        if high < mean:
            within, beyond = _tail_below(high, n, rate), _tail_below(low - 1, n, rate)
        else:
            within, beyond = _tail_below(n - low, n, 1 - rate), _tail_below(n - high - 1, n, 1 - rate)
        if low <= mean + _SAME_CURVE * deviation or low > 2 * curve:
            curve = low
        ranges.append((min(1.0, within[1] - beyond[0]), curve, high))
        low = high + 1
    return tuple(ranges)


def _tail_below(c: int, n: int, rate: float) -> tuple[float, float]:
    """Bounds from below and above on Pr[Bin(n, q) ≤ c]."""
    if c < 0:
        return 0.0, 0.0
    probability = float(binomial.lower_tail(c, n, rate, 1 - rate))
    # A probability below 1e-290, whose error is not known, is far below everything that counts.
    error = float(binomial.relative_error(c, n, rate))
    return probability * max(0.0, 1 - error), probability * (1 + error) + 1e-290
