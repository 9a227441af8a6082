"""Sums of vectors of whole numbers to which every device adds discrete Gaussians: what they hide.

The noise S of n devices has independent coordinates, each a sum of n draws of N_Z(0, s²). A neighbour moves
the sum by a vector Δ of whole numbers with ‖Δ‖₂ at most the sensitivity. What Δ does depends on how its
length is spread over the coordinates, because tails of a lattice have steps; there are too many Δ to try them
all. So δ is bounded for every Δ at once, by that of a continuous Gaussian with a little less noise:

1. With s ≥ 2, each coordinate of S has the probabilities of N_Z(0, σ²), σ² = n·s², up to factors e^{±m}
   (`merging_error`).
2. N_Z(Δ, σ²) is nearly a rounded N(Δ, τ²), τ² = σ² − r². Take y from the latter, and then z from N_Z(y, r²),
   that is with weights exp(−(z − y)²/2r²). These weights add up to r·√(2π)·(1 + θ) with |θ| ≤ 2·Σ_k
   e^{−2π²r²k²}, whatever y is (Poisson summation). So z has density N(z; Δ, τ² + r²) up to the factor 1/(1 +
   θ). N_Z(Δ, σ²) has it up to a constant within the same bounds, because σ ≥ r. Both agree up to factors
   e^{±h}, h = 5·e^{−2π²r²}.
3. Rounding does not depend on Δ, so it is post-processing. Hence δ between the rounded ones is at most that
   between N(0, τ²·I) and N(Δ, τ²·I). That depends on ‖Δ‖₂ alone (Balle & Wang 2018, Theorem 8).

Factors e^{±a} of both neighbours, a = d·(m + h), give δ(ε) ≤ e^a·δ_continuous(ε − 2a). With r = 5/4, h is
2.1e-13. The result lies above the exact one by what r²/σ² takes from the noise, half of it in ε: 0.2% at
σ = 20, 0.01% at σ = 90. Rényi accounting (Canonne, Kamath & Steinke 2020; Kairouz, Liu & Steinke 2021) costs
some 10% more.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from panprivacy.accounting.discrete_gaussian_sum import WIDE, merging_error
from panprivacy.accounting.gaussian import gaussian_delta
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import DEVICES, PrivacyEvent, require_epsilon
from panprivacy.formats.parameters import described

LARGEST_DIMENSION = 1_000_000

_ROUNDING = 1.25  # r: more costs noise, less costs ε
_ROUNDING_ERROR = 5 * math.exp(-2 * (math.pi * _ROUNDING) ** 2)
_ROUNDED_DOWN = 1 - 1e-15


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianVector(PrivacyEvent):
    """Σ of n vectors of whole numbers, each coordinate of each with its own N_Z(0, scale²)."""

    kind: ClassVar[str] = "discrete_gaussian_vector"
    neighbours = Relation.REPLACE
    proved = True
    method = (
        "discrete Gaussians as rounded continuous ones with a little less noise, with bounded errors; "
        "analytic Gaussian (Balle & Wang 2018, Theorem 8)"
    )

    n: int = described(**DEVICES)
    scale: float = described(
        label="Noise scale (s)",
        help="Of the discrete Gaussian N_Z(0, s²) that each device adds to each coordinate.",
        minimum=WIDE,
        maximum=1e9,
    )
    sensitivity: float = described(
        label="Sensitivity",
        help="Largest Euclidean distance of two vectors of whole numbers that a device may send.",
        minimum=1,
        maximum=1e9,
    )
    dimension: int = described(
        label="Dimension",
        help="Number of coordinates of a vector.",
        minimum=1,
        maximum=LARGEST_DIMENSION,
    )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        deviation = math.sqrt(self.n * self.scale**2 - _ROUNDING**2) * _ROUNDED_DOWN
        factor = self.dimension * (merging_error(self.n, self.scale) + _ROUNDING_ERROR)
        continuous = np.array([max(0.0, epsilon - 2 * factor)])
        found = float(gaussian_delta(deviation / self.sensitivity, continuous)[0])
        # If ε is below 2a, δ at the remainder, below 0, is larger than that at 0 by less than 2a − ε.
        return min(1.0, math.exp(factor) * (found + max(0.0, 2 * factor - epsilon)))
