"""A public random rotation, which spreads the length of any fixed vector evenly over the coordinates."""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_DOMAIN = b"panprivacy rotation 1"


class Rotation:
    """x ↦ H·diag(±1)·(0, x, 0, …)/√D, filled up to D = 2^m coordinates, H the Hadamard matrix.

    It keeps lengths and angles. Place 0 stays free: what is added to all rotated coordinates alike, e.g. an
    offset, turns back to this place and to no other.

    Over random signs, each coordinate of a rotated x is a sum of independent terms ±x_i/√D, so by Hoeffding
    (1963, Theorem 2) it is above c·‖x‖₂/√D in magnitude with probability at most 2·exp(−c²/2).

    Attributes:
        dimension: d, coordinates of a vector.
        padded: D, the smallest power of two above d: coordinates of a rotated one.
    """

    def __init__(self, dimension: int, seed: int) -> None:
        """
        Args:
            dimension: at least 1.
            seed: of the signs, from 0, below 2^64: public, and chosen independently of the values.
        """
        self.dimension = dimension
        self.padded = padded_length(dimension)
        drawn = hashlib.shake_256(_DOMAIN + seed.to_bytes(8, "big")).digest(-(-dimension // 8))
        bits = np.unpackbits(np.frombuffer(drawn, np.uint8))[:dimension]
        self._signs = 1.0 - 2.0 * bits.astype(np.float64)

    def rotated(self, vector: Sequence[float] | Vector) -> Vector:
        """D coordinates of a vector of d."""
        filled = np.zeros(self.padded)
        filled[1 : self.dimension + 1] = self._signs * np.asarray(vector, np.float64)
        return _hadamard(filled) / math.sqrt(self.padded)

    def turned_back(self, rotated: Vector) -> Vector:
        """The inverse: the d coordinates. Those that were filled in are left out."""
        return self._signs * _hadamard(rotated)[1 : self.dimension + 1] / math.sqrt(self.padded)


def padded_length(dimension: int) -> int:
    """D for d coordinates: the smallest power of two above d ≥ 1."""
    return 1 << dimension.bit_length()


def _hadamard(vector: Vector) -> Vector:
    """H·x, in D·log₂ D additions."""
    half = 1
    while half < len(vector):
        pairs = vector.reshape(-1, 2, half)
        vector = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return vector
