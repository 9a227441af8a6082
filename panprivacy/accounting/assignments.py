"""The worst assignment of the other devices' bits, proved without trying all of them.

With m ones among N other bits, S_m ~ Bin(m, 1 − p) + Bin(N − m, p), and an observer's advantage is

    g(m, N − m) = max over t of excess·Pr[S_m = t − 1] − growth·Pr[S_m ≥ t]      (see binomial.py).

Unanimous bits are *not* always the worst. They have the worst skewness, but other assignments may put the
lattice of sums better against the threshold. Then δ is larger by 20% at n = 20, ε₀ = 3 and small ε, and by
0.07% at n = 10,000, ε₀ = 2, ε = 0.087. So all m are covered, by branch and bound. An observer that is given
some of the bits knows more; hence for all m from a to b

    g(m, N − m) ≤ g(a, N − b),

because b − a bits have been given. A range whose bound is below the largest value found so far is left;
another one is split in two.

g is computed by numerical inversion of the characteristic function. Tilt S by θ with
e^θ = (excess + growth)/excess: Pr[S̃ = x] ∝ e^{θx}·Pr[S = x]. The maximum of f(t) is g. It grows from t to t
+ 1 exactly when Pr[S̃ = t] > Pr[S̃ = t − 1]. So the maximum is at t = 1 + the mode of S̃. The mode of a sum
of independent bits is its mean, rounded up or down (Darroch 1964). Over L frequencies

    f(t) = (1/L)·Σ_j Re e^{K(s) − s·t}·(excess·e^s − growth/(1 − e^{−s})),   s = θ + 2πij/L,

up to aliasing, which L makes smaller than 1e-40; K is the cumulant generating function of S.
"""

import math
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.binomial import Numbers
from panprivacy.accounting.rounding import UNIT, log_one_plus

LARGEST_ENUMERATED = 200
"""Number of devices up to which every assignment of the others' inputs is computed one by one."""

FEWEST_OTHERS = 32
"""Number of other devices below which the bounds on ranges of assignments would give the observer too many
bits."""

MOST_RANGES = 1_024
"""Number of ranges of assignments that are bounded at once."""

FEWER_RANGES = 128
"""The same for the computation of a whole curve."""

Counts = NDArray[np.int64]
Complex = NDArray[np.complex128]
Value = float | Numbers

_NEGLIGIBLE = 50.0
_LARGEST_EXPONENT = 600.0
_UNKNOWN = 1 - 1 / FEWEST_OTHERS  # at least this share of the other bits is not given to the observer
_TOLERANCE = 1e-10
_MOST_FREQUENCIES = 8_192
_AT_ONCE = 2**22  # terms in one array, for the sake of memory


def worst_divergence(
    others: int, p: float, excess: float, growth: float, most_ranges: int = MOST_RANGES
) -> float:
    """An upper bound on g over all assignments.

    It is the largest g itself, to a relative 1e-9, unless more than `most_ranges` stay open at once. That
    happens for large N, or if growth is so small that all assignments are alike. Then it is at most a factor
    1 + (1 + z²)/(2·most_ranges) above the largest, about, with the threshold z standard deviations out.

    Args:
        others: N, at least `FEWEST_OTHERS`.
        p: probability that a bit is flipped, above 0 and below 1/2.
        excess: (1 − p) − e^ε·p, above 0.
        growth: e^ε − 1, at least 0.
        most_ranges: the more, the tighter and the slower.
    """
    inversion = Inversion(others, others * _UNKNOWN, p, math.log1p(growth / excess))
    # Step 1: ranges a..b of m, each bounded by g(a, N − b). Of unanimous bits the bound is a value reached.
    edges = np.linspace(0, others + 1, FEWEST_OTHERS + 1).astype(np.int64)
    first = np.concatenate([edges[:-1], [0, others]])
    last = np.concatenate([edges[1:] - 1, [0, others]])
    upper = found = 0.0
    while len(first):
        bounds = inversion.bound(first, others - last, excess, growth)
        # Step 2: single assignments raise the value reached; ranges that cannot exceed it are settled.
        single = first == last
        found = max(found, float(bounds[single].max(initial=0.0)))
        settled = single | (bounds <= found * (1 + _TOLERANCE)) | (len(first) > most_ranges)
        upper = max(upper, float(bounds[settled].max(initial=0.0)))
        # Step 3: halve the others. They stay in order, which `bound` uses.
        first, last = first[~settled], last[~settled]
        middle = (first + last) // 2
        first, last = np.column_stack([first, middle + 1]).ravel(), np.column_stack([middle, last]).ravel()
    return upper


