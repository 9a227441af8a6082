"""One private counter modulo p per item: the noise that hides it, and how to see through many of them.

PPS section 5.1. A counter starts at a noise value i of 0..p − 1, with probability proportional to
exp(−ε·i/(p − 1)), and goes up by 1 modulo p whenever its item appears. So if f are the fractions of items
that appeared 0, 1, …, p − 1 times modulo p, and w is the distribution of the noise, counters show the
fractions w ∗ f on average, the cyclic convolution (w ∗ f)[i] = Σ_h w[h]·f[(i − h) mod p]: the noise matrix
has the entries N[i,j] = w[(i − j) mod p]. With r = exp(−ε/(p − 1)) its inverse is short and exact,
f[i] = (s[i] − r·s[i − 1])/(1 − r). After a announced intrusions there have been a + 1 draws of noise, and all
of this happens that number of times.
"""

import math
import random
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams import draws

Numbers = NDArray[np.float64]

_WHOLE = 2**63


def cyclic_convolution(first: Numbers, second: Numbers) -> Numbers:
    """Σ_h first[h]·second[(i − h) mod p] for every i; both have length p."""
    full = np.convolve(first, second)
    full[: len(first) - 1] += full[len(first) :]
    return full[: len(first)]


@dataclass(frozen=True)
class ResidueNoise:
    """The noise of counters modulo `modulus` (at least 2) that protects each with `epsilon` (above 0)."""

    modulus: int
    epsilon: float

    @cached_property
    def weights(self) -> NDArray[np.uint64]:
        """2⁶³ times the probability of each noise value, exactly.

        Rounded down, and what is left over goes to the least likely value: so no two differ by more than a
        factor of e^ε.
        """
        with localcontext() as context:
            context.prec = 60
            ratio = (-Decimal(self.epsilon) / (self.modulus - 1)).exp()
            unscaled = [Decimal(1)]
            while len(unscaled) < self.modulus:
                unscaled.append(unscaled[-1] * ratio)
            total = sum(unscaled)
            weights = [int(_WHOLE * value / total) for value in unscaled]
        weights[-1] += _WHOLE - sum(weights)
        return np.array(weights, dtype=np.uint64)

    def draw(self, count: int, random_source: random.Random) -> NDArray[np.int64]:
        """This number of independent noise values, exactly distributed by `weights`."""
        below = np.cumsum(self.weights[:-1])
        return np.searchsorted(below, draws.below(count, _WHOLE, random_source), side="right")

    def distribution(self, noises: int) -> Numbers:
        """Probability of each sum, modulo p, of this number of noise values (at least 1)."""
        once = self.weights.astype(np.float64) / _WHOLE
        found = once
        for _ in range(noises - 1):
            found = cyclic_convolution(found, once)
        return found

    def inverse(self, noises: int) -> Numbers:
        """The b with b ∗ distribution(noises) = (1, 0, …, 0).

        The sum of their absolute values, about (2(p − 1)/ε)^noises, is by how much it can enlarge an error.
        """
        step = self.epsilon / (self.modulus - 1)
        once = np.zeros(self.modulus)
        once[0] = 1 / -math.expm1(-step)
        once[1] = -math.exp(-step) * once[0]
        found = once
        for _ in range(noises - 1):
            found = cyclic_convolution(found, once)
        return found

    def variance(self, noises: int, fractions: Numbers) -> Numbers:
        """Table size times the variance of each inverted fraction that the noise causes.

        Args:
            fractions: of the items, by how often they appeared modulo p.
        """
        shown = cyclic_convolution(self.distribution(noises), fractions)
        second_moments = cyclic_convolution(self.inverse(noises) ** 2, shown)
        return np.maximum(second_moments - fractions, 0.0)


class ResidueErrors:
    """The error that the noise of `table_size` counters causes in one inverted fraction.

    Its cumulant is exact except for which items appeared how often: the worst case is taken. All residues
    have the same.
    """

    largest_rate = math.inf

    def __init__(self, noise: ResidueNoise, noises: int, table_size: int) -> None:
        """Args: as in `ResidueNoise.variance`."""
        inverse = noise.inverse(noises)
        distribution = noise.distribution(noises)
        self._table_size = table_size
        # A counter that shows −h adds inverse[h] to the fraction of residue 0. An item that appeared −j times
        # shows −h with probability distribution[j − h].
        shown = np.flatnonzero(inverse)
        self._values = inverse[shown]
        residues = np.arange(noise.modulus)
        self._probabilities = distribution[(residues[:, None] - shown[None, :]) % noise.modulus]
        self._mean = (residues == 0).astype(np.float64)

    def cumulant(self, rate: float) -> float:
        share = rate / self._table_size
        moments = self._probabilities @ np.expm1(share * self._values)
        return float(self._table_size * (np.log1p(moments) - share * self._mean).max())

    def variance_bound(self, fraction: float) -> float:
        """Of that error, if this number of items have residue 0: whatever residues the others have."""
        second_moments = self._probabilities @ self._values**2
        others = float(second_moments[1:].max())
        return (fraction * (float(second_moments[0]) - 1) + (1 - fraction) * others) / self._table_size
