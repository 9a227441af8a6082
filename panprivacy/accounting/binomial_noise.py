"""A count with binomial noise: how well the noise hides one user.

RSP Lemma 2.4 bounds it in closed form. What it is exactly, is a maximum over one threshold
(panprivacy/accounting/binomial.py).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import ArrayLike

from panprivacy.accounting.binomial import Numbers, binomial_divergence
from panprivacy.accounting.interface import SMALLEST_DELTA, smallest_epsilon

_OUTSIDE = 1e-40
_BLOCKS = 2048
_ROUNDED_UP = 1 + 1e-9  # more than what SciPy's Poisson tails err by
_LARGEST_MEAN = 1e10  # up to which binomial tails were compared (panprivacy/accounting/binomial.py)


def least_noise(epsilon: float, delta: float) -> float:
    """10·((e^ε + 1)/(e^ε − 1))²·ln(2/δ): with ℓ·min(p, 1 − p) at least that, Bin(ℓ, p) hides a change by 1 at
    (ε, δ) (RSP Lemma 2.4)."""
    # A little more than the lemma asks for, so that rounding never leaves less.
    return 10 / math.tanh(epsilon / 2) ** 2 * math.log(2 / delta) * (1 + 1e-12)


def shift_delta(trials: ArrayLike, p: float, q: float, epsilon: float) -> Numbers:
    """δ at ε between Bin(trials, p) and the same plus 1, for each number of trials.

    Args:
        trials: numbers of trials, whole, ≥ 0; an array of any shape, or a number.
        p, q: the probability of success, from 0 to 1, and 1 − p.
        epsilon: ε ≥ 0, small enough for e^ε to be finite.

    Returns:
        For each number of trials, the larger hockey-stick divergence of both directions, rounded up.
    """
    excess, deficit = 1.0, math.exp(epsilon)
    up = binomial_divergence(trials, p, q, excess, deficit, epsilon)
    down = binomial_divergence(trials, q, p, excess, deficit, epsilon)
    return np.maximum(up, down)


@lru_cache(maxsize=256)
def binomial_epsilon(trials: int, p: float, q: float, delta: float, proved: float) -> float:
    """The smallest ε at which Bin(trials, p) hides 1 with this δ; at most `proved`, that of a theorem.

    Args:
        trials: ≥ 0.
        p, q: the probability of success, above 0 and below 1, and 1 − p.
        delta: above 0 and below 1; below `SMALLEST_DELTA` the theorem's bound is returned.
        proved: ε > 0 that a theorem proves at this δ.

    Returns:
        An upper bound, from inverting `shift_delta` (`smallest_epsilon` states how near).
    """
    return _epsilon(lambda epsilon: float(shift_delta(trials, p, q, epsilon)), delta, proved)


@lru_cache(maxsize=256)
def poisson_epsilon(mean: float, delta: float, proved: float) -> float:
    """The same for Bin(L, 1/2), if its readers know L ~ Pois(mean).

    Args:
        mean: ≥ 0; above `_LARGEST_MEAN` the theorem's bound is returned.
        delta, proved: as in `binomial_epsilon`.

    Returns:
        An upper bound: L is taken in blocks, each as its smallest number, and what lies outside of them is
        added to δ (RSP, Lemma 4.3).
    """
    if mean > _LARGEST_MEAN:
        return proved
    spread = 14 * math.sqrt(mean) + 150  # a tail below 1e-40 (RSP Lemma 4.3)
    low, high = max(0, math.floor(mean - spread)), math.ceil(mean + spread)
    edges = np.unique(np.floor(np.linspace(low, high + 1, _BLOCKS + 1)))
    below, above = scipy.stats.poisson.cdf(edges - 1, mean), scipy.stats.poisson.sf(edges - 1, mean)
    # Differences of the smaller tail, so that small probabilities keep their digits.
    mass = np.where(edges[1:] <= mean, np.diff(below), -np.diff(above))
    # More noise hides more: the smallest number of a block bounds all.
    least = edges[:-1]

    def curve(epsilon: float) -> float:
        return float(mass @ shift_delta(least, 0.5, 0.5, epsilon)) * _ROUNDED_UP + 2 * _OUTSIDE

    return _epsilon(curve, delta, proved)


def _epsilon(curve: Callable[[float], float], delta: float, proved: float) -> float:
    # If the curve, rounding included, is above δ even at the theorem's ε, the theorem's bound is returned.
    if delta < SMALLEST_DELTA or curve(proved) > delta:
        return proved
    return smallest_epsilon(curve, delta)
