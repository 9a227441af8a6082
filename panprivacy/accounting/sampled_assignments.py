"""The worst assignment of the other devices' bits if each device takes part with probability q.

Sum and number of reports are released. With m ones among N = n − 1 other bits, let δ_m be the divergence of
the release with the device's bit 1 from that with its bit 0. The other direction at m is δ_{N − m}, by
exchanging zeros and ones: so all m in one direction are all assignments in both.

**Up to `LARGEST_ENUMERATED` devices** all δ_m are added up, outcome by outcome (`every_divergence`).

**Beyond**, δ_m is bounded (`worst_sampled_divergence`). If the device takes part, give the observer the
numbers of ones, i, and of zeros, j, that take part. If it does not, draw one of the participants as its
stand-in, and give i and j of the rest. The release is then a function of i, j and S, which the observer
knows. S = G + the bit that the device or its stand-in reports, with G ~ Bin(i, 1 − p) + Bin(j, p). (If no
device takes part, nothing depends on the bit.) With c = i + j + 1 and I ~ Bin(m, q), J ~ Bin(N − m, q),

    Pr[device takes part, i, j] = q·Pr[I = i]·Pr[J = j],
    Pr[a one stands in, i, j] = (1 − q)·Pr[I = i + 1]·Pr[J = j]·(i + 1)/c = q·Pr[I = i]·Pr[J = j]·(m − i)/c,

likewise (N − m − j)/c for a zero. So with κ = ((m − i)·(1 − p) + (N − m − j)·p)/c, by binomial.py,

    δ_m ≤ U(m) = q·Σ_ij Pr[I = i]·Pr[J = j]·D_ij,
    D_ij = max over t of ((1 − p) − e^ε·p − (e^ε − 1)·κ)·Pr[G = t − 1] − (e^ε − 1)·(n/c)·Pr[G ≥ t].

For unanimous bits one of i, j is always 0 and the other is c − 1, which is released anyway: U is δ itself.
Elsewhere U is mostly smaller, so that the bound is the truth. Two steps make it quick:

- Blocks of i and of j. The first factor falls in κ, κ in i and j, and n/c in both; and with fewer bits in G
  the observer knows the remaining ones. So D of a block is at most what G at its smallest i and j gives with
  κ and c at its largest. Blocks are narrow at the places at which coarse ones add much.
- Ranges a ≤ m ≤ b. Which of the d = b − a others have ones is undecided. A randomized bit is the bit itself
  with probability 1 − 2p, otherwise a coin. A coin is, evenly, a randomized one or a randomized zero. Give
  the observer the bits of devices that report their bit itself, and the coins of the rest. So δ_m is at most
  the mean of U over a + X ones and N − b + Y zeros, with X and Y ~ Bin(d, p). If bits are hardly
  distinguishable from coins, little is given. Ranges are split if that exceeds the largest value known to be
  reached, as in assignments.py.
"""

import math
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.assignments import Inversion
from panprivacy.accounting.binomial import Numbers

MOST_WORK = 65_536
"""Blocks of pairs i, j, over all ranges of assignments, for a number that is stated."""

LESS_WORK = 16_384
"""The same for the computation of a whole curve."""

