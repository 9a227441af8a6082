"""Rounds of the Gaussian mechanism, each over a random sample: exact curves and their composition."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import scipy

from panprivacy.accounting.composed_loss import ComposedLoss, composed
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import RELATIVE_TOLERANCE, require_delta, require_epsilon
from panprivacy.accounting.loss_sum import LossSum
from panprivacy.accounting.number_cache import parts_of
from panprivacy.accounting.privacy_loss import (
    LARGEST_LOSS,
    Array,
    Decomposable,
    Directions,
    grid,
    loss_of_curves,
)
from panprivacy.formats.parameters import described

LARGEST_ROUNDS = 1_000_000
"""Rounds up to which ε is at most 0.1% above the exact one, or a millionth of the spread of losses.

If losses are rare and far larger than ε, this needs a processor with extended precision (x86); on others ε
may then be up to 1% above.
"""

_NEGLIGIBLE = 1e-42
"""Probability of losses that one round takes as infinite: a million times, far below every δ."""

_STEP = 0.004  # of the grid on which one round's curve is evaluated: some thousand points


@dataclass(frozen=True, kw_only=True)
class Gaussian(Decomposable):
    """`rounds` sums of values of norm ≤ 1 plus N(0, σ²), each device in each with probability q.

    Add/remove: with and without one device, sensitivity 1. Each round draws its sample anew.

    - q = 1: all rounds together are one Gaussian mechanism with σ/√rounds. Its curve is Φ(1/(2σ) − εσ) −
      e^ε·Φ(−1/(2σ) − εσ) (Balle & Wang 2018, Theorem 8).
    - One round: (1 − q)·N(0, σ²) + q·N(1, σ²) and N(0, σ²) dominate (Zhu, Dong & Wang 2022, Theorem 11).
      Their hockey-stick divergences have the same form, because the loss rises with the output.
    - Several rounds: the privacy loss distribution of one, its dots connected, composed in each direction.
    """

    kind: ClassVar[str] = "gaussian"
    neighbours = Relation.ADD_REMOVE
    proved = True

    sigma: float = described(
        label="Noise multiplier (σ)",
        help="Standard deviation of the noise, as a multiple of the sensitivity.",
        minimum=0.1,
        usual_minimum=0.5,
        maximum=1e9,
    )
    sampling_rate: float = described(
        label="Sampling rate",
        help="Probability with which a device takes part in a round.",
        minimum=1e-7,
        usual_minimum=0.001,
        maximum=1,
        default=1.0,
    )
    rounds: int = described(
        label="Rounds", help="Number of sums released.", minimum=1, maximum=LARGEST_ROUNDS, default=1
    )

    @property
    def method(self) -> str:
        if self.sampling_rate == 1:
            return "analytic Gaussian (Balle & Wang 2018, Theorem 8)"
        if self.rounds == 1:
            return "exact curve of the sampled Gaussian (Zhu, Dong & Wang 2022, Theorem 11)"
        return (
            "PLD: privacy loss distribution, connect-the-dots (Doroshenko et al. 2022), both directions "
            "composed apart, from above, mostly by less than 0.1%"
        )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        single = self._single()
        if single is not None:
            at = np.array([epsilon])
            return max(float(_removed(*single, at)[0]), float(_added(*single, at)[0]))
        found = max(direction.delta(epsilon) for direction in _composed(self))
        return min(found, self._unsampled.delta(epsilon))

    def epsilon(self, delta: float) -> float:
        require_delta(delta)
        if self._single() is not None:
            return super().epsilon(delta)
        found = max(direction.epsilon(delta) for direction in _composed(self)) * (1 + RELATIVE_TOLERANCE)
        return min(found, self._unsampled.epsilon(delta))

    def parts(self) -> tuple[tuple[Directions, int], ...]:
        if self.sampling_rate == 1:
            return ((_losses(self.sigma / math.sqrt(self.rounds), 1.0), 1),)
        return ((_losses(self.sigma, self.sampling_rate), self.rounds),)

    @property
    def _unsampled(self) -> "Gaussian":
        """The same without sampling, which loses no less: by convexity, sampling lowers a round's curve."""
        return replace(self, sampling_rate=1.0)

    def _single(self) -> tuple[float, float] | None:
        """σ and q of the one round that this is equal to, if there is one."""
        if self.sampling_rate == 1:
            return self.sigma / math.sqrt(self.rounds), 1.0
        return (self.sigma, self.sampling_rate) if self.rounds == 1 else None


@lru_cache(maxsize=8)
def _composed(event: Gaussian) -> tuple[ComposedLoss | LossSum, ...]:
    return composed(parts_of(event))


