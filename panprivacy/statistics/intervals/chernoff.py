"""Bounds of a mean and of a size that hold with a stated probability, however small: Chernoff's.

They are wider than exact ones, are proved for every number of devices, and are computed without tables: what
a decision rests on. Source: Hoeffding, "Probability inequalities for sums of bounded random variables"
(1963), theorem 1, equation 2.1.
"""

import math

_STEPS = 100
"""Of a bisection: more than a number of 53 bits needs."""


def divergence(p: float, q: float) -> float:
    """KL(p‖q) of two coins, in nats.

    Args:
        p, q: probabilities, from 0 to 1.

    Returns:
        At least 0 except for rounding; infinity if p has what q has not. The exponent of Hoeffding 1963,
        equation 2.1.
    """
    first = 0.0 if p == 0 else math.inf if q == 0 else p * math.log(p / q)
    second = 0.0 if p == 1 else math.inf if q == 1 else (1 - p) * (math.log1p(-p) - math.log1p(-q))
    return first + second


def least_mean(total: float, n: int, failure: float) -> float:
    """A lower bound on the mean of n independent bits, per bit, wrong with probability at most `failure`.

    Args:
        total: their sum, from 0 to n ≥ 1. The bits may have different means.
        failure: above 0 and below 1.

    Returns:
        From 0 to total/n: the mean m below it at which n·KL(total/n‖m) = ln(1/`failure`) (Hoeffding 1963,
        theorem 1), to the precision of doubles.
    """
    mean, room = total / n, -math.log(failure) / n
    low, high = 0.0, mean
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(mean, middle) >= room else (low, middle)
    return low


def largest_mean(total: float, n: int, failure: float) -> float:
    """An upper bound on the mean of n independent bits, per bit, wrong with probability at most `failure`.

    Arguments as in `least_mean`, of the bits' opposites. From total/n to 1.
    """
    return 1 - least_mean(n - total, n, failure)


def least_size(sampled: float, rate: float, failure: float) -> float:
    """A lower bound on the number of devices, wrong with probability at most `failure`, if at least `sampled`
    of them were drawn.

    Args:
        sampled: devices that were drawn, at least; 0 for what is less.
        rate: with which each was drawn independently, above 0 and at most 1.
        failure: above 0 and below 1.

    Returns:
        Devices, not rounded, from `sampled` to `sampled`/`rate`: the smallest n with
        n·KL(`sampled`/n‖`rate`) ≤ ln(1/`failure`) (Hoeffding 1963, theorem 1), to the precision of doubles.
    """
    if rate == 1 or sampled <= 0:
        return max(0.0, sampled)
    room = -math.log(failure)
    low, high = sampled, sampled / rate
    if low * divergence(1.0, rate) <= room:
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        # Falls with the size.
        low, high = (middle, high) if middle * divergence(sampled / middle, rate) >= room else (low, middle)
    return low


def largest_size(sampled: float, rate: float, failure: float) -> float:
    """An upper bound on the number of devices, wrong with probability at most `failure`, if at most `sampled`
    of them were drawn.

    Args:
        sampled: devices that were drawn, at most, ≥ 0.
        rate: with which each was drawn independently, above 0 and at most 1.
        failure: above 0 and below 1.

    Returns:
        Devices, not rounded, at least `sampled`/`rate`: the largest n with
        n·KL(`sampled`/n‖`rate`) ≤ ln(1/`failure`) (Hoeffding 1963, theorem 1), to the precision of doubles.
    """
    if rate == 1:
        return sampled
    room = -math.log(failure)
    low, step = sampled / rate, 1.0
    while _unlikely(sampled, low + step, rate) < room:
        step *= 2
    high = low + step
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _unlikely(sampled, middle, rate) >= room else (middle, high)
    return high


def _unlikely(sampled: float, size: float, rate: float) -> float:
    """Minus the logarithm of a bound on the probability that this few of the size were drawn."""
    return size * divergence(sampled / size, rate)