_OUTSIDE = 1e-40
_CLOSE = 1e-2  # relative, of δ: a range of assignments that may add no more is not split
_COARSE, _FINE, _FINEST = 64, 512, 4_096  # blocks of pairs i, j: the last of one assignment alone
_RARE = 0.01  # probability with which fewer undecided others hide a device than mostly
_EVENLY = 0.1  # as a share of the largest density of fine blocks: their density if nothing is added
_NEGLIGIBLE = 25.0  # see Inversion; relative to a bound that is some ten times δ
_DEEP = 1e-13  # probability outside all blocks, below which pairs are inverted at tilts of their own
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
    # δ_m = Σ over (count, sum) of max(0, Pr[outcome | 1] − e^ε·Pr[outcome | 0]).
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
    # Step 1: Pr[I = i] and Pr[J = j] for every m.
    m, numbers = np.arange(n)[:, None], np.arange(n)
    ones = binomial.probability(numbers, m, rate, 1 - rate)  # this number of the m take part
    zeros = binomial.probability(numbers, n - 1 - m, rate, 1 - rate)
    blocks: tuple[list[Numbers], list[Numbers]] = ([], [])
    sums = np.ones((1, 1))  # at [a, x]: Pr[x] for the sum of c reports, a of them about ones
    before = np.zeros((n, 0))
    for c in range(high + 1):
        # Step 2: the sum of c reports, from that of c − 1, with one more report about a zero or a one.
        if c > 0:
            with_zero = np.pad((1 - p) * sums, ((0, 0), (0, 1))) + np.pad(p * sums, ((0, 0), (1, 0)))
            with_one = np.pad(p * sums[-1], (0, 1)) + np.pad((1 - p) * sums[-1], (1, 0))
            sums = np.vstack([with_zero, with_one])
        if c < low - 1:
            continue
        # Step 3: Pr[c others take part, sum x] for every m: i of the ones and c − i of the zeros.
        others = np.zeros((n, c + 1))
        if c < n:
            others = (ones[:, : c + 1] * zeros[:, c::-1]) @ sums
        # Step 4: the device is absent, or present with a report that is 1 with 1 − p or p.
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
    n: int, p: float, rate: float, excess: float, growth: float, reached: float, most_work: int = MOST_WORK
) -> float:
    """An upper bound on δ_m over all assignments.

    Args:
        n: devices, the protected one included.
        p: probability that a bit is flipped, above 0 and below 1/2.
        rate: q, above 0 and below 1.
        excess: (1 − p) − e^ε·p, above 0.
        growth: e^ε − 1, at least 0.
        reached: the larger δ of the two unanimous assignments.
        most_work: blocks; the more, the tighter and the slower.
    """
    # Branch and bound over m, as in assignments.py. Unanimous assignments are known: ranges begin at 1.
    others, upper = n - 1, reached * (1 + _CLOSE)
    if others < 2:
        return upper
    outside = max(reached * _LEFT_OUT, 1e-45)
    bound = _Bound(p, rate, excess, growth, outside)
    # The range with the largest bound is refined first: by finer blocks, then by halves.
    open_ranges = [(-1.0, 1, others - 1, 0)]
    work = 0
    while work < most_work:
        found, first, last, blocks = open_ranges[0]
        if -found <= upper or blocks == _FINEST:
            break
        heappop(open_ranges)
        middle = (first + last) // 2
        parts, finer = [(first, last)], _FINE if blocks == _COARSE else _FINEST
        if blocks != _COARSE and first < last:
            parts, finer = [(first, middle), (middle + 1, last)], _COARSE
        for part_first, part_last in parts:
            part = bound.of_range(part_first, others - part_last, part_last - part_first, finer)
            heappush(open_ranges, (-min(part, -found), part_first, part_last, finer))
            work += finer
    return min(1.0, max(upper, -open_ranges[0][0]))


