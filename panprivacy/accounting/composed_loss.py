"""Sums of independent privacy losses, by convolution after exponential tilting.

A Fourier transform has errors relative to the largest probability, 1e-16, and a δ of 1e-12 would drown in
them. So each loss is first weighted by e^{θL}, with θ such that the weighted sum has its mean near the ε in
question. What was a tail is then the bulk, and errors are relative to δ, however small. At the end the weight
is divided out again.

One ε is computed in these steps; all are our own but for the dots of step 3:

1. losses too rare to matter are taken as infinite (`ComposedLoss._without_rare_losses`);
2. a tilt θ puts the weighted mean near ε, and very negative losses are raised (`_LossParts.tilted`);
3. every loss moves to a lattice, by connecting the dots (Doroshenko et al. 2022, Algorithm 1) or upwards;
4. the lattice ends beyond which little weight lies, by Chernoff's bound (`_LossParts._end`);
5. the weighted losses are convolved by one transform (`_convolved`);
6. the weights are divided out, and the bounds on all errors added (`_TiltedSum.delta`).

The errors of rounding, of the finite transform and of the tails outside it are bounded and added, so that
every δ is an upper bound. If losses are rare and far larger than ε, no weights suit both ε and them. Then
that bound may be a part of δ, and the transform is repeated in extended precision if the processor has it.
Compared with `dp_accounting`'s composition, which this is tested against, that makes any δ from 1e-30 on
meaningful, not only those well above 1e-15.

Everything is chosen for the ε in question. Losses too rare to matter at it are taken as infinite at the upper
end, and raised to the next one at the lower. Otherwise a lattice that has to reach them would be coarse. It
is as fine as `_ACCURACY` asks for. All ε of one cell have the same lattice, so that δ(ε) and ε(δ) are inverse
to each other.

Two losses need none of this: `LossSum` adds up all pairs of their values.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from panprivacy.accounting.loss_sum import LossSum
from panprivacy.accounting.privacy_loss import NEGLIGIBLE, Array, Directions, PrivacyLoss
from panprivacy.accounting.rounding import UNIT
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError

_FINER_UNIT = float(np.finfo(np.longdouble).epsneg)  # 2^-64 on x86, if processors have such numbers
_ACCURACY = 3e-5  # of ε: by how much the lattice may raise it
_OF_SPREAD = 1e-6  # as a share of the spread of losses: the same if ε is far below it
_ATOM = 0.1  # probability from which on one loss makes δ(ε) bend
_MOST_ATOMS = 64  # parts with such a loss that are rounded up
_UPWARDS = 2e-4  # of ε: by how much rounding up may raise it
_RARE = 1e-7  # of δ: what rare losses may add
_RAISED = 1e-12  # probability, if weighted, of very negative losses that are not distinguished
_FINEST = 1e-12  # of the largest loss
_OUTSIDE = 1e-14  # probability on either side of the lattice
_LARGEST_TRANSFORM = 2**21
_OF_ROUNDING = 1e-5  # of δ: from which share of rounding errors on numbers with more digits are used
_NOTHING = -80.0  # ln of what a frequency may be left out at
_CELL = 0.05  # width in ln ε
_SMALLEST_EPSILON = 1e-15  # all below are in one cell
_ROUNDED_UP = 1 + 1e-12


class ComposedLoss:
    """The sum of independent losses, each a number of times."""

    def __init__(self, parts: Sequence[tuple[PrivacyLoss, int]]) -> None:
        self._parts = parts
        self._count = sum(times for _, times in parts)
        self._reveals_all = any(loss.masses.sum() == 0 for loss, _ in parts)
        self._infinite = -math.expm1(sum(times * _log_rest(loss.infinite) for loss, times in parts))
        self._largest = sum(times * loss.largest for loss, times in parts)
        self._cells: dict[int, _TiltedSum] = {}

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε), ε ≥ 0, in [0, 1]."""
        if self._reveals_all:
            return 1.0
        if epsilon >= self._largest:  # basic composition: the largest losses add up
            return min(1.0, self._infinite * _ROUNDED_UP)
        return self._in_cell(_cell_of(epsilon)).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest ε ≥ 0 with δ(ε) ≤ `delta`, from above; infinity if there is none."""
        if self._reveals_all or delta < self._infinite * _ROUNDED_UP:
            return math.inf
        if self._largest == 0.0:
            return 0.0
        above, below = -1, _cell_of(self._largest) + 1  # cells with δ(ε) above `delta`, and cells without
        cell = _cell_of(self._without_losses_below(0.1 * delta).rough_epsilon(delta))
        while below - above > 1:
            cell = min(max(cell, above + 1), below - 1)
            tilted = self._in_cell(cell)
            start, end = _start_of(cell), _start_of(cell + 1)
            if tilted.delta(start) <= delta:
                below = cell
            elif tilted.delta(end) > delta:
                above = cell
            else:
                return min(tilted.epsilon(delta, start, end), self._largest)
            cell = _cell_of(tilted.epsilon(delta, 0.0, self._largest))
        return min(_start_of(below), self._largest)

    def _in_cell(self, cell: int) -> "_TiltedSum":
        if cell not in self._cells:
            while len(self._cells) > 1:  # up to 16 MB each
                self._cells.pop(next(iter(self._cells)))
            # The lattice of a cell is chosen for its middle.
            epsilon = math.sqrt(_start_of(cell) * _start_of(cell + 1))
            self._cells[cell] = self._without_rare_losses(epsilon).tilted(epsilon)
        return self._cells[cell]

    def _without_rare_losses(self, epsilon: float) -> "_LossParts":
        """The sum without losses that are too rare to matter at this ε.

        A bound on δ gives how rare that is: one of the largest losses occurs, or the others exceed ε
        (Chernoff), for the best choice of what is large.
        """
        # Step 1.
        rough = math.exp(min(0.0, self._without_losses_below(NEGLIGIBLE).log_height(epsilon)))
        while rough > NEGLIGIBLE:
            large = 1e-2 * rough
            others = math.exp(min(0.0, self._without_losses_below(large).log_height(epsilon)))
            if others > large:
                break
            rough = large
        return self._without_losses_below(max(_RARE * rough, NEGLIGIBLE))

    def _without_losses_below(self, probability: float) -> "_LossParts":
        return _LossParts([(loss.truncated(probability / self._count), times) for loss, times in self._parts])


class _LossParts:
    def __init__(self, parts: Sequence[tuple[PrivacyLoss, int]]) -> None:
        self._parts = parts
        self._count = sum(times for _, times in parts)
        self._variance = sum(times * loss.variance for loss, times in parts)
        self._infinite = -math.expm1(sum(times * _log_rest(loss.infinite) for loss, times in parts))
        self._finite = [
            (loss.losses[loss.masses > 0], loss.masses[loss.masses > 0], times) for loss, times in parts
        ]

    def log_height(self, epsilon: float) -> float:
        """A bound on ln of δ(ε) without the infinite part (Chernoff)."""
        tilt = self._tilt_to(epsilon)
        return _moment(self._finite, tilt).log - tilt * epsilon + math.log(_heaviest(tilt))

    def rough_epsilon(self, delta: float) -> float:
        """About the ε of this δ, by the saddle point: a start."""
        log_delta = math.log(delta - self._infinite) if delta > self._infinite else -math.inf

        def is_beyond(theta: float) -> bool:
            moment = _moment(self._finite, theta)
            beyond = theta * (1 + theta) * math.sqrt(2 * math.pi * moment.variance)
            return moment.log - theta * moment.mean - math.log(max(beyond, 1.0)) < log_delta

        tilt = _smallest(is_beyond, self._steepest) if is_beyond(self._steepest) else self._steepest
        return max(0.0, _moment(self._finite, tilt).mean)

    def tilted(self, epsilon: float) -> "_TiltedSum":
        """The sum on a lattice that is right for ε near this one."""
        # Step 2.
        tilt = self._tilt_near(epsilon)
        parts = [(loss.raised(_RAISED / self._count, tilt), times) for loss, times in self._parts]
        # Step 3: how fine the lattice is. δ(ε) bends at single likely losses, and splitting one over the
        # lattice would be visible. A few of them are rounded up instead: each moves the sum by one spacing.
        likely = [
            float(_weights(losses, masses, tilt)[0].max()) > _ATOM for losses, masses, _ in self._finite
        ]
        atoms = sum(times for (_, times), is_atom in zip(parts, likely, strict=True) if is_atom)
        if atoms > _MOST_ATOMS:
            likely, atoms = [False] * len(parts), 0
        spacing = self._spacing(tilt, epsilon, likely)
        if atoms:
            spacing = min(
                spacing, max(_UPWARDS * epsilon / atoms, 1e-9 * max(loss.largest for loss, _ in parts))
            )
        # Whatever ε asks for, floating point cannot distinguish losses that are closer.
        spacing = max(spacing, _FINEST * max(float(np.abs(loss.losses).max()) for loss, _ in parts))
        # Steps 3 and 4, on a coarser lattice if the transform would be too long.
        while True:
            lattice: list[_OnLattice] = [
                (*loss.on_lattice(spacing, upwards=is_atom), times)
                for (loss, times), is_atom in zip(parts, likely, strict=True)
            ]
            finite: list[_Finite] = [
                (np.asarray(index * spacing, dtype=np.float64), masses, times)
                for index, masses, times in lattice
            ]
            low, high = self._end(finite, tilt, -1), self._end(finite, tilt, 1)
            if (high - low) / spacing <= _LARGEST_TRANSFORM:
                size = scipy.fft.next_fast_len(math.ceil((high - low) / spacing) + 4, real=True)
                break
            if atoms:  # that number of steps of that size would cost more than splitting
                likely, atoms = [False] * len(parts), 0
                spacing = self._spacing(tilt, epsilon, likely)
            spacing = max(spacing, 1.05 * (high - low) / _LARGEST_TRANSFORM)
        first = math.floor(low / spacing) - 1

        def convolved(number: type[np.floating]) -> _TiltedSum:
            masses, errors = _convolved(lattice, tilt * spacing, size, number)
            masses = np.maximum(0.0, np.roll(masses, -(first % size)))
            log_moment, infinite = _moment(finite, tilt).log, self._infinite * _ROUNDED_UP
            return _TiltedSum(tilt, log_moment, first, spacing, masses, errors, infinite)

        # Step 5, with more digits if rounding were a part of δ.
        result = convolved(np.float64)
        if _FINER_UNIT < UNIT and result.share_of_rounding(epsilon) > _OF_ROUNDING:
            return convolved(np.longdouble)
        return result

    def _tilt_to(self, mean: float) -> float:
        """The tilt θ ≥ 0 at which the sum has about this mean."""
        if _moment(self._finite, self._steepest).mean <= mean:
            return self._steepest
        return _smallest(lambda theta: _moment(self._finite, theta).mean > mean, self._steepest)

    def _tilt_near(self, epsilon: float) -> float:
        """The tilt for ε: that at which the sum has the mean ε, unless the sum then spreads too far.

        A tilt makes large losses likelier. If they are rare and far above ε, the tilted sum would spread far
        beyond ε, and the lattice with it. Then the tilt is that at which the sum spreads to ε/2, or to twice
        its own spread.
        """
        tilt = self._tilt_to(epsilon)
        widest = max((epsilon / 2) ** 2, 4 * self._variance)
        if _moment(self._finite, tilt).variance <= widest:
            return tilt
        return _smallest(lambda theta: _moment(self._finite, theta).variance > widest, tilt)

    @cached_property
    def _steepest(self) -> float:
        """A tilt at which only the largest losses are left, or beyond every δ in question."""
        spread = max(math.sqrt(self._variance), 1e-3 * max(loss.largest for loss, _ in self._parts))
        return 60.0 / max(spread, 1e-300)

    def _spacing(self, tilt: float, epsilon: float, upwards: Sequence[bool]) -> float:
        """How fine the lattice has to be: what it adds to each loss is a variance, up to spacing²/4."""
        deviation = math.sqrt(_moment(self._finite, tilt).variance)
        if deviation == 0.0:
            return max(epsilon, max(float(np.abs(losses).max()) for losses, *_ in self._finite), 1e-300)
        parts = [
            (losses, _weights(losses, masses, tilt)[0], times)
            for (losses, masses, times), is_up in zip(self._finite, upwards, strict=True)
            if not is_up
        ]
        # How fast ln δ falls with ε: by θ far out, by about 1/deviation if δ is large. At likely losses it
        # bends; then the variance's root counts, not the variance, unless other parts smooth the sum.
        slope = tilt + 1 / deviation
        smooth, atom = 0.0, 0.0
        for losses, weights, times in parts:
            own = float(weights @ (losses - weights @ losses) ** 2)
            if weights.max() > _ATOM:
                atom = max(atom, 2 * math.sqrt(own))
            else:
                smooth += times * own
        allowed = max(_ACCURACY * epsilon, _OF_SPREAD * deviation)
        spacing = deviation
        while True:
            variance = sum(
                times * _added(losses, weights, spacing, slope) for losses, weights, times in parts
            )
            bend = min(1.0, slope * atom) / max(math.sqrt(variance), math.sqrt(smooth), 1e-300)
            added = variance / 2 * (slope + bend)
            if added <= allowed or spacing <= 4 * deviation / _LARGEST_TRANSFORM:
                return spacing
            spacing *= min(0.8, max(0.1, math.sqrt(allowed / added)))

    @staticmethod
    def _end(finite: "Sequence[_Finite]", tilt: float, sign: int) -> float:
        """The point at which the tilted sum's probability of lying further out is at most `_OUTSIDE`."""
        moment = _moment(finite, tilt)

        def is_beyond(turn: float) -> bool:
            there = _moment(finite, tilt + sign * turn)
            return there.log - moment.log - sign * turn * there.mean <= math.log(_OUTSIDE)  # Chernoff

        if moment.variance == 0.0:
            return moment.mean
        ends = [float(losses.max() if sign > 0 else losses.min()) for losses, *_ in finite]
        end = sum(times * furthest for (*_, times), furthest in zip(finite, ends, strict=True))
        turn = 1 / max(math.sqrt(moment.variance), *map(abs, ends))
        while not is_beyond(turn):
            if (end - _moment(finite, tilt + sign * turn).mean) * sign <= 1e-9 * abs(end - moment.mean):
                return end
            turn *= 2
        # If rare losses are large, their weight explodes within a small turn.
        return _moment(
            finite, tilt + sign * _smallest(is_beyond, turn, 0.3 / max(1e-300, *map(abs, ends)))
        ).mean


