"""Amplification by shuffling: n reports of ε₀-private randomizers, seen in random order.

Feldman, McMillan & Talwar reduce the shuffled reports of two neighbouring data sets to one pair of
distributions, in which the other devices hide the protected one as *clones* of either report:

    C ~ Bin(n − 1, r),  S ~ Bin(C, 1/2),  (C, S + Ber(w)) against (C, S + Ber(1 − w)),  w = e^ε₀/(e^ε₀ + 1).

- FMT 2021 ("Hiding among the clones", FOCS 2021): r = e^−ε₀, for any ε₀-private randomizers.
- FMT 2022 ("Stronger privacy amplification by shuffling", SODA 2023): r = 2/(e^ε₀ + 1). The authors'
  erratum takes back that it holds for all of them (Lemma 3.5). It holds where another device's report R(x)
  is, with probability r, a fair choice between R(x₀) and R(x₁), the reports of the protected device's inputs:

      R(x)(y) ≥ (R(x₀)(y) + R(x₁)(y))/(e^ε₀ + 1)  for all x₀, x₁, x and outputs y.

  It is so for randomized response on bits and on k values. It is *not* so for one-hot vectors whose bits
  are randomized (RAPPOR under replacement, ε₀ twice that of a bit): a vector with ones at x₀ and x₁ and a
  zero at x is e^ε₀ times likelier under both than under x.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial import Numbers
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.hockey_stick import binomial_divergence
from panprivacy.accounting.interface import DEVICES, PrivacyEvent, require_delta, require_epsilon
from panprivacy.errors import FieldError
from panprivacy.parameters import described

_OUTSIDE = 1e-40
_BLOCKS = 4096


@dataclass(frozen=True, kw_only=True)
class _ShuffledReports(PrivacyEvent):
    n: int = described(**DEVICES)
    epsilon0: float = described(
        label="Local privacy loss (ε₀)",
        help="ε of one device's report, when one input is replaced by another.",
        minimum=1e-6,
        maximum=50,
    )

    @property
    def neighbours(self) -> Relation:
        return Relation.REPLACE

    @property
    def proved(self) -> bool:
        return True

    def _divergence(self, clone: float, no_clone: float, epsilon: float) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.epsilon0:
            return 0.0
        clones, mass = _clones(self.n - 1, clone, no_clone)
        other, own = 1 / (math.exp(self.epsilon0) + 1), 1 / (1 + math.exp(-self.epsilon0))
        # own − e^ε·other, without cancellation where ε is near ε₀
        excess = -own * math.expm1(epsilon - self.epsilon0)
        found = binomial_divergence(clones, 0.5, 0.5, excess, math.exp(epsilon) * own - other, epsilon)
        return float(min(1.0, float(mass @ found) * (1 + 1e-12) + 2 * _OUTSIDE))


@dataclass(frozen=True, kw_only=True)
class Shuffled(_ShuffledReports):
    """n shuffled reports by FMT 2022, for randomized response on bits or on k values."""

    kind: ClassVar[str] = "shuffled"

    @property
    def method(self) -> str:
        return "numerical bound of Feldman, McMillan & Talwar 2022, for randomized response"

    def delta(self, epsilon: float) -> float:
        return self._divergence(2 / (math.exp(self.epsilon0) + 1), math.tanh(self.epsilon0 / 2), epsilon)


@dataclass(frozen=True, kw_only=True)
class ShuffledClones(_ShuffledReports):
    """n shuffled reports by FMT 2021, for any ε₀-private randomizers."""

    kind: ClassVar[str] = "shuffled_2021"

    @property
    def method(self) -> str:
        return "numerical bound of Feldman, McMillan & Talwar 2021, for any randomizer"

    def delta(self, epsilon: float) -> float:
        return self._divergence(math.exp(-self.epsilon0), -math.expm1(-self.epsilon0), epsilon)


@lru_cache(maxsize=64)
def _clones(n: int, p: float, q: float) -> tuple[Numbers, Numbers]:
    """Blocks of numbers of clones: the smallest of each, and the block's probability.

    More clones are one more randomization of the same release, so that the smallest number stands for its
    block: at most 4,096 divergences, whatever n.
    """
    low, high = binomial.window(n, p, q, _OUTSIDE)
    counts = np.arange(low, high + 1, dtype=float)
    starts = np.arange(0, len(counts), math.ceil(len(counts) / _BLOCKS))
    return counts[starts], np.add.reduceat(binomial.probability(counts, n, p, q), starts)


def closed_form_2021(*, n: int, epsilon0: float, delta: float) -> float:
    """ε by FMT 2021, Theorem 3.1, for any ε₀-private randomizers.

    Raises:
        FieldError: ε₀ is above ln(n/(16·ln(2/δ))), where the theorem says nothing; or δ is out of range.
    """
    require_delta(delta)
    limit = math.log(max(n / (16 * math.log(2 / delta)), 1.0))
    _require_validity(epsilon0, limit, "ln(n/(16·ln(2/δ)))")
    growth = math.exp(epsilon0)
    spread = 8 * math.sqrt(growth * math.log(4 / delta) / n) + 8 * growth / n
    return math.log1p(math.tanh(epsilon0 / 2) * spread)


def largest_epsilon0_2022(*, n: int, delta: float) -> float:
    """ln(n/(8·ln(2/δ)) − 1), up to which `closed_form_2022` is proved; 0 where it nowhere is."""
    require_delta(delta)
    growth = n / (8 * math.log(2 / delta)) - 1
    return math.log(growth) if growth > 1 else 0.0


def closed_form_2022(*, n: int, epsilon0: float, delta: float) -> float:
    """ε by FMT 2022, Theorem 3.2, for the randomizers that `Shuffled` covers.

    Raises:
        FieldError: ε₀ is above ln(n/(8·ln(2/δ)) − 1), where the theorem says nothing; or δ is out of range.
    """
    require_delta(delta)
    _require_validity(epsilon0, largest_epsilon0_2022(n=n, delta=delta), "ln(n/(8·ln(2/δ)) − 1)")
    growth = math.exp(epsilon0)
    spread = 4 * math.sqrt(2 * math.log(4 / delta) / ((growth + 1) * n)) + 4 / n
    return math.log1p(math.expm1(epsilon0) * spread)


def _require_validity(epsilon0: float, limit: float, formula: str) -> None:
    if not 0 < epsilon0 <= limit:
        allowed = f"above 0 and at most {formula} = {limit:.6g}" if limit else f"at most {formula}: no ε₀ is"
        raise FieldError("epsilon0", f"must be {allowed}, not {epsilon0!r}")
