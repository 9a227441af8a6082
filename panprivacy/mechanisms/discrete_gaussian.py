"""Exact sampling from the discrete Gaussian N_Z(0, s²), with integers and fractions only.

Canonne, Kamath & Steinke, *The Discrete Gaussian for Differential Privacy* (2020),
Algorithm 3, upon Algorithms 1 and 2 (`discrete_laplace`). N_Z(0, s²) has Pr[x] proportional to
exp(−x²/(2s²)) on the integers.
Floating point would leave holes in the distribution through which the noiseless value
can be read, so there is none. The running time depends on the noise drawn, and on nothing else.
"""

import math
import random
from fractions import Fraction

from panprivacy import discrete_laplace


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
        candidate = discrete_laplace.sample(Fraction(envelope), random_source)
        distance = abs(candidate) - variance / envelope
        if discrete_laplace.bernoulli_exp(distance**2 / (2 * variance), random_source):
            return candidate
