"""Amplification by shuffling: n reports of ε₀-private randomizers, seen in random order.

Feldman, McMillan & Talwar reduce the shuffled reports of two neighbouring data sets to one pair of
distributions. In it, the other devices hide the protected one as *clones* of either report:

    C ~ Bin(n − 1, r),  S ~ Bin(C, 1/2),  (C, S + Ber(w)) against (C, S + Ber(1 − w)),  w = e^ε₀/(e^ε₀ + 1).

- FMT 2021 ("Hiding among the clones", FOCS 2021): r = e^−ε₀, for any ε₀-private randomizers.
- FMT 2022 ("Stronger privacy amplification by shuffling", SODA 2023): r = 2/(e^ε₀ + 1). The authors'
  erratum takes back that it holds for all of them (Lemma 3.5). It holds if another device's report R(x) is,
  with probability r, a fair choice between R(x₀) and R(x₁), the reports of the protected device's inputs:

      R(x)(y) ≥ (R(x₀)(y) + R(x₁)(y))/(e^ε₀ + 1)  for all x₀, x₁, x and outputs y.

  It is so for randomized response on bits and on k values. It is *not* so for one-hot vectors whose bits are
  randomized (RAPPOR under replacement, ε₀ twice that of a bit). There a vector with ones at x₀ and x₁ and a
  zero at x is e^ε₀ times likelier under both than under x.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial import binomial_divergence
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import DEVICES, PrivacyEvent, require_epsilon
from panprivacy.accounting.randomized_response_sum import flip_probabilities
from panprivacy.formats.parameters import described


@dataclass(frozen=True, kw_only=True)
class _ShuffleEvent(PrivacyEvent):
    n: int = described(**DEVICES)

    neighbours = Relation.REPLACE
    proved = True
    epsilon0: float = described(
        label="Local privacy loss (ε₀)",
        help="ε of one device's report, when one input is replaced by another.",
        minimum=1e-6,
        maximum=50,
    )

    @property
    def largest_loss(self) -> float:
        return self.epsilon0

    def _divergence(self, clone: float, no_clone: float, epsilon: float) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.epsilon0:
            return 0.0
        # C ~ Bin(n − 1, r), in blocks: more clones are one more randomization of the same release.
        clones, mass, outside = binomial.blocks(self.n - 1, clone, no_clone)
        # Given C, the divergence of S + Ber(w) from S + Ber(1 − w), by binomial.py.
        other, own = flip_probabilities(self.epsilon0)
        # own − e^ε·other, without cancellation if ε is near ε₀
        excess = -own * math.expm1(epsilon - self.epsilon0)
        found = binomial_divergence(clones, 0.5, 0.5, excess, math.exp(epsilon) * own - other, epsilon)
        return float(min(1.0, float(mass @ found) * (1 + 1e-12) + outside))


@dataclass(frozen=True, kw_only=True)
class ShuffledRandomizedResponse(_ShuffleEvent):
    """n shuffled reports by FMT 2022, for randomized response on bits or on k values."""

    kind: ClassVar[str] = "shuffled"
    method = "numerical bound of Feldman, McMillan & Talwar 2022, for randomized response"

    def delta(self, epsilon: float) -> float:
        return self._divergence(2 / (math.exp(self.epsilon0) + 1), math.tanh(self.epsilon0 / 2), epsilon)


@dataclass(frozen=True, kw_only=True)
class ShuffledReports(_ShuffleEvent):
    """n shuffled reports by FMT 2021, for any ε₀-private randomizers."""

    kind: ClassVar[str] = "shuffled_2021"
    method = "numerical bound of Feldman, McMillan & Talwar 2021, for any randomizer"

    def delta(self, epsilon: float) -> float:
        return self._divergence(math.exp(-self.epsilon0), -math.expm1(-self.epsilon0), epsilon)
