"""The sum of n independent discrete Gaussians N_Z(0, s²): what it hides, and the s it takes.

The sum is *not* N_Z(0, n·s²) when s is small, and far from a continuous Gaussian:
at s = 0.3 one summand has variance 0.0077, not 0.09. Nothing here replaces it by either
without a bound on the difference.

Two facts carry every computation. Up to a shift, a discrete Gaussian is a sum of independent Bernoulli
variables, and so is the n-fold sum S. (Its generating function is a theta function, whose zeros are real and
negative by Jacobi's triple product.) Therefore:

- The probabilities P of S are log-concave: P(x)/P(x + d) grows with x. The set on which one
  neighbour is more than e^ε likelier than the other is a tail, and with T(a) = Pr[S ≥ a]

      δ(ε) = max over integers a of T(a) − e^ε·T(a + d).

  T decreases, so the largest shift d = `value_range` is the worst one. S is symmetric, so both directions of
  the hockey stick are equal.
- The modulus of S's characteristic function decreases on [0, π], also after exponential
  tilting, so that leaving out high frequencies has a known cost.

Every δ that is returned is an upper bound: the computed number plus a bound on its
rounding, truncation and aliasing errors. For ε ≥ 0.01 and n ≤ 10⁶ it exceeds the true one
by a factor of at most 1 + 10⁻⁶. A δ below 10⁻³⁰⁰ is returned as 10⁻³⁰⁰, so that no caller searches the far
tail for it.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

# SciPy loads its parts when they are first used; importing them here would cost every process,
# devices and web servers included, a third of a second.
import scipy
from numpy.typing import NDArray

from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import (
    DEVICES,
    PrivacyEvent,
    require_delta,
    require_epsilon,
    smallest_epsilon,
)
from panprivacy.accounting.rounding import UNIT
from panprivacy.formats.parameters import described

SMALLEST_EPSILON = 1e-9
"""Below this ε, `smallest_scale` refuses: rounding would dominate the result."""

_NOTHING = 1e-300  # the smallest δ that is distinguished from 0
_NEGLIGIBLE = 60.0  # a term below e^-60 of the largest is left out, and bounded
WIDE = 2.0  # from this scale on, a sum of N_Z(0, s²) is N_Z(0, n·s²) to within `merging_error`
_SMOOTH = 20.0  # from this standard deviation of the sum on, δ decreases in s (see `smallest_scale`)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianSum(PrivacyEvent):
    """Σ of n whole numbers, each with its own N_Z(0, scale²), against observers of all but one."""

    kind: ClassVar[str] = "discrete_gaussian_sum"
    neighbours = Relation.REPLACE
    proved = True
    method = "exact convolution of the noise, by characteristic functions with bounded errors"

    n: int = described(**DEVICES)
    scale: float = described(
        label="Noise scale (s)",
        help="Of the discrete Gaussian N_Z(0, s²) that each device adds, in units of the value.",
        minimum=0.05,
        maximum=1e9,
    )
    value_range: int = described(
        label="Range",
        help="Difference between the largest and the smallest value a device may send.",
        minimum=1,
        maximum=1_000_000,
    )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        return delta_of(self.n, self.scale, self.value_range, float(epsilon))

    def epsilon(self, delta: float) -> float:
        require_delta(delta)
        return epsilon_of(self.n, self.scale, self.value_range, float(delta))


def variance(scale: float) -> float:
    """The exact variance of N_Z(0, scale²), in squared units of the value: below scale² for small scales.

    Args:
        scale: s, finite and above 0.

    Returns:
        Σx²·e^{−x²/2s²} / Σe^{−x²/2s²} over all whole x, without what lies beyond 40 scales; relative error
        of some roundings (Canonne, Kamath & Steinke 2020, definition 1).

    Raises:
        ValueError: the scale is not above 0.
    """
    _require_positive("scale", scale)
    if scale > 10:  # the difference is below scale²·e^{-2π²·100}, far under one rounding error
        return scale**2
    x = np.arange(1, math.ceil(40 * scale) + 2, dtype=float)
    weights = np.exp(-(x**2) / (2 * scale**2))
    return float(2 * (x**2 * weights).sum() / (1 + 2 * weights.sum()))


def delta_of(n: int, scale: float, value_range: int, epsilon: float) -> float:
    """The δ at which a sum of n values, each with its own N_Z(0, scale²), is (ε, δ)-private.

    Args:
        n: number of independent noise terms, ≥ 1.
        scale: s of each of them, > 0.
        value_range: the most by which one neighbour's sum differs from the other's (≥ 1).
        epsilon: ε ≥ 0.

    Returns:
        An upper bound in [0, 1]; see the module's docstring for how tight.

    Raises:
        ValueError: an argument is out of its range.
    """
    _require_counts(n, value_range)
    _require_positive("scale", scale)
    if not (epsilon >= 0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon must be a number of at least 0, not {epsilon!r}")
    return _noise(n, scale).delta(value_range, epsilon)


@lru_cache(maxsize=1024)  # pages ask for the same few numbers again and again
def epsilon_of(n: int, scale: float, value_range: int, delta: float) -> float:
    """The smallest ε at which the sum is (ε, δ)-private, by inverting `delta_of`.

    Args:
        n, scale, value_range: as in `delta_of`.
        delta: 0 < δ < 1.

    Returns:
        An upper bound, relative error 1e-6 if `delta_of` is that tight; 0.0 if δ alone suffices.

    Raises:
        ValueError: an argument is out of its range.
    """
    _require_counts(n, value_range)
    _require_positive("scale", scale)
    _require_probability(delta)
    noise = _noise(n, scale)
    return smallest_epsilon(lambda epsilon: noise.delta(value_range, epsilon), delta)


@lru_cache(maxsize=1024)  # pages ask for the same few numbers again and again
def smallest_scale(n: int, value_range: int, epsilon: float, delta: float) -> float:
    """The smallest s from which on the sum is (ε, δ)-private at every larger s.

    δ is not monotone in s. While the lattice of values passes under the threshold, δ falls and rises again.
    For n = 1, range 1 and ε = 20, δ is 2e-9 at s = 0.158 and 1e-3 at s = 0.27. So the search comes from
    above. It starts at the s that zero-concentrated privacy allows for a single N_Z(0, s²), which is valid
    for every larger s (Canonne, Kamath & Steinke 2020, Theorem 4). Or it starts at the s with which the sum
    has standard deviation 20; above that no rise was found for ε ≤ 20 and δ ≥ 1e-30. It goes down in steps of
    1% (more if δ is far below its target, see `_step`) to the first s that fails, and then searches the last
    step. A rise narrower than a step could go unseen, but the s returned is always checked: `delta_of` there
    is at most δ.

    Args:
        n, value_range: as in `delta_of`.
        epsilon: ε of at least `SMALLEST_EPSILON`.
        delta: 0 < δ < 1.

    Returns:
        s, at most 1e-7 (relative) above the smallest.

    Raises:
        ValueError: an argument is out of its range.
    """
    _require_counts(n, value_range)
    _require_probability(delta)
    if not (epsilon >= SMALLEST_EPSILON and math.isfinite(epsilon)):
        raise ValueError(f"epsilon must be at least {SMALLEST_EPSILON:g}, not {epsilon!r}")

    def excess(log_scale: float) -> float:
        found = delta_of(n, math.exp(log_scale), value_range, epsilon)
        return math.log(max(found, 1e-300)) - math.log(delta)

    high = math.log(min(_concentrated_scale(value_range, epsilon, delta), _scale_of_deviation(n, _SMOOTH)))
    if excess(high) > 0:
        low = high
        while excess(high) > 0:
            low, high = high, high + math.log(1.5)
    else:
        low = high - _step(excess(high))
        while (found := excess(low)) <= 0:
            low, high = low - _step(found), low
    root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-9, rtol=1e-12))
    while excess(root) > 0:
        root += 1e-9
    return math.exp(root)


def _step(excess: float) -> float:
    """How far (in log s) to go down if log δ lies `excess` ≤ 0 above its target: 1%, far below it more.

    To go unseen if |excess| ≥ 5, δ would have to grow like s^250 within the step. The steepest growth found
    while it is above 1e-50 is s^231 (n ≤ 1,000, range ≤ 10, ε ≤ 20).
    """
    return math.log(1.01) * (1 - max(excess, -45.0) / 5)


def _concentrated_scale(value_range: int, epsilon: float, delta: float) -> float:
    """s for which ρ-zCDP with ρ = value_range²/(2s²) gives (ε, δ) by ε = ρ + 2·√(ρ·ln(1/δ))."""
    log_failure = -math.log(delta)
    root_of_rho = epsilon / (math.sqrt(log_failure + epsilon) + math.sqrt(log_failure))
    return value_range / (math.sqrt(2) * root_of_rho)


def _scale_of_deviation(n: int, deviation: float) -> float:
    """s at which the sum of n has standard deviation `deviation`."""
    target = deviation**2 / n
    if target >= WIDE**2:
        return math.sqrt(target)
    # One summand's variance is at least Pr[±1], and e^{-1/(2s²)} is below 1e-170 at s = 0.036.
    return float(scipy.optimize.brentq(lambda scale: variance(scale) - target, 0.036, 2 * WIDE, xtol=1e-6))


# The noise, in one of two forms -------------------------------------------------


@dataclass(frozen=True)
class _WideSum:
    """S distributed as N_Z(0, σ²), each probability to within a factor e^{±merging_error}."""

    sigma: float
    merging_error: float

    def delta(self, shift: int, epsilon: float) -> float:
        # Step 1: the threshold of the loss of N_Z(0, σ²) (Canonne, Kamath & Steinke 2020, Theorem 7).
        sigma_squared = self.sigma**2
        # The smallest a with P(a) > e^ε·P(a + shift); a tie that rounding misjudges contributes nothing.
        a = math.floor(epsilon * sigma_squared / shift - shift / 2) + 1
        loss = shift * (2 * a + shift) / (2 * sigma_squared)
        # Step 2: δ = T(a) − e^ε·T(a + d), rounded up.
        relative_error = 2e-13 + 2 * self.merging_error + 8 * UNIT * (epsilon + loss)
        if a < 1:
            tail = 1 - self._tail(1 - a)
            shifted = math.exp(epsilon + self._log_tail(a + shift))
            return min(1.0, max(0.0, tail - shifted + relative_error * (tail + shifted)))
        at_a = math.exp(-(a**2) / (2 * sigma_squared)) / self._total()
        tail = self._relative_tail(a)
        shifted = math.exp(min(0.0, epsilon - loss)) * self._relative_tail(a + shift)
        relative_error += 4 * UNIT * a**2 / sigma_squared
        return min(1.0, at_a * (tail - shifted + relative_error * (tail + shifted)))

    def _tail(self, a: int) -> float:
        return math.exp(self._log_tail(a))

    def _log_tail(self, a: int) -> float:
        """log Pr[S ≥ a] for a ≥ 1."""
        return -(a**2) / (2 * self.sigma**2) + math.log(self._relative_tail(a)) - math.log(self._total())

    def _total(self) -> float:
        return 2 * self._relative_tail(0) - 1

    def _relative_tail(self, a: int) -> float:
        """Pr[S ≥ a]/Pr[S = a] for a ≥ 0: the sum over j ≥ 0 of exp(−(2aj + j²)/(2σ²))."""
        sigma_squared = self.sigma**2
        rate = a / sigma_squared
        if self.sigma <= 2000 or rate >= 0.02:
            length = 2 * _NEGLIGIBLE * sigma_squared / (a + math.sqrt(a**2 + 2 * _NEGLIGIBLE * sigma_squared))
            j = np.arange(math.ceil(length) + 1, dtype=float)
            return float(np.exp(-(2 * a * j + j**2) / (2 * sigma_squared)).sum())
        # Euler and Maclaurin; the next term is below 1e-13 of the first under the condition above.
        tail = float(scipy.special.erfcx(a / self.sigma / math.sqrt(2)))
        integral = self.sigma * math.sqrt(math.pi / 2) * tail
        return integral + 0.5 + rate / 12 + (3 * rate / sigma_squared - rate**3) / 720


@dataclass(frozen=True)
class _Point:
    """Log-probabilities of S at one a ≥ 0, and a bound on their relative errors (of the probabilities)."""

    log_probability: float
    log_tail: float
    relative_error: float

    def below(self, probability: float) -> bool:
        """Whether Pr[S ≥ a] is certainly below `probability`."""
        return self.log_tail + math.log1p(self.relative_error) < math.log(probability)


class _NarrowSum:
    """S for s < 2, by numerical inversion of the characteristic function after exponential tilting.

    With K(θ) = log E e^{θX} of one summand X, and φ the characteristic function of X tilted by θ,

        Pr[S ≥ a] = e^{n·K(θ) − θ·a} · (1/2π)∫ φ(ω)^n e^{−iωa} / (1 − e^{−θ−iω}) dω.

    The integral is taken as a sum over L frequencies. That adds up e^{θmL}·Pr[S ≥ a + mL] over all
    integers m. The terms m ≠ 0 are bounded by Chernoff, and L is doubled until they do not matter. The tilt θ
    puts the tilted mean at a, so that nothing cancels. Near a, the terms fall like the tilted sum's own
    tails. So L is some of its standard deviations, however far out a is.
    """

    def __init__(self, n: int, scale: float) -> None:
        self._n = n
        self._scale = scale
        x = np.arange(1, math.ceil(13 * scale) + 4, dtype=float)
        self._log_total = math.log1p(2 * float(np.exp(-(x**2) / (2 * scale**2)).sum()))
        self._variance = n * variance(scale)
        self._points: dict[int, _Point] = {}

    def delta(self, shift: int, epsilon: float) -> float:
        # Step 1: the threshold, the first a with a loss above ε.
        a = self._first_beyond(shift, epsilon)
        if a is None:
            return _NOTHING
        # Step 2: δ = T(a) − e^ε·T(a + d), rounded up.
        shifted = self._point(a + shift)
        if a >= 1:
            point = self._point(a)
            tail = math.exp(point.log_tail)
            ratio = min(1.0, math.exp(min(0.0, epsilon + shifted.log_tail - point.log_tail)))
            error = (
                point.relative_error + shifted.relative_error + 8 * UNIT * (epsilon + abs(shifted.log_tail))
            )
            return min(1.0, tail * (1 - ratio + 2 * error))
        # Near the centre: T(a) = 1 − T(1 − a).
        point = self._point(1 - a)
        tail = -math.expm1(point.log_tail)
        beyond = math.exp(epsilon + shifted.log_tail)
        error = point.relative_error + shifted.relative_error + 8 * UNIT * (epsilon + abs(shifted.log_tail))
        return min(1.0, max(0.0, tail - beyond + 2 * error * (1 + beyond)))

    def _loss(self, a: int, shift: int) -> float:
        """log P(a) − log P(a + shift)."""
        return self._point(abs(a)).log_probability - self._point(abs(a + shift)).log_probability

    def _first_beyond(self, shift: int, epsilon: float) -> int | None:
        """The smallest a with loss above ε; None if T(a), and so δ, is below `_NOTHING` there.

        The loss grows with a, and is at most 0 at a = −shift/2. If it grows slowly (ε large, the noise wide)
        a may lie a million standard deviations out, and points there are costly.
        """
        low, loss_low = -((shift + 1) // 2), min(0.0, self._loss(-((shift + 1) // 2), shift))
        deviation = math.sqrt(self._variance)
        stride = max(1, math.ceil(deviation / 4))
        # S is sub-Gaussian with variance proxy n·s², however small its variance: T(end) ≤ _NOTHING.
        end = math.ceil(self._scale * math.sqrt(-2 * self._n * math.log(_NOTHING)))
        high = max(low + 1, math.ceil(min(epsilon * self._variance / shift - shift / 2, end)))
        loss_high = self._loss(high, shift)
        while loss_high <= epsilon:
            if high >= end or (high > 0 and self._point(high).below(_NOTHING)):
                return None
            low, loss_low = high, loss_high
            high, stride = min(high + stride, end), 2 * stride
            loss_high = self._loss(high, shift)
        interpolate = True
        while high - low > 1:
            middle = (low + high) // 2
            if interpolate:
                along = (epsilon - loss_low) / (loss_high - loss_low)
                middle = min(high - 1, max(low + 1, low + math.floor(along * (high - low))))
            loss = self._loss(middle, shift)
            previous = high - low
            if loss > epsilon:
                high, loss_high = middle, loss
            else:
                low, loss_low = middle, loss
            # Interpolation may creep up from one side; then halve.
            interpolate = not interpolate or (high - low) * 2 < previous
        return high

    def _point(self, a: int) -> _Point:
        if a not in self._points:
            self._points[a] = self._invert(a)
        return self._points[a]

    def _invert(self, a: int) -> _Point:
        # Step 1: θ with the tilted mean at a, and what the tilted sum is like.
        n = self._n
        theta = self._tilt(max(float(a), math.sqrt(self._variance), 0.5))
        x, weights = self._tilted(theta)
        mean = float((weights * x).sum())
        deviation = math.sqrt(n * float((weights * (x - mean) ** 2).sum()))
        cumulant, cumulant_error = self._cumulant(theta)
        height = n * cumulant - theta * a
        # Step 2: L. Values are counted from the one nearest to the mean, which keeps phases small.
        nearest = round(mean)
        distance = a - n * nearest
        wide = max(32.0, 10 * deviation)
        if a <= wide:  # if T(a − L) is no small probability, e^{−θL} alone makes the term m = −1 small
            wide = max(wide, (40 - height) / theta)
        length = int(2 ** math.ceil(math.log2(wide)))
        # Step 3: the sums over L frequencies, for P(a) and T(a), until aliasing does not matter.
        while True:
            log_phi, spread, frequency = self._characteristic(x - nearest, weights, length)
            term = np.exp(n * log_phi - 1j * frequency * distance)
            count = np.full(frequency.size, 2.0)  # the negative frequencies are the complex conjugates
            count[0] = 1.0
            if 2 * (frequency.size - 1) == length:
                count[-1] = 1.0
            tail_term = term / -np.expm1(-theta - 1j * frequency)
            probability = float((count * term.real).sum()) / length
            tail = float((count * tail_term.real).sum()) / length
            if probability > 0 and tail > 0:
                log_tail = height + math.log(tail)
                aliased = self._aliased(theta, a, length, log_tail, deviation)
                if aliased < 1e-14:
                    break
            length *= 2
        # Step 4: rounding of every term, what is left out, aliasing, and the error of K.
        error = 8 * UNIT * (4 + n * spread + frequency * abs(distance))
        left_out = math.exp(-_NEGLIGIBLE)
        probability_error = float((count * np.abs(term) * error).sum()) / length + left_out
        tail_error = float((count * np.abs(tail_term) * error).sum()) / length - left_out / math.expm1(-theta)
        relative_error = max(probability_error / probability, tail_error / tail)
        relative_error += aliased + n * cumulant_error + 8 * UNIT * (1 + abs(theta * a))
        return _Point(height + math.log(probability), log_tail, relative_error)

    def _tilt(self, target: float) -> float:
        """θ > 0 at which the tilted sum has mean near `target` (any θ is correct; a near one is accurate)."""
        mean = target / self._n
        # N_Z(μ, s²) has its mean within 1/2 of μ = s²·θ.
        low, high = max(0.0, (mean - 0.5) / self._scale**2), (mean + 0.5) / self._scale**2
        theta = (low + high) / 2
        for _ in range(200):
            x, weights = self._tilted(theta)
            found = float((weights * x).sum())
            spread = float((weights * (x - found) ** 2).sum())
            if self._n * abs(found - mean) <= 0.1 * math.sqrt(self._n * spread):
                return theta
            if found > mean:
                high = theta
            else:
                low = theta
            newton = theta + (mean - found) / spread if spread > 0 else low
            theta = newton if low < newton < high else (low + high) / 2
        return theta

    def _tilted(self, theta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values and probabilities of one summand tilted by θ; what is left out is below e^-80."""
        centre = self._scale**2 * theta
        x = np.arange(
            math.floor(centre - 13 * self._scale) - 2, math.ceil(centre + 13 * self._scale) + 3, dtype=float
        )
        weights = np.exp(-((x - centre) ** 2) / (2 * self._scale**2) + _offset(centre, self._scale))
        return x, weights / weights.sum()

    def _cumulant(self, theta: float) -> tuple[float, float]:
        """K(θ) and a bound on its absolute error.

        E e^{θX} − 1 is summed as Σ_{x≥1} p(x)·e^{θx}·(1 − e^{−θx})², all positive, so that
        n·K(θ) stays accurate for any n.
        """
        centre = self._scale**2 * theta
        first = max(1, math.floor(centre - 13 * self._scale) - 2)
        x = np.arange(first, max(first, math.ceil(centre + 13 * self._scale)) + 4, dtype=float)
        decay, growth = x**2 / (2 * self._scale**2), theta * x
        exponent = growth - decay + 2 * np.log(-np.expm1(-growth))
        log_excess = float(np.logaddexp.reduce(exponent)) - self._log_total
        cumulant = float(np.logaddexp(0.0, log_excess))
        matters = exponent > exponent.max() - 40
        largest = float((decay + growth)[matters].max())
        return cumulant, 4 * UNIT * (20 + largest) * -math.expm1(-cumulant) + 4 * UNIT * cumulant

    def _characteristic(
        self, x: NDArray[np.float64], weights: NDArray[np.float64], length: int
    ) -> tuple[NDArray[np.complex128], NDArray[np.float64], NDArray[np.float64]]:
        """log φ, Σ p·|e^{iωx} − 1|/|φ| and ω at ω = 2πj/length for j = 0, 1, ... until |φ|^n < e^-60."""
        wanted = 64
        while True:
            last = min(length // 2, wanted)
            frequency = 2 * math.pi * np.arange(last + 1) / length
            half_sine = np.sin(np.outer(frequency, x) / 2)
            real = -2 * (half_sine**2) @ weights
            imaginary = np.sin(np.outer(frequency, x)) @ weights
            # Its own rounding error at least; 0 has no logarithm.
            size = np.maximum(np.hypot(1 + real, imaginary), UNIT)
            matters = self._n * np.log(size) > -_NEGLIGIBLE - math.log(length)
            if last == length // 2 or not matters[-1]:
                break
            wanted *= 2
        end = int(np.flatnonzero(matters)[-1]) + 1
        # Near 1, not from `size` nor by a complex log1p: both are only absolutely accurate, and this
        # is multiplied by n.
        near_one = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -0.9)) / 2
        log_size = np.where(size < 0.5, np.log(size), near_one)
        log_phi = log_size + 1j * np.arctan2(imaginary, 1 + real)
        relative_spread = 2 * np.abs(half_sine) @ weights / size
        return log_phi[:end], relative_spread[:end], frequency[:end]

    def _aliased(self, theta: float, a: int, length: int, log_tail: float, deviation: float) -> float:
        """A bound on what the terms m ≠ 0 add to the tail, relative to it.

        T is log-concave, like P: in m, the terms fall at least geometrically on each side, so that twice
        those of m = 1 and m = −1 bound all.
        """
        found = 0.0
        for m in (-1, 1):
            at, rest = a + m * length, theta * m * length - log_tail
            # As if the tilted sum were Gaussian with that deviation: mostly enough, and found at once.
            near = theta + m * length / deviation**2 if deviation >= 1 else 0.0
            bound = self._chernoff(at, near) if near > 0 else 0.0
            if at > 0 and rest + bound > -34:
                bound = self._chernoff(at, self._tilt(float(at)))
            found += 2 * math.exp(min(1.0, rest + bound + 8 * UNIT * (abs(theta * length) + abs(log_tail))))
        return found

    def _chernoff(self, a: int, theta: float) -> float:
        """A bound on log Pr[S ≥ a], for any θ > 0."""
        if a <= 0:
            return 0.0
        cumulant, error = self._cumulant(theta)
        return min(0.0, self._n * (cumulant + error) - theta * a * (1 - 8 * UNIT))


