"""How cropped means for growing thresholds give the fraction of heavy hitters (PPS section 4).

Let e_j be the t_j-cropped mean and g_j = (e_{j+1} − e_j)/(t_{j+1} − t_j). Figure 3 estimates the fraction
v_j of items between t_j and t_{j+1}, from above downwards, by v_j = 2g_j − 2g_{j+1} − v_{j+1}. Heavy
hitters lie in any interval from the threshold t_i on, so their fraction is the sum of v_j over j ≥ i, which
telescopes to 2·(g_i − g_{i+1} + g_{i+2} − …). Nothing below t_i enters: the tables begin there. As
appearances are whole numbers, we take k − 1/2 for it.

What an item with x appearances adds to that sum is 0 up to t_i, and then goes up to 2 and down to 0, from
one threshold to the next: it is 1 on average only if x is spread evenly over two neighbouring intervals. So
an item's appearances count r_x times, with log r_x uniform between −log(1 + ρ) and log(1 + ρ). Then what it
adds is on average exactly 1 if it appears at least (1 + ρ)·t_i times, 0 if at most t_i/(1 + ρ) times, and
between 0 and 1 otherwise. (Printed: r_x uniform in 1..1 + ρ, which is one interval only. It counts an
item up to half too much or too little.)

The last threshold is at least 1 + ρ times the largest number of appearances, so that no item is beyond it.
"""

from dataclasses import dataclass
from itertools import pairwise

UNIT = 1 << 30
"""One appearance: multiplicities and thresholds are whole numbers of its 2³⁰th parts."""


@dataclass(frozen=True)
class Ladder:
    """The thresholds for `k`, `rho` and the largest number of appearances `n_max`, at least k."""

    k: int
    rho: float
    n_max: int

    @property
    def thresholds(self) -> tuple[float, ...]:
        """t_i = k − 1/2, t_i·(1 + ρ), t_i·(1 + ρ)², … up to at least (1 + ρ)·n_max: three or more."""
        ratio = 1 + self.rho
        found = [self.k - 0.5]
        while found[-1] < self.n_max * ratio:
            found.append(found[-1] * ratio)
        return tuple(found)

    @property
    def units(self) -> tuple[int, ...]:
        """The thresholds as multiples of 1/UNIT, rounded."""
        return tuple(round(threshold * UNIT) for threshold in self.thresholds)

    @property
    def weights(self) -> tuple[float, ...]:
        """c_j such that the fraction of heavy hitters is Σ c_j·e_j/t_j."""
        thresholds = self.thresholds
        found = [0.0] * len(thresholds)
        sign = 2.0
        for index, (lower, upper) in enumerate(pairwise(thresholds)):
            found[index] -= sign * lower / (upper - lower)
            found[index + 1] += sign * upper / (upper - lower)
            sign = -sign
        return tuple(found)