@lru_cache(maxsize=64)
def _losses(sigma: float, rate: float) -> Directions:
    """Losses of one round: of the mixture against N(0, σ²), and of N(0, σ²) against the mixture."""
    furthest = -float(scipy.special.ndtri_exp(math.log(_NEGLIGIBLE))) / sigma
    largest = min(furthest + 1 / (2 * sigma**2), LARGEST_LOSS)  # of N(1, σ²) against N(0, σ²)
    at_zero = float(_removed(sigma, rate, np.zeros(1))[0])
    with_it = grid(at_zero, _sampled_loss(largest, rate), _STEP)
    without = grid(at_zero, _largest_without(largest, rate), _STEP)
    removed, added = _removed(sigma, rate, with_it), _added(sigma, rate, without)
    loss = loss_of_curves(with_it, removed, without, added)
    return loss, loss if rate == 1 else loss_of_curves(without, added, with_it, removed)


def _sampled_loss(loss: float, rate: float) -> float:
    """ln(1 − q + q·e^loss), the loss of the mixture if that of N(1, σ²) is `loss`."""
    if rate == 1:
        return loss
    if loss > 1:
        return loss + math.log(rate + (1 - rate) * math.exp(-loss))
    return math.log1p(rate * math.expm1(loss))


def _largest_without(largest: float, rate: float) -> float:
    """The largest loss of N(0, σ²) against the mixture, if that of N(0, σ²) against N(1, σ²) is `largest`.

    No loss exceeds −ln(1 − q). A result so near to this bound that its rounding error covers losses that are
    far less rare is the bound itself, rounded up.
    """
    if rate < 1 and rate * math.exp(-largest) < 1e-10 * (1 - rate):
        return -math.log1p(-rate) * (1 + 1e-15)
    return -_sampled_loss(-largest, rate)


def _unsampled_loss(loss: Array, rate: float) -> Array:
    """Inverse of `_sampled_loss`; −∞ at ln(1 − q) and below."""
    if rate == 1:
        return loss
    with np.errstate(divide="ignore", invalid="ignore"):
        part = (rate - 1) * np.exp(np.minimum(-loss, LARGEST_LOSS))
        far = loss - math.log(rate) + np.log1p(np.maximum(part, -1.0))
        near = np.log1p(np.maximum(np.expm1(np.clip(loss, -1, 1)) / rate, -1.0))
    return np.where(np.abs(loss) > 1, far, near)


def _removed(sigma: float, rate: float, epsilon: Array) -> Array:
    """The divergence of (1 − q)·N(0, σ²) + q·N(1, σ²) from N(0, σ²) at each ε ≥ 0."""
    return np.minimum(1.0, rate * gaussian_delta(sigma, _unsampled_loss(epsilon, rate)))


def _added(sigma: float, rate: float, epsilon: Array) -> Array:
    """The divergence of N(0, σ²) from (1 − q)·N(0, σ²) + q·N(1, σ²) at each ε ≥ 0."""
    unsampled = -_unsampled_loss(-epsilon, rate)
    found = rate * np.exp(np.minimum(epsilon - unsampled, 0.0))  # sampling lowers a loss
    found *= gaussian_delta(sigma, np.minimum(unsampled, LARGEST_LOSS))
    beyond = np.where(np.isinf(unsampled), 0.0, _NEGLIGIBLE)
    return np.where(unsampled > LARGEST_LOSS, beyond, np.minimum(1.0, found))


def gaussian_delta(sigma: float, epsilon: Array) -> Array:
    """Φ(−u) − e^ε·Φ(−v) with u = εσ − 1/(2σ), v = u + 1/σ, rounded up; ε ≥ 0.

    Because e^ε·φ(v) = φ(u), it is φ(u)·(m(u) − m(v)) with Mills' ratio m: nothing underflows or cancels
    early.
    """
    u = np.asarray(epsilon * sigma - 1 / (2 * sigma))
    # Mills' ratio overflows from −37.6 on. There δ differs from 1 by less than 1e-280, because v is above 0.
    is_one = u < -36.0
    u = np.maximum(u, -36.0)
    first, second = _mills_ratio(u), _mills_ratio(u + 1 / sigma)
    # Rounding of u and v moves the density by a factor e^{u²·2^-52}, and the ratios by less.
    error = 1e-15 * (1 + u**2) * (first - second) + 1e-15 * first
    found = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi) * (first - second + error)
    return np.asarray(np.where(is_one, 1.0, found))


def _mills_ratio(u: Array) -> Array:
    return np.asarray(math.sqrt(math.pi / 2) * scipy.special.erfcx(u / math.sqrt(2)))