_Finite = tuple[Array, Array, int]  # losses, masses, times
_OnLattice = tuple[NDArray[np.int64], Array, int]  # multiples of the spacing, masses, times


@dataclass(frozen=True)
class _Moment:
    """ln E e^{θL} of a sum; mean and variance if it is weighted so."""

    log: float
    mean: float
    variance: float


def _weights(losses: Array, masses: Array, tilt: float) -> tuple[Array, float]:
    """The probabilities weighted by e^{θL}, normalized, and ln of their sum."""
    exponent = tilt * losses
    top = float(exponent.max())
    weights = masses * np.exp(exponent - top)
    total = float(weights.sum())
    return weights / total, top + math.log(total)


def _moment(finite: "Sequence[_Finite]", tilt: float) -> _Moment:
    log = mean = variance = 0.0
    for losses, masses, times in finite:
        weights, log_total = _weights(losses, masses, tilt)
        own = float(weights @ losses)
        log += times * log_total
        mean += times * own
        variance += times * float(weights @ (losses - own) ** 2)
    return _Moment(log, mean, variance)


def _added(losses: Array, weights: Array, spacing: float, slope: float) -> float:
    """The variance that a lattice adds to one part, for a slope of ln δ: by E e^{θL}."""
    # Floating point may not distinguish large losses if the spacing is small.
    above = np.clip(losses - np.floor(losses / spacing) * spacing, 0.0, spacing)
    up = np.expm1(-above) / math.expm1(-spacing)
    growth = (1 - up) * np.expm1(-slope * above) + up * np.expm1(np.minimum(slope * (spacing - above), 700.0))
    return 2 * max(0.0, float(weights @ growth)) / slope**2


