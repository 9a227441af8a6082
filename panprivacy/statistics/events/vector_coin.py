"""One coin for a whole one-hot vector: k-ary randomized response under encryption.

With probability β = (e^ε − 1)/(e^ε + k − 1) the vector is sent as it is, otherwise a one-hot vector drawn
uniformly. So its 1 is kept with p = e^ε/(e^ε + k − 1), and any other entry is 1 with q = 1/(e^ε + k − 1):
p/q = e^ε, the privacy loss between any two vectors. LPP's Algorithm 5 tosses a coin for each entry; two
vectors differ in two entries, so each coin has ε/2 at the same loss (docs/errata.md).
"""

import decimal
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.errors import FieldError

_COIN_BITS = 64
_COIN_SIDES: int = 2**_COIN_BITS


@dataclass(frozen=True)
class SumOfCells:
    """Whether the 1 lies in any of some cells, as a `RandomizedBit`: the reported entries of all of them are
    added up."""

    absent: float
    present: float

    def debiased(self, total: int, reports: int) -> float:
        """(Y − n·absent)/(present − absent): the difference is β, whatever the number of cells."""
        return (total - reports * self.absent) / (self.present - self.absent)

    def total_of(self, debiased: float, reports: int) -> int:
        """The total that was debiased to this."""
        return round(debiased * (self.present - self.absent) + reports * self.absent)


class VectorCoin:
    """The coin for one ε and k, tossed with 64 random bits.

    The probability of a drawn vector, 1 − β, is rounded up to a multiple of 2^−64, so that the loss is at
    most ε. Debiasing uses the rounded probability, and is exactly unbiased.

    Args:
        epsilon: ε, above 0.
        cells: k, the length of the vector, at least 2.

    Raises:
        FieldError: ε is not above 0, or too small for the coin.
    """

    def __init__(self, epsilon: float, cells: int) -> None:
        if cells < 2:
            raise ValueError(f"a vector has 2 cells or more, not {cells}")
        if not (epsilon > 0 and math.isfinite(epsilon)):
            raise FieldError("epsilon", f"must be a number above 0, not {epsilon!r}")
        self.cells = cells
        with decimal.localcontext(prec=100):
            exact = cells * _COIN_SIDES / (decimal.Decimal(epsilon).exp() + cells - 1)
            self._drawn_sides = int(exact.to_integral_value(decimal.ROUND_CEILING))
        if self._drawn_sides >= _COIN_SIDES:
            raise FieldError("epsilon", f"is too small for a coin of {_COIN_BITS} bits: {epsilon!r}")

    @property
    def keep_probability(self) -> float:
        """β = p − q, rounded."""
        return (_COIN_SIDES - self._drawn_sides) / _COIN_SIDES

    def sum_of(self, cells: int) -> SumOfCells:
        """Whether the 1 is in any of this number of cells, fewer than k, as a bit."""
        # q: the probability that one certain cell is drawn.
        q = self._drawn_sides / (self.cells * _COIN_SIDES)
        return SumOfCells(cells * q, self.keep_probability + cells * q)

    def respond(self, place: int, random_source: random.Random) -> int:
        """The place of the 1 in the response to a vector in the clear, from 0 to k − 1."""
        keep, drawn = self._toss(random_source)
        return place if keep else drawn

    def respond_encrypted(
        self,
        public_key: PublicKey,
        vector: Sequence[Ciphertext],
        rerandomizations: int,
        random_source: random.Random,
        *,
        instead: int | None = None,
    ) -> tuple[Ciphertext, ...]:
        """The response to an encrypted vector: Φ of it, or encryptions of a drawn one.

        Args:
            vector: one-hot, k ciphertexts.
            rerandomizations: as in `PublicKey.replace_or_rerandomize`.
            instead: respond to a vector with its 1 here in place of this one, in the same steps.
        """
        keep, drawn = self._toss(random_source)
        shown = instead if keep else drawn
        return tuple(
            public_key.replace_or_rerandomize(
                shown is not None,
                int(place == shown),
                entry,
                random_source,
                rerandomizations=rerandomizations,
            )
            for place, entry in enumerate(vector)
        )

    def _toss(self, random_source: random.Random) -> tuple[bool, int]:
        # Both are always drawn: the amount of randomness does not depend on the coin.
        keep = random_source.getrandbits(_COIN_BITS) >= self._drawn_sides
        return keep, random_source.randrange(self.cells)
