"""Exact sampling from the discrete Laplace distribution, with integers and fractions only.

Canonne, Kamath & Steinke, *The Discrete Gaussian for Differential Privacy* (2020), Algorithms 1 and 2.
Added to a whole number that one neighbour changes by at most 1, noise of scale 1/ε gives ε-differential
privacy (Ghosh, Roughgarden & Sundararajan 2009). Floating point would leave holes in the distribution through
which the noiseless value can be read, so there is none. The running time depends on the noise drawn, and on
nothing else.
"""

import math
import random
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def sample(scale: Fraction, random_source: random.Random) -> int:
    """One draw with Pr[x] proportional to exp(−|x|/scale) on the integers (Algorithm 2).

    Args:
        scale: above 0; `1 / Fraction(epsilon)` of a float is exact.
        random_source: `secrets.SystemRandom()` in real use; seeded in simulations only.

    Raises:
        ValueError: `scale` is not above 0.
    """
    # Algorithm 2 with t/s = scale; every `continue` is its "reject and restart".
    _require_positive(scale)
    while True:
        # U uniform in 0..t − 1, accepted if D ~ Bernoulli(exp(−U/t)) is 1.
        remainder = random_source.randrange(scale.numerator)
        if not _bernoulli_exp(Fraction(remainder, scale.numerator), random_source):
            continue
        # V: how many A ~ Bernoulli(exp(−1)) are 1 before the first 0.
        quotient = 0
        while _bernoulli_exp(Fraction(1), random_source):
            quotient += 1
        # X = U + t·V, and Y = ⌊X/s⌋.
        magnitude = (remainder + scale.numerator * quotient) // scale.denominator
        # B ~ Bernoulli(1/2) is the sign: Z = (1 − 2B)·Y.
        negative = random_source.getrandbits(1) == 1
        if negative and magnitude == 0:  # else 0 would be drawn twice as often
            continue
        return -magnitude if negative else magnitude


def variance(scale: Fraction) -> float:
    """The variance of `sample`: 2a/(1−a)² with a = exp(−1/scale); ValueError unless `scale` is above 0."""
    _require_positive(scale)
    return 1 / (2 * math.sinh(1 / (2 * float(scale))) ** 2)


def log_characteristic(scale: Fraction, angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln E[exp(i·t·x)] = ln((1−a)²/((1−a)² + 2a(1 − cos t))) with a = exp(−1/scale).

    Raises:
        ValueError: `scale` is not above 0.
    """
    _require_positive(scale)
    rate = 1 / float(scale)
    turned = 4 * np.exp(-rate) * np.sin(angles / 2) ** 2
    return np.asarray(-np.log1p(turned / np.expm1(-rate) ** 2))


def log_moment(scale: Fraction, exponent: float) -> float:
    """ln E[exp(exponent·x)] = ln((1−a)²/((1−a·e^exponent)(1−a·e^−exponent))) with a = exp(−1/scale).

    Args:
        exponent: between −1/scale and 1/scale: there the moment exists.

    Raises:
        ValueError: the scale is not above 0, or the exponent outside of its range.
    """
    _require_positive(scale)
    rate = 1 / float(scale)
    if abs(exponent) >= rate:
        raise ValueError(f"exponent must lie between −{rate} and {rate}, not {exponent}")
    return (
        2 * math.log(-math.expm1(-rate))
        - math.log(-math.expm1(exponent - rate))
        - math.log(-math.expm1(-exponent - rate))
    )


def _bernoulli_exp(gamma: Fraction, random_source: random.Random) -> bool:
    """True with probability exp(−gamma), for gamma ≥ 0 (Algorithm 1)."""
    # For γ > 1: ⌊γ⌋ draws of Bernoulli(exp(−1)), until one is 0, then the rest of γ.
    while gamma > 1:
        if not _bernoulli_exp_of_at_most_one(Fraction(1), random_source):
            return False
        gamma -= 1
    return _bernoulli_exp_of_at_most_one(gamma, random_source)


def _bernoulli_exp_of_at_most_one(gamma: Fraction, random_source: random.Random) -> bool:
    """True with probability exp(−gamma), for 0 ≤ gamma ≤ 1, by its alternating series."""
    # K: the first k for which A ~ Bernoulli(γ/k) is 0; 1 if K is odd.
    draws = 1
    while random_source.randrange(gamma.denominator * draws) < gamma.numerator:
        draws += 1
    return draws % 2 == 1


def _require_positive(scale: Fraction) -> None:
    if scale <= 0:
        raise ValueError(f"scale must be above 0, not {scale}")