@dataclass(frozen=True)
class _Errors:
    """Bounds on the errors of the weighted sum's probabilities.

    Attributes:
        weights: how much all of them together may be off as the weights are.
        of_each: the same, as a share of each one.
        rounding: the Euclidean norm of what the transforms add.
    """

    weights: float
    of_each: float
    rounding: float


def _convolved(
    lattice: Sequence[_OnLattice], tilt: float, size: int, number: type[np.floating]
) -> tuple[Array, _Errors]:
    """Probabilities of the weighted sum on the lattice modulo `size`, and bounds on their errors.

    Transforms leave out the largest probability of each part, which is 1 less the others. If a part is nearly
    constant, the errors that its power multiplies are then small, too.

    Args:
        lattice: multiples of the spacing, masses, times.
        tilt: θ times the spacing.
        number: what transforms are computed in.
    """
    unit = UNIT if number is np.float64 else _FINER_UNIT
    half = size // 2 + 1
    kept = np.arange(half)  # frequencies at which the product is not negligible
    log_size, relative_error, phase = np.zeros(half, number), np.zeros(half), np.zeros(half, number)
    turns, of_weights, of_each, of_transforms = 0, 0.0, 0.0, 0.0
    for index, masses, times in lattice:
        # The weighted part on the lattice, its largest probability turned to 0 and left out there.
        weights, _ = _weights(index.astype(float), masses, tilt)
        dense = np.bincount(index % size, weights=weights, minlength=size).astype(number)
        largest = int(dense.argmax())
        turns = (turns + largest * times) % size
        dense = np.roll(dense, -largest)
        dense[0] = 0.0
        sum_of_rest = dense.sum()
        rest = float(sum_of_rest)
        of_weight = UNIT * (256 + 4 * tilt * float(np.abs(index).max()))
        of_weights += times * 2 * rest * of_weight
        # The largest is 1 less the rest, so it is off by what they are.
        of_each += times * of_weight * max(1.0, rest / max(1 - rest, 1e-300))
        of_transforms += times * unit * 8 * math.log2(size) * math.sqrt(size * float(dense @ dense))
        # Its transform to the power of `times`, by logarithms, at the frequencies that are not negligible.
        transform = scipy.fft.rfft(dense)[kept]
        real, imaginary = transform.real - sum_of_rest, transform.imag
        # What the square of the modulus differs from 1 by; near −1 it has only its absolute digits.
        difference = np.maximum(real * (2 + real) + imaginary**2, 16 * unit * max(1.0, 32 * rest) - 1)
        log_size += times * np.log1p(difference) / 2
        remaining = log_size > _NOTHING
        kept, log_size, difference = kept[remaining], log_size[remaining], difference[remaining]
        squared = (1 + difference).astype(np.float64)
        errors = 32 * unit / np.sqrt(squared) + np.where(squared < 0.5, 4 * unit / squared, 0.0)
        relative_error = relative_error[remaining] + times * max(rest, unit) * errors
        phase = phase[remaining] + times * np.arctan2(imaginary[remaining], 1 + real[remaining])
    product = np.exp(log_size)
    count = np.where((kept == 0) | (2 * kept == size), 1.0, 2.0)

    def in_sum(factor: float) -> float:
        """Errors add up to at most the Euclidean norm of those of the transform."""
        error = product * (np.expm1(np.minimum(factor * relative_error, 600.0)) + 512 * unit)
        return math.sqrt(float((count * error**2).sum())) + size * math.exp(_NOTHING + 1)

    # The errors of a transform are bounded by its Euclidean norm, and one by one by the sum of its entries.
    rounding = min(math.expm1(of_transforms) + in_sum(1.0), in_sum(1 + math.log2(size) / 4))
    total = np.zeros(half, dtype=np.result_type(number, np.complex64))
    total[kept] = product * np.exp(1j * phase)
    masses = np.roll(scipy.fft.irfft(total, size), turns).astype(np.float64)
    return masses, _Errors(math.expm1(of_weights), math.expm1(of_each), rounding / math.sqrt(size))


