"""How many dummy reports hide one report more or less in the published number of reports (SAA section 4.6).

A device that does not take part sends a dummy with probability q', a report without information. The
published number is R = S + D, the reports that count and the dummies. Neighbours are *one report added or
removed*: S and S + 1 with the same devices that may send dummies. That also covers a device that takes part
or does not. If it does not, it sends a dummy with probability q'. So R is distributed as a mixture of both
neighbours, and the hockey-stick divergence is convex. The content of reports is not considered here.

S is taken to be known. Its own randomness is not counted on, so the count stays hidden from an observer that
knows all devices that take part but one.
"""

import math

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial_noise import shift_delta
from panprivacy.accounting.interface import require_delta, require_epsilon, smallest_epsilon
from panprivacy.formats.errors import FieldError

LARGEST_DUMMY_RATE = 0.5
"""Beyond it more dummies hide less: if every device sends one, no chance is left."""

TAIL_SHARE = 1e-3
"""Part of δ that is left for more devices taking part than are allowed for."""

_PRECISION = 1e-9


def dummies_delta(
    population: int, sampling_rate: float, dummy_rate: float, epsilon: float, *, tail: float = 1e-12
) -> float:
    """δ at ε of the published number of reports, for every population of at least this size.

    Bound. Fix `population` of the devices that receive the recipe, the protected one among them. At most s of
    the others take part, except with a probability of at most `tail`. The rest are at least n = population −
    1 − s, and each of n sends a dummy with probability q', whatever the others do. So D is Bin(n, q') plus
    something independent of it, which hides no less than Bin(n, q') alone. That is exact
    (`binomial_noise.shift_delta`). The tail is added once.

    Args:
        population: devices that receive the recipe, follow the protocol and can send, at least.
        sampling_rate: q, with which a device takes part.
        dummy_rate: q', with which one that does not sends a dummy.
        tail: above 0.
    """
    require_epsilon(epsilon)
    senders = dummy_senders(population, sampling_rate, tail)
    if senders < 1:
        return 1.0
    return min(1.0, float(shift_delta(senders, dummy_rate, 1 - dummy_rate, epsilon)) + tail)


def dummy_senders(population: int, sampling_rate: float, tail: float) -> int:
    """A lower bound on how many of `population` − 1 devices do not take part, wrong with probability at most
    `tail`.

    Args:
        population: devices that receive the recipe; 0 for fewer than two.
        sampling_rate: q, with which each takes part independently, above 0; 0 for 1 and more.
        tail: above 0 and below 1/2.

    Returns:
        A whole number from 0 to `population` − 1, as exact as `binomial.window`.
    """
    others = population - 1
    if others < 1 or sampling_rate >= 1:
        return 0
    _, most = binomial.window(others, sampling_rate, 1 - sampling_rate, tail)
    return others - most


def dummies_epsilon(population: int, sampling_rate: float, dummy_rate: float, delta: float) -> float:
    """The smallest ε at which the number of reports is hidden with this δ; infinity if there is none.

    Args:
        population, sampling_rate, dummy_rate: as in `dummies_delta`.
        delta: above 0 and below 1.

    Returns:
        An upper bound, from inverting `dummies_delta` with a tail of `TAIL_SHARE`·δ (`smallest_epsilon`
        states how near).

    Raises:
        FieldError: δ is out of range.
    """
    require_delta(delta)
    tail = delta * TAIL_SHARE

    def curve(epsilon: float) -> float:
        return dummies_delta(population, sampling_rate, dummy_rate, epsilon, tail=tail)

    # Without any dummy the smallest count shows itself, at every ε.
    floor = (1 - dummy_rate) ** dummy_senders(population, sampling_rate, tail)
    return math.inf if floor + tail > delta else smallest_epsilon(curve, delta)


def least_dummy_rate(population: int, sampling_rate: float, epsilon: float, delta: float) -> float:
    """The rate q' at which dummies hide one report more or less at (ε, δ): checked when it is stated.

    The least one to a relative 1e-9, if δ falls with the rate up to `LARGEST_DUMMY_RATE`, which was true in
    all computed cases. The guarantee does not rest on that.

    Raises:
        FieldError: ε or δ is out of range; or `population_size`, if that few devices cannot hide it.
    """
    _require(epsilon, delta)

    def holds(rate: float) -> bool:
        return dummies_delta(population, sampling_rate, rate, epsilon, tail=delta * TAIL_SHARE) <= delta

    low, high = 0.0, LARGEST_DUMMY_RATE
    if not holds(high):
        raise FieldError(
            "population_size",
            f"of {population:,} is too small: even a dummy from every second device that does not take part "
            f"would not hide one report at ε = {epsilon:g}, δ = {delta:g}",
        )
    while high - low > high * _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _require(epsilon: float, delta: float) -> None:
    require_epsilon(epsilon)
    require_delta(delta)
    if epsilon == 0:
        raise FieldError("epsilon", "must be above 0: no finite number of dummies hides a report at 0")
