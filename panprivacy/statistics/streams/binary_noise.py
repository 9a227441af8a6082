"""Noise of a counter under record-level pan-privacy (RSP Algorithm 7, Theorem 5.1): fair bits, added up."""

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial_noise import least_noise

_BITS_AT_ONCE = 1 << 23

NOISE_NOTE = (
    "Includes the noise before the stream, after each announced intrusion and of the result; the standard "
    "error is exact."
)


def noise_bits(epsilon: float, delta: float) -> int:
    """λ: how many fair bits added up hide a change by 1 (RSP Lemma 2.4, Theorem 5.1).

    The smallest whole number of at least 20·((e^ε + 1)/(e^ε − 1))²·ln(2/δ).
    """
    return math.ceil(2 * least_noise(epsilon, delta))


def binomial_noise(bits: int, count: int, random_source: random.Random) -> NDArray[np.int64]:
    """`count` independent draws from Bin(bits, 1/2), exactly: by adding up random bits."""
    drawn = np.zeros(count, dtype=np.int64)
    for start in range(0, bits, _BITS_AT_ONCE):
        some = min(_BITS_AT_ONCE, bits - start)
        drawn += np.array([random_source.getrandbits(some).bit_count() for _ in range(count)], dtype=np.int64)
    return drawn


@dataclass(frozen=True, kw_only=True)
class BinaryNoise:
    """The noise of one counter of whole numbers, each element of the stream changing it by at most 1.

    Noise is added at the start, after every announced intrusion and to the result. An element that precedes
    an intrusion is hidden by the last noise added ahead of that intrusion, which no previous intrusion has
    seen. An element that follows all intrusions is hidden by the noise of the result. Later intrusions see an
    element only through what a previous one has already seen. So (ε, δ) is paid once, for any number of
    announced intrusions.

    Attributes:
        epsilon, delta: of a change by 1.
    """

    epsilon: float
    delta: float

    @property
    def bits(self) -> int:
        """λ."""
        return noise_bits(self.epsilon, self.delta)

    def draw(self, count: int, random_source: random.Random) -> NDArray[np.int64]:
        """Fresh noise for this number of counters."""
        return binomial_noise(self.bits, count, random_source)

    def mean(self, announced_intrusions: int) -> float:
        """Of all noise in a result: λ without announced intrusions, which the paper leaves in."""
        return self._all_bits(announced_intrusions) / 2

    def standard_error(self, announced_intrusions: int) -> float:
        """Of a result."""
        return math.sqrt(self._all_bits(announced_intrusions)) / 2

    def error_bound(self, announced_intrusions: int, failure_probability: float) -> float:
        """The bound that the error of a result exceeds with at most this probability; never above `mean`, as
        in Theorem 5.1."""
        bits = self._all_bits(announced_intrusions)
        _, highest = binomial.window(bits, 0.5, 0.5, failure_probability / 2)
        return highest - bits / 2

    def _all_bits(self, announced_intrusions: int) -> int:
        return (announced_intrusions + 2) * self.bits
