"""The worst assignment of the other devices' bits where each device takes part with probability q.

Sum and number of reports are released. With m ones among N = n − 1 other bits, let δ_m be the divergence of
the release with the device's bit 1 from that with its bit 0. The other direction at m is δ_{N − m}, by
exchanging zeros and ones: so all m in one direction are all assignments in both.

**Up to `LARGEST_ENUMERATED` devices** all δ_m are added up, outcome by outcome (`every_divergence`).

**Beyond**, δ_m is bounded (`worst_sampled_divergence`). Where the device takes part, tell the observer how
many ones, i, and zeros, j, take part beside it. Where it does not, draw one of those who do as its stand-in,
and tell i and j of the rest. What is released is a function of what is then known: of i, j and S = G + the
bit that the device or its stand-in reports, where G ~ Bin(i, 1 − p) + Bin(j, p). (Where nobody takes part,
nothing depends on the bit.) With c = i + j + 1 and I ~ Bin(m, q), J ~ Bin(N − m, q),

    Pr[device takes part, i, j] = q·Pr[I = i]·Pr[J = j],
    Pr[a one stands in, i, j] = (1 − q)·Pr[I = i + 1]·Pr[J = j]·(i + 1)/c = q·Pr[I = i]·Pr[J = j]·(m − i)/c,

likewise (N − m − j)/c for a zero. So with κ = ((m − i)·(1 − p) + (N − m − j)·p)/c, by hockey_stick.py,

    δ_m ≤ U(m) = q·Σ_ij Pr[I = i]·Pr[J = j]·D_ij,
    D_ij = max over t of ((1 − p) − e^ε·p − (e^ε − 1)·κ)·Pr[G = t − 1] − (e^ε − 1)·(n/c)·Pr[G ≥ t].

For unanimous bits one of i, j is always 0 and the other is c − 1, which is released anyway: U is δ itself.
Elsewhere U is mostly smaller, so that the bound is the truth. Two steps make it quick:

- Blocks of i and of j. The first factor falls in κ, κ in i and j, and n/c in both; and with fewer bits in G
  the observer has been told the others. So D of a block is at most what G at its smallest i and j gives with
  κ and c at its largest.
- Ranges a ≤ m ≤ b. Tell all about b − a of the others: δ_m is at most U over n − (b − a) devices with a ones
  and N − b zeros. Ranges are split where that exceeds what is known to be reached, as in assignments.py.
"""

import math
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.assignments import Inversion
from panprivacy.accounting.binomial import Numbers
from panprivacy.accounting.interruption import interruption_point

_OUTSIDE = 1e-40
_CLOSE = 1e-2  # relative, of δ: a range of assignments that may add no more is not split
_COARSE, _FINE = 32, 256  # blocks of pairs i, j
_MOST_WORK = 16_384  # blocks
_NEGLIGIBLE = 25.0  # see Inversion; relative to a bound that is some ten times δ
_LEFT_OUT = 1e-5  # probability outside all blocks, relative to δ


def every_divergence(n: int, p: float, rate: float, epsilon: float, ones: int | None = None) -> Numbers:
    """δ_m for all m (n values), or for one of them, from above, to a relative 1e-11 of its terms.

    Args:
        n: devices, at most `LARGEST_ENUMERATED`.
        p: probability that a bit is flipped, above 0 and below 1/2.
        rate: q, above 0 and below 1.
        epsilon: ε ≥ 0.
        ones: m, to compute no other.
    """
    one, zero = _outcomes(n, p, rate)
    if ones is not None:
        one, zero = one[ones : ones + 1], zero[ones : ones + 1]
    # Three binomial probabilities and a sum of at most n positive products make up each one.
    error = 4 * float(binomial.relative_error(n, 0, 0.0)) + 2.0**-50 * n
    terms = one * (1 + error)
    terms -= zero * (math.exp(epsilon) * (1 - error))
    found: Numbers = np.minimum(1.0, np.maximum(terms, 0.0, out=terms).sum(axis=1) + 2 * _OUTSIDE)
    return found


@lru_cache(maxsize=1)  # up to 70 MB
def _outcomes(n: int, p: float, rate: float) -> tuple[Numbers, Numbers]:
    """Pr[(count, sum)] at [m, outcome] for m ones among the others, if the device's bit is 1, and if 0."""
    low, high = binomial.window(n, rate, 1 - rate, _OUTSIDE)
    m, numbers = np.arange(n)[:, None], np.arange(n)
    ones = binomial.probability(numbers, m, rate, 1 - rate)  # so many of the m take part
    zeros = binomial.probability(numbers, n - 1 - m, rate, 1 - rate)
    blocks: tuple[list[Numbers], list[Numbers]] = ([], [])
    sums = np.ones((1, 1))  # at [a, x]: Pr[x] for the sum of c reports, a of them about ones
    before = np.zeros((n, 0))
    for c in range(high + 1):
        if c > 0:
            with_zero = np.pad((1 - p) * sums, ((0, 0), (0, 1))) + np.pad(p * sums, ((0, 0), (1, 0)))
            with_one = np.pad(p * sums[-1], (0, 1)) + np.pad((1 - p) * sums[-1], (1, 0))
            sums = np.vstack([with_zero, with_one])
        if c < low - 1:
            continue
        others = np.zeros((n, c + 1))
        if c < n:
            others = (ones[:, : c + 1] * zeros[:, c::-1]) @ sums
        if c >= low:
            absent = (1 - rate) * others
            for block, up, down in ((blocks[0], 1 - p, p), (blocks[1], p, 1 - p)):
                present = absent.copy()
                if c > 0:
                    present[:, 1:] += rate * up * before
                    present[:, :-1] += rate * down * before
                block.append(present)
        before = others
    return np.concatenate(blocks[0], axis=1), np.concatenate(blocks[1], axis=1)