def _offset(centre: float, scale: float) -> float:
    """The exponent that brings the lattice point nearest to `centre` to weight 1 (otherwise all may
    underflow)."""
    return (centre - round(centre)) ** 2 / (2 * scale**2)


def merging_error(n: int, scale: float) -> float:
    """A bound on |log| of the ratio of the probabilities of S and of N_Z(0, n·s²).

    Adding N_Z(0, s²) to N_Z(0, k·s²) gives at x the Gaussian weight of variance (k+1)·s² times a
    theta function of width ν² = s²·k/(k+1). By Poisson summation that function is constant up to a factor 1 ±
    2.01·e^{−2π²ν²}. Normalizing doubles it. (Kairouz, Liu & Steinke 2021 give the same with constant 10.)
    """
    if n == 1:
        return 0.0
    return 5 * (math.exp(-((math.pi * scale) ** 2)) + n * math.exp(-((math.pi * scale) ** 2) * 4 / 3))


def _noise(n: int, scale: float) -> _WideSum | _NarrowSum:
    if n == 1 or scale >= WIDE:
        return _WideSum(scale * math.sqrt(n), merging_error(n, scale))
    return _NarrowSum(n, scale)


def _require_counts(n: int, value_range: int) -> None:
    if n < 1 or value_range < 1:
        raise ValueError(f"n and value_range must be at least 1, not {n!r} and {value_range!r}")


def _require_positive(name: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be a number above 0, not {value!r}")


def _require_probability(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, not {delta!r}")