class _Bound:
    """U, from above."""

    def __init__(self, p: float, rate: float, excess: float, growth: float, outside: float) -> None:
        self._p, self._rate, self._excess, self._growth = p, rate, excess, growth
        self._outside, self._log_outside = outside, math.log(4 / outside)

    def of_range(self, ones: int, zeros: int, undecided: int, blocks: int) -> float:
        """The mean of U over ones + X and zeros + Y, with X and Y ~ Bin(undecided, p).

        U falls in both, so it is at most what it is at the least that X and Y are, but rarely. Those rare
        ones get what U is at the least of all but nearly impossible ones.
        """
        mean = undecided * self._p
        # Chernoff: Pr[X < μ − √(2·μ·ln(1/outside))] ≤ outside
        least = max(0, math.ceil(mean - math.sqrt(2 * mean * math.log(1 / self._outside))))
        found = self.of(ones + least, zeros + least, _COARSE if undecided else blocks) + 2 * self._outside
        if not undecided or blocks == _COARSE:
            return found
        mostly = binomial.window(undecided, self._p, 1 - self._p, _RARE / 2)[0]
        than_mostly = self.of(ones + mostly, zeros + mostly, blocks)
        return than_mostly + _RARE * (1 + 1e-9) * max(0.0, found - than_mostly)

    def of(self, ones: int, zeros: int, blocks: int) -> float:
        """U of these numbers of ones and zeros among the others, in about this number of blocks at most."""
        # Step 1: the i and j that matter, in coarse blocks.
        windows = [self._window(number) for number in (ones, zeros)]
        sizes = [high - low + 1 for low, high in windows]
        coarse = self._most(sizes, ones, zeros, _COARSE)
        edges = [
            np.arange(low, high + 1, -(-size // most), dtype=float)
            for (low, high), size, most in zip(windows, sizes, coarse, strict=True)
        ]
        added = self._added(ones, zeros, edges, windows)
        # Step 2: narrow blocks where coarse ones add much.
        if blocks > _COARSE and any(len(of) < size for of, size in zip(edges, sizes, strict=True)):
            most = self._most(sizes, ones, zeros, blocks)
            edges = [
                _finer(of, high, added.sum(axis=1 - axis), most[axis])
                for axis, (of, (_, high)) in enumerate(zip(edges, windows, strict=True))
            ]
            added = self._added(ones, zeros, edges, windows)
        # Step 3: U = q·Σ Pr[I = i]·Pr[J = j]·D_ij, and what lies outside.
        return self._rate * float(added.sum()) + self._outside

    def _most(self, sizes: list[int], ones: int, zeros: int, blocks: int) -> tuple[int, int]:
        """About this number of blocks of i and of j, of the same width."""
        spreads = [1 + math.sqrt(number * self._rate * (1 - self._rate)) for number in (ones, zeros)]
        of_ones = min(sizes[0], blocks, math.ceil(math.sqrt(blocks * spreads[0] / spreads[1])))
        of_zeros = min(sizes[1], math.ceil(blocks / of_ones))
        return min(sizes[0], math.ceil(blocks / of_zeros)), of_zeros

    def _added(self, ones: int, zeros: int, edges: list[Numbers], windows: list[tuple[int, int]]) -> Numbers:
        """What each block adds to U/q, at [block of i, block of j]: from its first i and j on."""
        (i_first, i_last, i_mass), (j_first, j_last, j_mass) = (
            self._blocks(number, first, high)
            for number, first, (_, high) in zip((ones, zeros), edges, windows, strict=True)
        )
        # κ and c of a block at its last i and j: absent is κ·c.
        reports = np.add.outer(i_last, j_last) + 1
        absent = np.add.outer((ones - i_last) * (1 - self._p), (zeros - j_last) * self._p)
        excess = self._excess - self._growth * absent / reports
        added = np.zeros(reports.shape)
        matters = excess > 0
        if not matters.any():
            return added
        # D_ij at the first i and j of the block, by inversion.
        excess = excess[matters]
        growth = self._growth * (ones + zeros + 1) / reports[matters]
        mass = np.outer(i_mass, j_mass)[matters]
        i, j = (first[of] for first, of in zip((i_first, j_first), matters.nonzero(), strict=True))
        tilts, divergences = np.log1p(growth / excess), np.zeros(len(i))
        # If δ is tiny, the cost of a common tilt to the few blocks far from it is not small against δ.
        alike = np.floor(np.log2(tilts + 1e-300)) if self._outside < _DEEP else np.zeros(len(tilts))
        for level in np.unique(alike):
            of = alike == level
            tilt = float(np.average(tilts[of], weights=mass[of] + 1e-300))
            reports_of = i[of] + j[of]
            inversion = Inversion(
                float(reports_of.max()), float(reports_of.min()), self._p, tilt, _NEGLIGIBLE
            )
            divergences[of] = inversion.bound(i[of], j[of], excess[of], growth[of])
        added[matters] = mass * divergences
        return added

    def _window(self, trials: int) -> tuple[int, int]:
        """The range of Bin(trials, q), except for a quarter of the allowed omission below and a quarter
        above: by Bernstein's inequality."""
        rate, log_outside = self._rate, self._log_outside
        mean, variance = trials * rate, trials * rate * (1 - rate)
        reach = log_outside / 3 + math.sqrt(log_outside**2 / 9 + 2 * variance * log_outside)
        return max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))

    def _blocks(self, trials: int, first: Numbers, high: int) -> tuple[Numbers, Numbers, Numbers]:
        """Blocks of Bin(trials, q) that begin there: first, last, and a bound on the probability of each."""
        rate, mean = self._rate, trials * self._rate
        last = np.append(first[1:] - 1, high)
        if len(first) == high - first[0] + 1:
            mass = binomial.probability(first, trials, rate, 1 - rate)
            return first, last, mass * (1 + binomial.relative_error(first, trials, rate)) + 1e-290
        # A difference of tails on the side where both are small, to keep its digits. Each block begins at the
        # end of the last one.
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


def _finer(first: Numbers, high: int, added: Numbers, most: int) -> Numbers:
    """The starts of at most this number of blocks: closer together at the places that add more.

    The excess of a block of width w is about w times what it adds. So the sum is least if w is inverse to the
    root of what a number of reports adds.
    """
    if most > high - first[0] or added.max() <= 0:
        return np.arange(first[0], high + 1)
    edges = np.append(first, high + 1)
    density = np.sqrt(added / np.diff(edges))
    density += _EVENLY * density.max()
    reached = np.append(0.0, np.cumsum(density * np.diff(edges)))
    found: Numbers = np.unique(
        np.floor(np.interp(np.linspace(0, reached[-1], most + 1)[:-1], reached, edges))
    )
    return found