@dataclass(frozen=True, eq=False)
class _TiltedSum:
    """A sum of losses, weighted by e^{tilt·L − log_moment}."""

    tilt: float
    log_moment: float
    first: int  # multiple of the spacing at which the masses begin
    spacing: float
    masses: Array
    errors: _Errors
    infinite: float

    def delta(self, epsilon: float) -> float:
        # Step 6: e^{log_moment − θε}·E[e^{−θ(L−ε)}·(1 − e^{ε−L})] of the weighted sum, and the errors.
        within, rounding = self._beyond(epsilon)
        found = within + rounding
        heaviest = _heaviest(self.tilt)
        found += min(found * self.errors.of_each, heaviest * self.errors.weights) + heaviest * 2 * _OUTSIDE
        log_height = self.log_moment - self.tilt * epsilon
        return 1.0 if log_height > 700 else min(1.0, self.infinite + math.exp(log_height) * found)

    def share_of_rounding(self, epsilon: float) -> float:
        """How much of δ may be due to the transforms' rounding."""
        within, rounding = self._beyond(epsilon)
        return rounding / (within + rounding) if rounding > 0 else 0.0

    def _beyond(self, epsilon: float) -> tuple[float, float]:
        """The total mass beyond ε, weighted as in δ, and the rounding error that it adds."""
        start = min(max(0, math.ceil(epsilon / self.spacing) - self.first), self.masses.size)
        losses = np.arange(self.first + start, self.first + self.masses.size) * self.spacing
        beyond = np.maximum(0.0, losses - epsilon)
        heights = np.exp(-self.tilt * beyond) * -np.expm1(-beyond)
        # Cauchy–Schwarz: few of many places count if the tilt is large.
        rounding = _ROUNDED_UP * math.sqrt(float((heights**2).sum())) * self.errors.rounding
        return float((self.masses[start:] * heights).sum()), rounding

    def epsilon(self, delta: float, low: float, high: float) -> float:
        """The smallest ε in low..high with δ(ε) ≤ `delta`, from above; one of the ends if none is."""

        def excess(epsilon: float) -> float:
            return math.log(max(self.delta(epsilon), 1e-320)) - math.log(delta)

        if excess(low) <= 0:
            return low
        if excess(high) > 0:
            return high
        root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-10))
        step = 1e-10
        while self.delta(root) > delta:
            root, step = root * (1 + step), 2 * step
        return min(root, high)


