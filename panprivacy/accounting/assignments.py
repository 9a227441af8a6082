"""The worst assignment of the other devices' bits, proved without trying all of them.

With m ones among N other bits, S_m ~ Bin(m, 1 − p) + Bin(N − m, p), and an observer's advantage is

    g(m, N − m) = max over t of excess·Pr[S_m = t − 1] − growth·Pr[S_m ≥ t]      (see hockey_stick.py).

Unanimous bits are *not* always the worst: they have the worst skewness, but other assignments may put the
lattice of sums better against the threshold (δ is larger by 20 % at n = 20, ε₀ = 3, small ε; by 0.07 % at
n = 10,000, ε₀ = 2, ε = 0.087). So all m are covered, by branch and bound. Who is told some of the bits
knows more; hence for all m from a to b

    g(m, N − m) ≤ g(a, N − b),

where b − a bits have been told. A range whose bound is below the largest value found so far is left; another
one is split in two.

g is computed by numerical inversion of the characteristic function. Tilt S by θ with
e^θ = (excess + growth)/excess: Pr[S̃ = x] ∝ e^{θx}·Pr[S = x]. Then f(t), of which g is the maximum,
grows from t to t + 1 exactly where Pr[S̃ = t] > Pr[S̃ = t − 1], so that the maximum is at t = 1 + the mode
of S̃; and the mode of a sum of independent bits is its mean, rounded up or down (Darroch 1964).
Over L frequencies

    f(t) = (1/L)·Σ_j Re e^{K(s) − s·t}·(excess·e^s − growth/(1 − e^{−s})),   s = θ + 2πij/L,

up to aliasing, which L makes smaller than 1e-40; K is the cumulant generating function of S.
"""

import math

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.binomial import Numbers

FEWEST_OTHERS = 32
"""Number of other devices below which ranges of assignments would be told too many bits."""

MOST_RANGES = 1_024
"""Number of ranges of assignments that are looked at, at once."""

FEWER_RANGES = 128
"""As many where a whole curve is computed."""

Counts = NDArray[np.int64]
Complex = NDArray[np.complex128]

_UNIT = 2.0**-53
_NEGLIGIBLE = 50.0  # a frequency at which the characteristic function is below e^-50 is left out, and bounded
_UNKNOWN = 1 - 1 / FEWEST_OTHERS  # at least this share of the other bits is not told
_TOLERANCE = 1e-10
_AT_ONCE = 1_024  # ranges in one array, for the sake of memory


def worst_divergence(
    others: int, p: float, excess: float, growth: float, most_ranges: int = MOST_RANGES
) -> float:
    """An upper bound on g over all assignments.

    It is the largest g itself, to a relative 1e-9, unless more than `most_ranges` stay open at once:
    for large N, or where growth is so small that all assignments are alike. Then it is at most a factor
    1 + (1 + z²)/(2·most_ranges) above the largest, about, with the threshold z standard deviations out.

    Args:
        others: N, at least `FEWEST_OTHERS`.
        p: probability that a bit is flipped, above 0 and below 1/2.
        excess: (1 − p) − e^ε·p, above 0.
        growth: e^ε − 1, at least 0.
        most_ranges: the more, the tighter and the slower.
    """
    inversion = _Inversion(others, p, excess, growth)
    upper = found = float(inversion.bound(np.array([0, others]), np.array([others, 0])).max())
    edges = np.linspace(0, others + 1, FEWEST_OTHERS + 1).astype(np.int64)
    first, last = edges[:-1], edges[1:] - 1
    while len(first):
        bounds = np.concatenate([
            inversion.bound(first[i : i + _AT_ONCE], others - last[i : i + _AT_ONCE])
            for i in range(0, len(first), _AT_ONCE)
        ])  # fmt: skip
        single = first == last
        found = max(found, float(bounds[single].max(initial=0.0)))
        settled = single | (bounds <= found * (1 + _TOLERANCE)) | (len(first) > most_ranges)
        upper = max(upper, float(bounds[settled].max(initial=0.0)))
        first, last = first[~settled], last[~settled]
        middle = (first + last) // 2
        first, last = np.concatenate([first, middle + 1]), np.concatenate([middle, last])
    return upper


