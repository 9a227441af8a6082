"""Randomized bits of items, through announced intrusions: their exact distributions and their exact price.

A cell has one bit. It starts from D₀, and an occurrence of its item draws it from D₁ (PPS section 3). After a
reader has seen the state, every bit is drawn again by its value (PPS, "Handling Multiple Announced
Intrusions"). A 1 is drawn from D₁, a 0 from D₀, the distributions of the beginning. So bits of items without
occurrences then follow D₀′, those of items with some D₁′, and from then on an occurrence draws from D₁′.
"""

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.draws import WORD

Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class BitDistributions:
    """Probabilities of a 1.

    Attributes:
        absent: for an item that has not occurred.
        present: for an item that has occurred; larger.
    """

    absent: Fraction
    present: Fraction

    @classmethod
    def original(cls, epsilon: float | Fraction) -> Self:
        """D₀ = 1/2 and D₁ = 1/2 + ε/4 (PPS section 3), rounded down to the 64 bits that are drawn."""
        return cls(Fraction(1, 2), Fraction(WORD // 2 + int(Fraction(epsilon) * WORD / 4), WORD))

    @classmethod
    @lru_cache(maxsize=64)
    def after(cls, epsilon: float | Fraction, announced_intrusions: int) -> Self:
        """Both after this number a of announced intrusions; their distance shrinks to (ε/4)^(a+1)."""
        original = tracked = cls.original(epsilon)
        for _ in range(announced_intrusions):
            tracked = cls(original.redrawn(tracked.absent), original.redrawn(tracked.present))
        return tracked

    @property
    def distance(self) -> float:
        """How much likelier a 1 is for an item that occurred; above 0."""
        return float(self.present - self.absent)

    @property
    def present_threshold(self) -> int:
        """The probability that an occurrence draws with, out of 2^64, rounded down."""
        return int(self.present * WORD)

    def draw_absent(self, count: int, random_source: random.Random) -> Bits:
        """This number of bits of items that have not occurred."""
        return draws.bits(count, int(self.absent * WORD), random_source)

    def draw_present(self, count: int, random_source: random.Random) -> Bits:
        """This number of bits of items that have occurred."""
        return draws.bits(count, self.present_threshold, random_source)

    def redraw(self, bits: Bits, random_source: random.Random) -> None:
        """Draw every bit again, in place: a 1 as for an item that has occurred, a 0 as for one that has
        not."""
        from_zero = self.draw_absent(bits.size, random_source).reshape(bits.shape)
        from_one = self.draw_present(bits.size, random_source).reshape(bits.shape)
        bits[:] = np.where(bits, from_one, from_zero)

    def redrawn(self, one: Fraction) -> Fraction:
        """Probability of a 1 once a bit that is 1 with probability `one` is drawn again by its value."""
        return one * self.present + (1 - one) * self.absent


@dataclass(frozen=True, eq=False)
class TouchedBits:
    """Bits that arriving items draw from D₁ (PPS Figures 1 to 3, Processing).

    Attributes:
        bits: an array of the state, one bit for each cell; changed in place.
        cells: those whose bit is drawn. If a cell is named twice, its last draw stays.
        distributions: of the bits.
    """

    bits: Bits
    cells: NDArray[np.int64]
    distributions: BitDistributions

    def draw(self, random_source: random.Random) -> None:
        """Draw each of them."""
        self.bits[self.cells] = self.distributions.draw_present(self.cells.size, random_source)


def total_epsilon(
    epsilon: float | Fraction, announced_intrusions: int, output_epsilon: float | Fraction
) -> float:
    """The exact ε of one bit against an intruder with every announced intrusion, a surprise intrusion after
    the last of them, and the output.

    Two streams may differ in any occurrences of the item, between any two intrusions. The loss is the largest
    over all such streams and all possible outputs. Given the result of the last intrusion, the next one
    depends on no previous one. So the largest loss is found intrusion by intrusion, backwards (max-plus). It
    also holds if the stream is chosen adaptively (PPS section 2).

    The surprise comes last: no algorithm with finite state withstands one that another intrusion, announced
    or not, follows (PPS Theorem 6.1, Corollary 6.2). The released output must not let the final bit be
    guessed better than `output_epsilon` allows, whatever all other bits are: noise for a count of ones with
    scale 1/output_epsilon.

    Args:
        epsilon: of `BitDistributions.original`.
        announced_intrusions: at least 0.
    """
    original = BitDistributions.original(epsilon)
    phases = [BitDistributions.after(epsilon, count) for count in range(announced_intrusions + 1)]
    drawn = [Fraction(phase.present_threshold, WORD) for phase in phases]  # by an occurrence in each phase
    # The output, given what the surprise intrusion saw.
    losses = {bit: _output_loss(bit, drawn[-1], output_epsilon) for bit in (0, 1)}
    # Backwards, each intrusion that follows an announced one, given what that one saw.
    for phase in reversed(range(1, announced_intrusions + 1)):
        losses = {
            seen: _intrusion_loss(original.present if seen else original.absent, drawn[phase], losses)
            for seen in (0, 1)
        }
    # The first intrusion: every bit comes from D₀.
    return _intrusion_loss(original.absent, drawn[0], losses)


def _intrusion_loss(quiet: Fraction, occurred: Fraction, losses_after: dict[int, float]) -> float:
    """The largest loss from the next intrusion on: the bit is 1 with one or the other probability."""
    return max(
        math.log((one if seen else 1 - one) / (other if seen else 1 - other)) + losses_after[seen]
        for one, other in product((quiet, occurred), repeat=2)
        for seen in (0, 1)
    )


def _output_loss(bit: int, occurred: Fraction, output_epsilon: float | Fraction) -> float:
    """The largest loss by the output, if the last intrusion saw `bit`: it stayed, or was drawn once more."""
    return max(
        abs(math.log((bit * likelier + 1 - bit) / float(occurred * Fraction(likelier) + 1 - occurred)))
        for likelier in (math.exp(output_epsilon), math.exp(-output_epsilon))
    )
