"""Sums of independent privacy losses, by convolution after exponential tilting.

A Fourier transform has errors relative to the largest probability, 1e-16, and a δ of 1e-12 would drown in
them. So each loss is first weighted by e^{θL}, with θ such that the weighted sum has its mean near
the ε in question, and the weight is divided out again at the end: what was a tail is then the
bulk, and errors are relative to δ, however small.

What rounding, the finite transform and the tails outside it may add is bounded and added, so that every δ is
an upper bound. Compared with `dp_accounting`'s composition, which this is tested against, that
makes any δ from 1e-30 on meaningful, not only those well above 1e-15.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from panprivacy.accounting.privacy_loss import Array, Directions, PrivacyLoss
from panprivacy.errors import FieldError
from panprivacy.shown import plain

_UNIT = 2.0**-53
_OUTSIDE = 1e-16  # probability on either side of the lattice
_FINE = 100  # lattice points per spread of one part
_LARGEST_TRANSFORM = 2**18


class ComposedLoss:
    """The sum of independent losses, each a number of times."""

    def __init__(self, parts: Sequence[tuple[PrivacyLoss, int]]) -> None:
        self._parts = parts
        self._count = sum(times for _, times in parts)
        self._tells_all = any(loss.masses.sum() == 0 for loss, _ in parts)

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε), ε ≥ 0, in [0, 1]."""
        if self._tells_all:
            return 1.0
        rough = min(1.0, math.exp(min(0.0, _Sum(self._parts).log_height(epsilon))))
        return self._without_far_tails(0.1 * rough).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest ε ≥ 0 with δ(ε) ≤ `delta`, from above; infinity where there is none."""
        if self._tells_all:
            return math.inf
        found = self._without_far_tails(delta).epsilon(delta)
        if found == math.inf:
            found = _Sum(self._parts).epsilon(delta)
            if found == math.inf:
                return found
        # Both are upper bounds, which differ in the last digits, or in more of them where losses are rare.
        low, step = found, 2e-9
        while self.delta(found) > delta:
            low, found, step = found, max(found * (1 + step), 1e-15), 4 * step
        while found - low > 1e-6 * found:
            middle = (low + found) / 2
            if self.delta(middle) > delta:
                low = middle
            else:
                found = middle
        return found

    def _without_far_tails(self, delta: float) -> "_Sum":
        """The sum without losses that change a δ of this size by at most 1e-10 of it.

        Where a rare loss is far larger than the others, tilting would blow it up, and the lattice, which
        has to reach it, would become coarse.
        """
        far = 1e-10 * delta / self._count
        return _Sum([(loss.truncated(far), times) for loss, times in self._parts])


class _Sum:
    def __init__(self, parts: Sequence[tuple[PrivacyLoss, int]]) -> None:
        self._parts = parts
        count = sum(times for _, times in parts)
        self._variance = sum(times * loss.variance for loss, times in parts)
        self._largest = sum(times * loss.largest for loss, times in parts)
        self._infinite = -math.expm1(sum(times * _log_rest(loss.infinite) for loss, times in parts))
        deviation = math.sqrt(self._variance)
        # Splitting masses over the lattice adds at most spacing²/4 to each part's variance.
        self._spacing = max(
            deviation / math.sqrt(count) / _FINE, 24 * deviation / _LARGEST_TRANSFORM, 1e-12 * self._largest
        )
        self._put_on_lattice()

    def _put_on_lattice(self) -> None:
        self._lattice = [
            (*loss.on_lattice(self._spacing), times) for loss, times in self._parts if loss.largest > 0
        ]

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε), ε ≥ 0, in [0, 1]."""
        if epsilon >= self._largest:
            return min(1.0, self._infinite * (1 + 1e-12))
        return self._tilted(self._tilt_to(epsilon)).delta(epsilon)

    def log_height(self, epsilon: float) -> float:
        """A bound on ln of δ(ε) without the infinite part (Chernoff)."""
        tilt = self._tilt_to(epsilon)
        return self._log_moment(tilt)[0] - tilt * epsilon

    def _tilt_to(self, mean: float) -> float:
        """The tilt θ ≥ 0 at which the sum has about this mean."""
        if self._log_moment(self._steepest)[1] <= mean:
            return self._steepest
        return _smallest(lambda theta: self._log_moment(theta)[1] > mean, self._steepest)

    def epsilon(self, delta: float) -> float:
        """The smallest ε ≥ 0 with δ(ε) ≤ `delta`, from above; infinity where there is none."""
        if delta < self._infinite * (1 + 1e-12):
            return math.inf
        if self._largest == 0.0:
            return 0.0
        log_delta = math.log(delta - self._infinite) if delta > self._infinite else -math.inf

        def is_beyond(theta: float) -> bool:
            moment, mean = self._log_moment(theta)
            return moment - theta * mean < log_delta

        tilt = _smallest(is_beyond, self._steepest) if is_beyond(self._steepest) else self._steepest
        # Where masses lie far apart this tilt is too steep to be accurate: then once more, at what it gave.
        for _ in range(3):
            found = self._inverted(self._tilted(tilt), delta, max(0.0, self._log_moment(tilt)[1]))
            before, tilt = tilt, self._tilt_to(found)
            if abs(tilt - before) <= 1e-3 * before:
                break
        return found

    def _inverted(self, tilted: "_Tilted", delta: float, start: float) -> float:
        if tilted.delta(0.0) <= delta:
            return 0.0
        high = start
        step = max(high / 8, self._spacing)
        while tilted.delta(high) > delta:
            high += step
            step *= 2
            if high >= self._largest:  # basic composition: the largest losses add up
                return self._largest
        low = high
        while low > 0 and tilted.delta(low) <= delta:
            high, low = low, max(0.0, low - step)
            step *= 2
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            if tilted.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return min(high, self._largest)

    @cached_property
    def _steepest(self) -> float:
        """A tilt at which only the largest losses are left, or beyond every δ in question."""
        return 60.0 / max(math.sqrt(self._variance), 1e-3 * max(loss.largest for loss, _ in self._parts))

    def _log_moment(self, theta: float) -> tuple[float, float]:
        """ln E e^{θL} of the finite part, and its derivative: the mean of the tilted sum."""
        moment = mean = 0.0
        for index, masses, times in self._lattice:
            losses = index * self._spacing
            top = float((theta * losses).max())
            weights = masses * np.exp(theta * losses - top)
            total = float(weights.sum())
            moment += times * (top + math.log(total))
            mean += times * float((weights * losses).sum()) / total
        for loss, times in self._parts:
            if loss.largest == 0:
                moment += times * math.log(float(loss.masses.sum()))
        return moment, mean

    def _end(self, tilt: float, sign: int) -> float:
        """Where the tilted sum's probability of lying further out is at most `_OUTSIDE`."""
        moment, _ = self._log_moment(tilt)

        def is_beyond(turn: float) -> bool:
            there, mean = self._log_moment(tilt + sign * turn)
            return there - moment - sign * turn * mean <= math.log(_OUTSIDE)  # Chernoff

        furthest = 2 * self._steepest
        if is_beyond(furthest):
            return self._log_moment(tilt + sign * _smallest(is_beyond, furthest, 0.02))[1]
        return sum(
            times * self._spacing * float(index.max() if sign > 0 else index.min())
            for index, _, times in self._lattice
        )

    def _tilted(self, tilt: float) -> "_Tilted":
        while True:
            low, high = self._end(tilt, -1), self._end(tilt, 1)
            size = scipy.fft.next_fast_len(math.ceil((high - low) / self._spacing) + 4, real=True)
            if size <= 2 * _LARGEST_TRANSFORM:
                break
            self._spacing *= (high - low) / self._spacing / _LARGEST_TRANSFORM
            self._put_on_lattice()
        moment, _ = self._log_moment(tilt)
        # Rounding errors of one transform, of the weights and of the masses, relative to 1.
        largest = max(float(np.abs(index).max()) for index, _, _ in self._lattice) * self._spacing
        unit = _UNIT * (2048 + 8 * math.log2(size) + 4 * tilt * largest)
        log_size = np.zeros(size // 2 + 1)
        log_error = np.zeros(size // 2 + 1)
        phase = np.zeros(size // 2 + 1)
        for index, masses, times in self._lattice:
            exponent = tilt * index * self._spacing
            weights = masses * np.exp(exponent - exponent.max())
            dense = np.bincount(index % size, weights=weights / weights.sum(), minlength=size)
            transform = scipy.fft.rfft(dense)
            modulus = np.maximum(np.abs(transform), unit)
            log_size += times * np.log(modulus)
            log_error += times * np.log1p(unit / modulus)
            phase += times * np.angle(transform)
        product = np.exp(log_size)
        count = np.full(product.size, 2.0)
        count[0] = 1.0
        if size % 2 == 0:
            count[-1] = 1.0
        # In sum over the lattice, errors are at most the Euclidean norm of those of the transform.
        error = -np.expm1(-log_error) * np.exp(log_size + log_error) + unit * product
        rounding = math.sqrt(float((count * error**2).sum()))
        masses = scipy.fft.irfft(product * np.exp(1j * phase), size)
        first = math.floor(low / self._spacing) - 1
        return _Tilted(
            tilt,
            moment,
            (first + np.arange(size)) * self._spacing,
            np.maximum(0.0, np.roll(masses, -(first % size))),
            rounding + 2 * _OUTSIDE,
            self._infinite * (1 + 1e-12),
        )


@dataclass(frozen=True, eq=False)
class _Tilted:
    """A sum of losses, weighted by e^{tilt·L − log_moment}."""

    tilt: float
    log_moment: float
    losses: Array
    masses: Array
    error: float  # of any sum of masses, absolute
    infinite: float

    def delta(self, epsilon: float) -> float:
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        beyond = self.losses[start:] - epsilon
        # No weight below exceeds θ^θ/(1 + θ)^{1+θ}.
        heaviest = (
            math.exp(-self.tilt * math.log1p(1 / self.tilt)) / (1 + self.tilt) if self.tilt > 0 else 1.0
        )
        within = float((self.masses[start:] * np.exp(-self.tilt * beyond) * -np.expm1(-beyond)).sum())
        log_height = self.log_moment - self.tilt * epsilon
        if log_height > 700:
            return 1.0
        return min(1.0, self.infinite + math.exp(log_height) * (within + heaviest * self.error))


def _log_rest(probability: float) -> float:
    return math.log1p(-probability) if probability < 1 else -math.inf


def _smallest(is_beyond: Callable[[float], bool], high: float, tolerance: float = 1e-4) -> float:
    """About the smallest θ in 0..high at which a condition holds that holds from some θ on."""
    low = 0.0
    if is_beyond(0.0):
        return 0.0
    while high - low > tolerance * high:
        middle = (low + high) / 2 if low > 0 else high / 8
        if is_beyond(middle):
            high = middle
        else:
            low = middle
    return high


def composed(parts: Sequence[tuple[Directions, int]]) -> tuple[ComposedLoss, ...]:
    """The composition in each direction: one where both are the same."""
    one = ComposedLoss([(both[0], times) for both, times in parts])
    if all(both[0] is both[1] for both, _ in parts):
        return (one,)
    return one, ComposedLoss([(both[1], times) for both, times in parts])


def require_reachable(epsilon: float, delta: float) -> float:
    """ε, or FieldError where it is infinite."""
    if epsilon == math.inf:
        raise FieldError(
            "delta", f"must be larger: no ε is promised at {plain(delta)}, as some loss may be unbounded"
        )
    return epsilon