class _Inversion:
    """g(ones, zeros) for any numbers that leave at least `_UNKNOWN` of all bits, at a common tilt."""

    def __init__(self, others: int, p: float, excess: float, growth: float) -> None:
        self._p = p
        self._tilt = math.log1p(growth / excess)
        # Any tilt is correct; 1 − e^−s must not be so near 0 that L had to be long.
        theta = max(self._tilt, 1 / math.sqrt(1 + others * p * (1 - p)))
        tilted = (_tilted(p, theta), _tilted(p, -theta))
        variances = [r * (1 - r) for r in tilted]
        # Bernstein: what lies L away is below e^-100, as is e^(−θ·L).
        length = math.ceil(max(16 * math.sqrt(others * max(variances)) + 76, 100 / theta))
        frequency = 2 * math.pi * np.arange(length // 2 + 1) / length
        # A bit's characteristic function has modulus √(1 − 2v·(1 − cos ω)), which falls up to π.
        losses = [-np.log1p(-2 * v * (1 - np.cos(frequency[:-1]))) / 2 for v in variances]
        matters = others * _UNKNOWN * np.minimum(*losses) < _NEGLIGIBLE + math.log(length)
        size = len(frequency) if matters.all() else int(np.argmin(matters)) + 1
        count = np.full(size, 2.0)  # for −ω as well
        count[0] = 1.0
        if 2 * (size - 1) == length:
            count[-1] = 1.0
        frequency = frequency[:size]
        self._s: Complex = np.asarray(theta + 1j * frequency)
        self._zero = _cumulant(p, theta, frequency)
        self._one = _cumulant(p, -theta, -frequency)  # of minus the flip; the one itself shifts t
        decay = -_expm1(-theta, -frequency)
        weight = (excess * np.exp(self._s) - growth / decay) * count / length
        self._weights = weight[:, None] * np.exp(-self._s[:, None] * np.arange(2))
        self._left_out = math.exp(-_NEGLIGIBLE) * (excess * math.exp(theta) + growth / -math.expm1(-theta))

    def bound(self, ones: Counts, zeros: Counts) -> Numbers:
        """g(ones, zeros) plus a bound on all errors of its computation, at most 1."""
        mean = ones * (1 - _tilted(self._p, -self._tilt)) + zeros * _tilted(self._p, self._tilt)
        shift = (np.floor(mean) + 1 - ones)[:, None]
        exponent = ones[:, None] * self._one + zeros[:, None] * self._zero - shift * self._s
        height = exponent[:, :1].real
        terms = np.exp(exponent - height)
        found = (terms @ self._weights).real.max(axis=1)
        sizes = ones[:, None] * np.abs(self._one) + zeros[:, None] * np.abs(self._zero)
        rounding = 8 * _UNIT * (8 + sizes + np.abs(shift * self._s))
        error = (np.abs(terms) * rounding) @ np.abs(self._weights[:, 0]) + self._left_out
        upper: Numbers = np.clip((found + error) * np.exp(height[:, 0]) + 1e-40, 0.0, 1.0)
        return upper


def _tilted(p: float, theta: float) -> float:
    """p·e^θ/(1 − p + p·e^θ)."""
    return p * math.exp(theta) / (1 + p * math.expm1(theta))


def _expm1(theta: float, frequency: Numbers) -> Complex:
    """e^{θ + iω} − 1, each part accurate relative to itself."""
    growth = math.exp(theta)
    real = math.expm1(theta) - 2 * growth * np.sin(frequency / 2) ** 2
    return np.asarray(real + 1j * growth * np.sin(frequency))


def _cumulant(p: float, theta: float, frequency: Numbers) -> Complex:
    """log(1 + p·(e^{θ + iω} − 1)), accurate where it is small, for it is multiplied by many."""
    w = p * _expm1(theta, frequency)
    return np.asarray(np.log1p(2 * w.real + w.real**2 + w.imag**2) / 2 + 1j * np.arctan2(w.imag, 1 + w.real))
