"""Exact sampling from the discrete Gaussian N_Z(0, s²), with integers and fractions only.

Canonne, Kamath & Steinke, *The Discrete Gaussian for Differential Privacy* (2020),
Algorithms 1–3. N_Z(0, s²) has Pr[x] proportional to exp(−x²/(2s²)) on the integers.
Floating point would leave holes in the distribution through which the noiseless value
can be read, so there is none. The running time depends on the noise drawn, and on nothing else.
"""

import math
import random
from fractions import Fraction


def sample(scale: Fraction, random_source: random.Random) -> int:
    """One draw from N_Z(0, scale²) (Algorithm 3).

    Args:
        scale: s > 0; `Fraction(s)` of a float s is exact.
        random_source: `secrets.SystemRandom()` on devices; seeded in simulations only.

    Raises:
        ValueError: `scale` is not above 0.
    """
    if scale <= 0:
        raise ValueError(f"scale must be above 0, not {scale}")
    variance = scale**2
    envelope = math.floor(scale) + 1
    while True:
        candidate = _sample_laplace(envelope, random_source)
        if _bernoulli_exp((abs(candidate) - variance / envelope) ** 2 / (2 * variance), random_source):
            return candidate


def _sample_laplace(scale: int, random_source: random.Random) -> int:
    """One draw with Pr[x] proportional to exp(−|x|/scale) on the integers (Algorithm 2)."""
    while True:
        remainder = random_source.randrange(scale)
        if not _bernoulli_exp(Fraction(remainder, scale), random_source):
            continue
        quotient = 0
        while _bernoulli_exp(Fraction(1), random_source):
            quotient += 1
        magnitude = remainder + scale * quotient
        negative = random_source.getrandbits(1) == 1
        if negative and magnitude == 0:  # else 0 would be drawn twice as often
            continue
        return -magnitude if negative else magnitude


def _bernoulli_exp(gamma: Fraction, random_source: random.Random) -> bool:
    """True with probability exp(−gamma), for gamma ≥ 0 (Algorithm 1)."""
    while gamma > 1:
        if not _bernoulli_exp_of_at_most_one(Fraction(1), random_source):
            return False
        gamma -= 1
    return _bernoulli_exp_of_at_most_one(gamma, random_source)


def _bernoulli_exp_of_at_most_one(gamma: Fraction, random_source: random.Random) -> bool:
    """True with probability exp(−gamma), for 0 ≤ gamma ≤ 1, by its alternating series."""
    draws = 1
    while random_source.randrange(gamma.denominator * draws) < gamma.numerator:
        draws += 1
    return draws % 2 == 1