class Inversion:
    """g(ones, zeros) for many pairs of numbers of bits, by one inversion at a common tilt.

    Args:
        largest: the largest ones + zeros that is asked for.
        smallest: the smallest.
        p: as in `worst_divergence`.
        tilt: θ; any above 0 is correct, and the nearer to log1p(growth/excess), the more digits are right.
        negligible: a frequency at which the characteristic function is below e^−negligible is left out, and
            bounded.

    If that needs more than `_MOST_FREQUENCIES`, the observer is given part of the ones and of the zeros, so
    that g is bounded from above with fewer. That happens only if tilting makes one of the two 10⁵ times as
    certain as the other, and there are millions of bits. Then ε is above 5, and n far more than any δ asks
    for.
    """

    def __init__(
        self, largest: float, smallest: float, p: float, tilt: float, negligible: float = _NEGLIGIBLE
    ) -> None:
        self._p, self._hidden = p, 1.0
        theta, length, size = _frequencies(largest, smallest, p, tilt, negligible)
        while size > _MOST_FREQUENCIES:  # it grows with the root of the number of bits, at most
            self._hidden *= 0.9 * (_MOST_FREQUENCIES / size) ** 2
            hidden = largest * self._hidden, smallest * self._hidden - 2  # rounded down, of ones and of zeros
            theta, length, size = _frequencies(*hidden, p, tilt, negligible)
        count = np.full(size, 2.0)  # for −ω as well
        count[0] = 1.0
        if 2 * (size - 1) == length:
            count[-1] = 1.0
        frequency = 2 * math.pi * np.arange(size) / length
        self._s: Complex = np.asarray(theta + 1j * frequency)
        self._length = length
        self._zero = _cumulant(p, theta, frequency)
        self._one = _cumulant(p, -theta, -frequency)  # of minus the flip; the one itself shifts t
        decay = -_expm1(-theta, -frequency)
        shifted = np.exp(-self._s[:, None] * np.arange(2)) * (count / length)[:, None]
        self._at, self._tail = np.exp(self._s)[:, None] * shifted, shifted / decay[:, None]
        both = np.concatenate([self._at, self._tail], axis=1).T
        self._real = np.ascontiguousarray(both.conj()).view(float)  # times terms: the real part of a product
        left_out = math.exp(theta - negligible), -math.exp(-negligible) / math.expm1(-theta)
        self._rounding = []  # of the two parts: what every term adds to the error, and what sizes multiply
        for weights, rest in zip((self._at, self._tail), left_out, strict=True):
            size_of = np.abs(weights[:, 0]) * 8 * UNIT
            per = [float(size_of @ np.abs(x)) for x in (self._one, self._zero, self._s)]
            self._rounding.append((8 * float(size_of.sum()) + rest, *per))

    def bound(self, ones: Counts | Numbers, zeros: Counts | Numbers, excess: Value, growth: Value) -> Numbers:
        """g(ones, zeros) plus a bound on all errors of its computation, at most 1.

        Args:
            ones, zeros: numbers of bits, one-dimensional.
            excess: above 0; growth: at least 0. One for all, or one for each.
        """
        most = max(1, _AT_ONCE // len(self._s))
        if len(ones) > most:
            parts = [slice(i, i + most) for i in range(0, len(ones), most)]
            return np.concatenate([
                self.bound(ones[part], zeros[part], _part_of(excess, part), _part_of(growth, part))
                for part in parts
            ])  # fmt: skip
        if self._hidden < 1:
            ones, zeros = np.floor(ones * self._hidden), np.floor(zeros * self._hidden)
        # Step 1: t is 1 + the mode of the tilted sum, its mean rounded up or down (Darroch 1964).
        ratio = growth / excess
        tilt = math.log1p(ratio) if isinstance(ratio, float) else np.log1p(ratio)
        mean = ones * (1 - _tilted(self._p, -tilt)) + zeros * _tilted(self._p, tilt)
        shift = np.floor(mean) + 1 - ones
        # Step 2: e^{K(s) − s·t} at each frequency, in units of its value e^height at frequency 0.
        height = ones * self._one[0].real + zeros * self._zero[0].real - shift * self._s[0].real
        terms = self._terms(ones, zeros, shift)
        # Step 3: the sum over frequencies, for both t; its maximum is g.
        if isinstance(excess, float):
            found = (terms @ (excess * self._at - growth * self._tail)).real.max(axis=1)
        else:
            # Too small for threads of BLAS, which cost more than they save.
            both = np.einsum("ij,kj->ik", terms.view(float), self._real)
            at, tail = both[:, :2], both[:, 2:]
            found = (excess[:, None] * at - np.reshape(growth, (-1, 1)) * tail).max(axis=1)
        # Step 4: the errors. No term is larger than 1, and each errs by the rounding of its exponent.
        sizes = ones, zeros, np.abs(shift)
        at_error, tail_error = (
            part[0] + sum(size * per for size, per in zip(sizes, part[1:], strict=True))
            for part in self._rounding
        )
        error = excess * at_error + growth * tail_error
        scale = np.exp(np.minimum(height, _LARGEST_EXPONENT))  # beyond, only the limit of 1 holds
        found = np.where(height > _LARGEST_EXPONENT, 1.0, (found + error) * scale)
        upper: Numbers = np.clip(found + 1e-40, 0.0, 1.0)
        return upper

    def _terms(self, ones: Counts | Numbers, zeros: Counts | Numbers, shift: Numbers) -> Complex:
        """e^{K(s) − s·t} at each frequency, divided by what it is at frequency 0.

        If few numbers of ones meet few numbers of zeros, as factors: each number's power is computed once,
        and e^{−s·t} is a root of unity. None of the factors is larger than 1, so no digit is lost.
        """
        one, zero = self._one - self._one[0].real, self._zero - self._zero[0].real
        # Searching for equal numbers takes as long as the powers of a few ranges, whose ends all differ.
        factors = None if (ones[1:] > ones[:-1]).all() else _few(ones, zeros)
        if factors is None:
            turn = shift[:, None] * (self._s - self._s[0])
            return np.asarray(np.exp(ones[:, None] * one + zeros[:, None] * zero - turn))
        (few_ones, of_one), (few_zeros, of_zero) = factors
        turned = np.multiply.outer(-shift.astype(np.int64), np.arange(len(one))) % self._length
        terms: Complex = np.exp(2j * math.pi / self._length * np.arange(self._length))[turned]
        terms *= np.exp(np.multiply.outer(few_ones, one))[of_one]
        terms *= np.exp(np.multiply.outer(few_zeros, zero))[of_zero]
        return terms


def _part_of(value: Value, part: slice) -> Value:
    """The part of what there is one of for each; otherwise what there is one of for all."""
    return value if isinstance(value, float) else value[part]


def _frequencies(
    largest: float, smallest: float, p: float, tilt: float, negligible: float
) -> tuple[float, int, int]:
    """θ, L, and how many frequencies from 0 on are not negligible; arguments as in `Inversion`."""
    # 1 − e^−s must not be so near 0 that L had to be long.
    theta = max(tilt, 1 / math.sqrt(1 + largest * p * (1 - p)))
    variances = [r * (1 - r) for r in (_tilted(p, theta), _tilted(p, -theta))]
    # Bernstein: what lies L away is below e^-100, as is e^(−θ·L).
    length = math.ceil(max(16 * math.sqrt(largest * max(variances)) + 76, 100 / theta))
    # A bit's characteristic function has modulus √(1 − 2v·(1 − cos ω)), which falls up to π.
    needed = (negligible + math.log(length)) / smallest if smallest > 0 else math.inf
    cosine = 1 + math.expm1(-2 * needed) / (2 * min(variances))
    size = 1 + length // 2
    if cosine > -1:
        size = min(size, 2 + math.floor(math.acos(cosine) * length / (2 * math.pi)))
    return theta, length, size


def _few(*numbers: Counts | Numbers) -> list[tuple[Any, Any]] | None:
    """The distinct values of each with their indices; None if there are too many to be of use."""
    found = [np.unique(each, return_inverse=True) for each in numbers]
    return found if 4 * sum(len(different) for different, _ in found) <= len(numbers[0]) else None


@overload
def _tilted(p: float, theta: float) -> float: ...
@overload
def _tilted(p: float, theta: Numbers) -> Numbers: ...
def _tilted(p: float, theta: Value) -> Value:
    """p·e^θ/(1 − p + p·e^θ)."""
    if isinstance(theta, float):  # a tenth of the time
        return p * math.exp(theta) / (1 + p * math.expm1(theta))
    found: Numbers = p * np.exp(theta) / (1 + p * np.expm1(theta))
    return found


def _expm1(theta: float, frequency: Numbers) -> Complex:
    """e^{θ + iω} − 1, each part accurate relative to itself."""
    growth = math.exp(theta)
    real = math.expm1(theta) - 2 * growth * np.sin(frequency / 2) ** 2
    return np.asarray(real + 1j * growth * np.sin(frequency))


def _cumulant(p: float, theta: float, frequency: Numbers) -> Complex:
    """log(1 + p·(e^{θ + iω} − 1)), accurate if it is small, because it is multiplied by a large number."""
    return log_one_plus(p * _expm1(theta, frequency))
