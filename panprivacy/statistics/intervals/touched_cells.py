"""Which share of a universe touched its bits, seen from the noisy number of ones in a table of some."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.accounting.rounding import log_one_plus
from panprivacy.statistics.intervals.exact import Hypotheses, Numbers


@dataclass(frozen=True)
class TouchedCells:
    """The number of ones in m cells plus discrete Laplace noise; the hypothesis is the share, times `most`.

    A touched cell is 1 with probability `present`, any other with `absent`. The table is a random sample of
    the universe: some of its cells represent the universe exactly, and `drawn` are drawn with replacement.

    Attributes:
        cells: m, at least 1.
        drawn: from 0, if every item has a cell, to m.
        most: the hypothesis that everything is touched.
        absent, present: from 0 to 1, the former below the latter.
        noise_scale: of the discrete Laplace noise.
    """

    cells: int
    drawn: float
    most: int
    absent: float
    present: float
    noise_scale: Fraction

    def mean(self, hypotheses: Hypotheses) -> Numbers:
        share = hypotheses / self.most
        return np.asarray(self.cells * (self.absent + share * (self.present - self.absent)))

    def variance(self, hypotheses: Hypotheses) -> Numbers:
        return self._bits(hypotheses) + discrete_laplace.variance(self.noise_scale)

    def smoothness(self, hypotheses: Hypotheses) -> Numbers:
        return np.sqrt(self._bits(hypotheses))

    def log_characteristic(self, hypotheses: Hypotheses, angles: Numbers) -> NDArray[np.complex128]:
        turn, share = np.expm1(1j * angles), hypotheses / self.most
        without = self.absent * turn
        ratio = (self.present - self.absent) * turn / (1 + without)
        bits = self.cells * log_one_plus(without) + self.drawn * log_one_plus(share * ratio)
        bits = bits + (self.cells - self.drawn) * share * log_one_plus(ratio)
        return np.asarray(bits + discrete_laplace.log_characteristic(self.noise_scale, angles))

    def _bits(self, hypotheses: Hypotheses) -> Numbers:
        share = hypotheses / self.most
        absent = self.absent * (1 - self.absent)
        more = self.present * (1 - self.present) - absent
        chosen = self.drawn * share * (1 - share) * (self.present - self.absent) ** 2
        return np.asarray(self.cells * (absent + share * more) + chosen)