def _heaviest(tilt: float) -> float:
    """The largest e^{−θx}·(1 − e^{−x}) for x ≥ 0: θ^θ/(1 + θ)^{1+θ}."""
    return math.exp(-tilt * math.log1p(1 / tilt)) / (1 + tilt) if tilt > 0 else 1.0


def _cell_of(epsilon: float) -> int:
    if epsilon < _SMALLEST_EPSILON:
        return 0
    cell = 1 + max(0, math.floor(math.log(epsilon / _SMALLEST_EPSILON) / _CELL))
    # Rounding must not put the start of a cell into another one.
    if epsilon < _start_of(cell):
        return cell - 1
    return cell + 1 if epsilon >= _start_of(cell + 1) else cell


def _start_of(cell: int) -> float:
    return _SMALLEST_EPSILON * math.exp((cell - 1) * _CELL) if cell > 0 else 0.0


def _log_rest(probability: float) -> float:
    return math.log1p(-probability) if probability < 1 else -math.inf


def _smallest(is_beyond: Callable[[float], bool], high: float, within: float = math.inf) -> float:
    """About the smallest θ in 0..high at which a condition holds that holds from some θ on."""
    low = 0.0
    if is_beyond(0.0):
        return 0.0
    while high - low > min(1e-2 * high, within):
        middle = (low + high) / 2 if low > 0 else high / 8
        if is_beyond(middle):
            high = middle
        else:
            low = middle
    return high


def composed(parts: Sequence[tuple[Directions, int]]) -> tuple[ComposedLoss | LossSum, ...]:
    """The composition in each direction: one if both are the same."""
    one = _composed([(both[0], times) for both, times in parts])
    if all(both[0] is both[1] for both, _ in parts):
        return (one,)
    return one, _composed([(both[1], times) for both, times in parts])


def _composed(parts: Sequence[tuple[PrivacyLoss, int]]) -> ComposedLoss | LossSum:
    if sum(times for _, times in parts) == 2:
        return LossSum(*(loss for loss, times in parts for _ in range(times)))
    return ComposedLoss(parts)


def require_reachable(epsilon: float, delta: float) -> float:
    """ε, or FieldError if it is infinite."""
    if epsilon == math.inf:
        raise FieldError(
            "delta", f"must be larger: no ε is promised at {plain(delta)}, because some loss may be unbounded"
        )
    return epsilon
