"""4-wise independent hashing: random cubic polynomials over the field of 2^61 − 1 (Carter & Wegman 1981)."""

import random

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams import draws

PRIME_BITS = 61
PRIME = 2**PRIME_BITS - 1
COEFFICIENTS = 4

_PRIME = np.uint64(PRIME)
_LOW_31 = np.uint64(2**31 - 1)
_LOW_30 = np.uint64(2**30 - 1)


def draw_polynomial(random_source: random.Random) -> NDArray[np.uint64]:
    """Four coefficients, the highest first. The values at any four points are independent and uniform."""
    return draws.below(COEFFICIENTS, PRIME, random_source)


def evaluate(polynomial: NDArray[np.uint64], points: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The polynomial at every point, below PRIME.

    Args:
        points: below PRIME.
    """
    values = np.full(points.shape, polynomial[0], dtype=np.uint64)
    for coefficient in polynomial[1:]:
        values = _reduced(_product(values, points) + coefficient)
    return values


def _product(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """a·b modulo PRIME, not fully reduced: below 2^63, so that a coefficient can be added.

    With a = a₁·2³¹ + a₀ and b likewise, and as 2⁶² leaves 2 and 2⁶¹ leaves 1.
    """
    high_a, low_a = a >> np.uint64(31), a & _LOW_31
    high_b, low_b = b >> np.uint64(31), b & _LOW_31
    middle = high_a * low_b + low_a * high_b  # below 2^62
    outer = _folded(low_a * low_b) + np.uint64(2) * high_a * high_b
    product: NDArray[np.uint64] = outer + (middle >> np.uint64(30)) + ((middle & _LOW_30) << np.uint64(31))
    return product


def _folded(a: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (a & _PRIME) + (a >> np.uint64(PRIME_BITS))


def _reduced(a: NDArray[np.uint64]) -> NDArray[np.uint64]:
    folded = _folded(a)
    return np.where(folded >= _PRIME, folded - _PRIME, folded)