def worst_sampled_divergence(
    n: int, p: float, rate: float, excess: float, growth: float, reached: float
) -> float:
    """An upper bound on δ_m over all assignments.

    Args:
        n: devices, the protected one included.
        p: probability that a bit is flipped, above 0 and below 1/2.
        rate: q, above 0 and below 1.
        excess: (1 − p) − e^ε·p, above 0.
        growth: e^ε − 1, at least 0.
        reached: the larger δ of the two unanimous assignments.
    """
    others, upper = n - 1, reached * (1 + _CLOSE)
    if others < 2:
        return upper
    outside = max(reached * _LEFT_OUT, 1e-45)
    bound = _Bound(p, rate, excess, growth, outside)
    # The range with the largest bound is looked at first: more finely, then by halves.
    open_ranges = [(-1.0, 1, others - 1, 0)]
    work = 0
    while work < _MOST_WORK:
        found, first, last, blocks = open_ranges[0]
        if -found <= upper or (first == last and blocks == _FINE):
            break
        heappop(open_ranges)
        middle = (first + last) // 2
        parts, finer = [(first, last)], _FINE
        if blocks != _COARSE:
            parts, finer = [(first, middle), (middle + 1, last)], _COARSE
        for part_first, part_last in parts:
            interruption_point()  # one takes milliseconds, and a point of the curve hundreds of them
            part = bound.of(part_first, others - part_last, finer) + outside
            heappush(open_ranges, (-min(part, -found), part_first, part_last, finer))
            work += finer
    return min(1.0, max(upper, -open_ranges[0][0]))


class _Bound:
    """U, from above but for what is outside its blocks."""

    def __init__(self, p: float, rate: float, excess: float, growth: float, outside: float) -> None:
        self._p, self._rate, self._excess, self._growth = p, rate, excess, growth
        self._log_outside = math.log(4 / outside)

    def of(self, ones: int, zeros: int, blocks: int) -> float:
        """U of so many ones and zeros among the others, in at most about so many blocks."""
        spreads = [1 + math.sqrt(number * self._rate * (1 - self._rate)) for number in (ones, zeros)]
        most = math.ceil(math.sqrt(blocks * spreads[0] / spreads[1]))
        i_first, i_last, i_mass = self._blocks(ones, min(most, blocks))
        j_first, j_last, j_mass = self._blocks(zeros, math.ceil(blocks / len(i_first)))
        reports = np.add.outer(i_last, j_last) + 1
        absent = np.add.outer((ones - i_last) * (1 - self._p), (zeros - j_last) * self._p)
        excess = (self._excess - self._growth * absent / reports).ravel()
        matters = excess > 0
        if not matters.any():
            return 0.0
        pairs = np.indices(reports.shape).reshape(2, -1)[:, matters]
        excess = excess[matters]
        growth = self._growth * (ones + zeros + 1) / reports.ravel()[matters]
        mass = np.outer(i_mass, j_mass).ravel()[matters]
        i, j = i_first[pairs[0]], j_first[pairs[1]]
        tilt = float(np.average(np.log1p(growth / excess), weights=mass + 1e-300))
        inversion = Inversion(float((i + j).max()), float((i + j).min()), self._p, tilt, _NEGLIGIBLE)
        return self._rate * float(mass @ inversion.bound(i, j, excess, growth))

    def _blocks(self, trials: int, most: int) -> tuple[Numbers, Numbers, Numbers]:
        """At most so many blocks of Bin(trials, q): first, last, and a bound on the probability of each.

        By Bernstein's inequality a quarter of what may be left out lies below them, and a quarter above.
        """
        rate, log_outside = self._rate, self._log_outside
        mean, variance = trials * rate, trials * rate * (1 - rate)
        reach = log_outside / 3 + math.sqrt(log_outside**2 / 9 + 2 * variance * log_outside)
        low, high = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
        width = -(-(high - low + 1) // most)
        first = np.arange(low, high + 1, width, dtype=float)
        last = np.minimum(first + width - 1, high)
        if width == 1:
            mass = binomial.probability(first, trials, rate, 1 - rate)
            return first, last, mass * (1 + binomial.relative_error(first, trials, rate)) + 1e-290
        # A difference of tails on the side where both are small, so that it keeps its digits. Where one block
        # ends, the next begins.
        edges = np.append(first - 1, last[-1])
        lower = binomial.lower_tail(edges, trials, rate, 1 - rate)
        upper = binomial.upper_tail(edges + 1, trials, rate, 1 - rate)
        error = np.maximum(
            binomial.relative_error(edges[:-1], trials, rate),
            binomial.relative_error(edges[1:] + 1, trials, rate),
        )
        left = lower[1:] - lower[:-1] + error * (lower[1:] + lower[:-1])
        right = upper[:-1] - upper[1:] + error * (upper[:-1] + upper[1:])
        return first, last, np.where(last < mean, left, right) + 1e-290
