"""Privacy loss distributions: a curve δ(ε) as a random variable, and sums of such variables.

The privacy loss of an outcome o is L = ln(P(o)/Q(o)), o drawn from P. It says everything about a pair:

    δ(ε) = Pr[L = ∞] + E[max(0, 1 − e^{ε−L})],

and the losses of independent outputs add up. Two steps make numbers of this:

- **Connect the dots** (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022, Algorithm 1): a curve known
  at finitely many ε, connected by lines in e^ε, is the curve of a loss with finitely many values, and as
  δ is convex in e^ε, lies above the true one. By their Theorem (Zhu, Dong & Wang 2022, Theorem 10), replacing
  every part by one that lies above keeps the composition above.
- **Convolution after exponential tilting.** A Fourier transform has errors relative to the largest
  probability, 1e-16, and a δ of 1e-12 would drown in them. So each loss is first weighted by e^{θL},
  with θ such that the weighted sum has its mean near the ε in question, and the weight is divided out
  again at the end: what was a tail is then the bulk, and errors are relative to δ, however small.

What rounding, the finite transform and the tails outside it may add is bounded and added, so that every δ is
an upper bound. Compared with `dp_accounting`'s composition, which this is tested against, that
makes any δ from 1e-30 on meaningful, not only those well above 1e-15.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.errors import FieldError

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-38
"""Probability of losses that are taken as infinite: below every δ that is asked for, even times a million."""

LARGEST_LOSS = 600.0
"""Losses beyond are taken as infinite: their exponentials must stay numbers."""

_UNIT = 2.0**-53
_FLATNESS = 2.2e-3  # see `_dots`; a quarter of it is left, as middles become dots too
_MOST_DOTS = 1000
_OUTSIDE = 1e-16  # probability on either side of the lattice
_FINE = 100  # lattice points per spread of one part
_LARGEST_TRANSFORM = 2**18


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """A loss with finitely many values.

    Attributes:
        losses: its values, in nats.
        masses: their probabilities under P.
        infinite: probability that it is infinite.
    """

    losses: Array
    masses: Array
    infinite: float

    @cached_property
    def largest(self) -> float:
        """The largest finite loss."""
        return float(self.losses[self.masses > 0].max(initial=0.0))

    @cached_property
    def variance(self) -> float:
        """Variance of the finite part."""
        total = float(self.masses.sum()) or 1.0
        mean = float((self.masses * self.losses).sum()) / total
        return float((self.masses * (self.losses - mean) ** 2).sum()) / total

    def truncated(self, mass: float) -> "PrivacyLoss":
        """The same with the largest losses, of probability at most `mass` together, taken as infinite."""
        kept = self.masses.size - int(np.searchsorted(np.cumsum(self.masses[::-1]), mass, side="right"))
        kept = max(kept, 1)
        return PrivacyLoss(
            self.losses[:kept], self.masses[:kept], self.infinite + float(self.masses[kept:].sum())
        )

    def on_lattice(self, spacing: float) -> tuple[NDArray[np.int64], Array]:
        """Indices and masses of a loss on multiples of `spacing` whose curve lies above this one.

        Each mass is split between both neighbours such that P and Q keep their total (connect the dots).
        """
        below = np.floor(self.losses / spacing)
        up = np.expm1(-np.maximum(0.0, self.losses - below * spacing)) / math.expm1(-spacing)
        up = np.clip(up, 0.0, 1.0)
        index = below.astype(np.int64)
        return np.concatenate([index, index + 1]), np.concatenate([self.masses * (1 - up), self.masses * up])


Directions = tuple[PrivacyLoss, PrivacyLoss]
"""The losses of (P, Q) and of (Q, P); the same object twice where one stands for the worse of both."""


class Decomposable(PrivacyEvent):
    """An event that consists of independent parts, which compositions then see one by one."""

    @abstractmethod
    def parts(self) -> tuple[tuple[Directions, int], ...]:
        """Losses of each part, and how often it occurs; the first losses compose, and the second ones do."""


def symmetric_loss(delta: Callable[[float], float]) -> PrivacyLoss:
    """The loss of a pair whose curve is at least `delta` in both directions, hardly more.

    Args:
        delta: ε ≥ 0 → the larger of both directions' δ(ε), or a bound on it; need not be convex.

    Returns:
        A loss whose curve lies above every curve of two directions below `delta`.
    """
    end = _end(delta)
    if end == 0.0:
        return PrivacyLoss(np.zeros(1), np.array([1 - delta(0.0)]), delta(0.0))
    epsilons, deltas = _dots(delta, end)
    # The curve at −ε is 1 − e^{−ε}·(1 − δ(ε)); the line from there to ε passes 0 at this height.
    growth = np.expm1(epsilons[1:])
    deltas[0] = min(deltas[0], float(((2 * deltas[1:] + growth) / (growth + 2)).min()))
    return loss_of_curves(epsilons, deltas, epsilons, deltas)


def loss_of_curves(
    epsilons: Array, deltas: Array, reverse_epsilons: Array, reverse_deltas: Array
) -> PrivacyLoss:
    """The loss of (P, Q), P's divergence from Q and Q's from P each given at rising ε from 0 on."""
    losses, under_p, _ = _connected(epsilons, deltas)
    reverse_losses, _, reverse_under_p = _connected(reverse_epsilons, reverse_deltas)
    infinite = float(deltas[-1])
    rest = max(0.0, 1 - infinite - float(under_p.sum() + reverse_under_p.sum()))
    return PrivacyLoss(
        np.concatenate([-reverse_losses[::-1], [0.0], losses]),
        np.concatenate([reverse_under_p[::-1], [rest], under_p]),
        infinite,
    )


def grid(at_zero: float, end: float, step: float) -> Array:
    """ε from 0 to `end`: even steps within the spread of a Gaussian loss with this δ(0), then widening."""
    spread = 4 * min(2.5 * max(at_zero, 1e-300), end)
    last = math.asinh(end / spread)
    epsilons = spread * np.sinh(np.linspace(0.0, last, math.ceil(last / step) + 1))
    epsilons[-1] = end
    return epsilons


def _dots(delta: Callable[[float], float], end: float) -> tuple[Array, Array]:
    """ε from 0 to `end` and δ there: dense where the curve bends, be it at the atoms of a discrete loss.

    An interval is halved while the line over it is more than `_FLATNESS` to the right of the curve at its
    middle, in units of ε or the spread, whichever is larger; outside the bulk more is allowed.
    """
    known = {0.0: delta(0.0), end: delta(end)}
    spread = min(2.5 * known[0.0], end)
    intervals = [(0.0, end)]
    while intervals and len(known) < _MOST_DOTS:
        halves = []
        for low, high in intervals:
            middle = (low + high) / 2 if high < 8 * max(low, spread) else math.sqrt(max(low, spread) * high)
            known[middle] = value = delta(middle)
            slope = (known[low] - known[high]) / (math.exp(high) - math.exp(low)) * math.exp(middle)
            line = known[high] + (known[low] - known[high]) * math.expm1(high - middle) / -math.expm1(
                low - high
            ) * math.exp(middle - high)
            allowed = _FLATNESS * max(middle, spread) * (1 + (middle / (4 * spread)) ** 2)
            if high - low > 1e-4 * high and (high - low > spread or line - value > allowed * slope):
                halves += [(low, middle), (middle, high)]
        intervals = halves
    epsilons = sorted(known)
    return np.array(epsilons), np.array([known[epsilon] for epsilon in epsilons])


def _connected(epsilons: Array, deltas: Array) -> tuple[Array, Array, Array]:
    """Losses above 0 of the curve that connects the dots, their masses under P, and those under Q."""
    growth = np.expm1(epsilons)
    kept = _lower_hull(growth, deltas)
    losses, deltas, growth = epsilons[kept], deltas[kept], growth[kept]
    slopes = np.append(np.diff(deltas) / np.diff(growth), 0.0)  # −Q[L ≥ ε], from each ε to the next
    under_q = np.maximum(0.0, np.diff(slopes))
    return losses[1:], under_q * (1 + growth[1:]), under_q


def _end(delta: Callable[[float], float]) -> float:
    """An ε from which on δ is negligible, or as small as it gets; where δ drops at once, just there."""
    target = max(NEGLIGIBLE, delta(LARGEST_LOSS) * (1 + 1e-9))
    if delta(0.0) <= target:
        return 0.0
    low, high = 0.0, 1.0
    while high < LARGEST_LOSS and delta(high) > target:
        low, high = high, min(2 * high, LARGEST_LOSS)
    while low == 0.0:
        if delta(high / 2) > target:
            low = high / 2
        else:
            high /= 2
    at_low = delta(low)
    while high - low > 0.01 * high or (at_low > 1e3 * target and high - low > 1e-9 * high):
        middle = (low + high) / 2
        at_middle = delta(middle)
        if at_middle <= target:
            high = middle
        else:
            low, at_low = middle, at_middle
    return high


def _lower_hull(x: Array, y: Array) -> NDArray[np.int64]:
    """Indices of the vertices of the lower convex hull of the points, y first made non-increasing."""
    y = np.minimum.accumulate(y)
    kept: list[int] = []
    for i in range(x.size):
        while len(kept) >= 2:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept)


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


@lru_cache(maxsize=1024)
def symmetric_loss_of(event: PrivacyEvent) -> PrivacyLoss:
    """The loss of an event of which only its curve is used."""
    return symmetric_loss(event.delta_bound)


def parts_of(event: PrivacyEvent) -> tuple[tuple[Directions, int], ...]:
    """The independent parts of any event; one, of which only the curve is used, where it names none."""
    if isinstance(event, Decomposable):
        return event.parts()
    loss = symmetric_loss_of(event)
    return (((loss, loss), 1),)


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
            "delta", f"must be larger: no ε is promised at {delta:g}, as some loss may be unbounded"
        )
    return epsilon
