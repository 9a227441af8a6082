"""Bounds for a truth, from one noisy whole number that was observed, by exact tests (Clopper & Pearson 1934).

A *family* gives the distribution of the observation under each of the hypotheses 0, 1, 2, …; observations
grow with them. The bounds enclose the hypotheses under which an observation at least as large, and one at
least as small, both have at least half of the failure probability. So if the family is the true distribution,
they miss the truth with at most the failure probability, for any truth and any number of counted devices.

Tails come from the characteristic function. The probabilities of whole numbers are its Fourier coefficients.
So on a window of W numbers they are sums over the angles 2πj/W, exact except for the mass outside of the
window (Abate & Whitt 1992, section 4). Far from the angle 0 the function is negligible if the observation
varies much, so some 50 angles do, whatever is observed.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from panprivacy.statistics.intervals.estimate import LEVELS, Interval

Numbers = NDArray[np.float64]
Hypotheses = NDArray[np.int64]

_DEVIATIONS = 10
_DEVIATIONS_OF_NOISE = 15
_LEAST_REACH = 40
"""A window reaches these numbers of standard deviations and of whole numbers to each side of the mean. It
takes more for noise that is not smooth, such as Laplace noise: 6e-10 of that is further away than 15."""

_NEGLIGIBLE = 14.0
"""For a sum of bits |φ(t)| ≤ exp(−2σ²t²/π²), below 1e-17 if σ·t exceeds this."""

_MOST_ANGLES = 120_000
"""Of a window of 30σ, they go up to σ·t = 25,000. Of Laplace noise, the slowest to fall, 1e-9 is left out."""


class Family(Protocol):
    """The distributions of a noisy whole number X under several hypotheses at once."""

    def mean(self, hypotheses: Hypotheses) -> Numbers:
        """E X under each."""

    def variance(self, hypotheses: Hypotheses) -> Numbers:
        """Var X under each."""

    def smoothness(self, hypotheses: Hypotheses) -> Numbers:
        """A standard deviation that gives the point from which |φ| is negligible (`_NEGLIGIBLE`), at most
        that of X."""

    def log_characteristic(self, hypotheses: Hypotheses, angles: Numbers) -> NDArray[np.complex128]:
        """ln φ(t) = ln E exp(i·t·X).

        Args:
            hypotheses: a column.
            angles: t, above 0 and below π; a row for each hypothesis.
        """


def probability_at_most(family: Family, hypotheses: Hypotheses, observed: NDArray[np.int64]) -> Numbers:
    """Pr[X ≤ observed] under each hypothesis, each with an observation of its own.

    Its absolute error is below 1e-9 for up to 10⁹ bits and discrete Gaussian noise, below 2e-9 with discrete
    Laplace noise.
    """
    mean, smoothness = family.mean(hypotheses), family.smoothness(hypotheses)
    rough = np.sqrt(np.maximum(family.variance(hypotheses) - smoothness**2, 0.0))
    reach = np.ceil(_DEVIATIONS * smoothness + _DEVIATIONS_OF_NOISE * rough) + _LEAST_REACH
    width, lowest = 2 * reach + 1, np.round(mean) - reach
    last = _NEGLIGIBLE * width / (2 * math.pi * np.maximum(smoothness, 1e-9))
    counted = np.minimum(np.minimum(reach, np.ceil(last)), _MOST_ANGLES)
    numbers = np.arange(1, int(counted.max()) + 1)
    is_counted = numbers <= counted[:, None]
    angles = 2 * math.pi * np.where(is_counted, numbers, 1) / width[:, None]
    # Those of the window that are no larger than the observation, and the middle of them.
    among = np.clip(observed - lowest + 1, 0, width)
    middle = lowest + (among - 1) / 2
    turned = family.log_characteristic(hypotheses[:, None], angles) - 1j * angles * middle[:, None]
    waves = np.exp(turned).real * np.sin(angles * among[:, None] / 2) / np.sin(angles / 2)
    found = np.clip((among + 2 * np.where(is_counted, waves, 0.0).sum(axis=1)) / width, 0.0, 1.0)
    return np.asarray(np.where(among == 0, 0.0, np.where(among == width, 1.0, found)))


Released = Callable[[Hypotheses, Hypotheses], Numbers]
"""(hypotheses, observations) → the probability with which there is an observation at all, above 0."""


def release_of_all(_failure_probability: float) -> Released:
    """Whatever is observed is released."""
    return lambda hypotheses, _observed: np.ones(hypotheses.shape)


def bounds(
    family: Family,
    observed: Sequence[int],
    most: int,
    failure_probability: float,
    released: Callable[[float], Released] = release_of_all,
) -> tuple[Hypotheses, Hypotheses]:
    """The lowest and the highest of the hypotheses 0..most that agree with each observation.

    If every hypothesis makes an observation this small too rare, both are 0; if this large, `most`.

    Args:
        failure_probability: of the bounds of each observation; half for either side.
        released: set if only large observations are released, for bounds with this failure probability. An
            observation that is this large with some probability is this large, among released ones, with at
            most that probability over that of a release.
    """
    seen, rare = np.asarray(observed, dtype=np.int64), failure_probability / 2
    least, largest = np.zeros_like(seen), np.full_like(seen, most)
    release = released(failure_probability)

    # The ends of the normal approximation: the first of each observation, then the last.
    reach = -float(scipy.special.ndtri(rare))
    twice, deviations = np.tile(seen, 2), np.repeat([reach, -reach], seen.size)
    low, high = np.split(
        first(
            lambda tried: (
                family.mean(tried) + deviations * np.sqrt(np.maximum(family.variance(tried), 0.0)) >= twice
            ),
            np.zeros_like(twice),
            np.full_like(twice, most),
        ),
        2,
    )
    lowest = first(
        lambda tried: 1 - probability_at_most(family, tried, seen - 1) > rare * release(tried, seen),
        least,
        largest,
        low,
    )
    refused = first(lambda tried: probability_at_most(family, tried, seen) <= rare, least, largest, high)
    return np.minimum(lowest, most), np.maximum(refused - 1, 0)


def intervals(
    family: Family,
    observed: Sequence[int],
    most: int,
    unit: float = 1.0,
    released: Callable[[float], Released] = release_of_all,
    together: float | None = None,
) -> tuple[Interval, ...]:
    """The bounds at each of `LEVELS`, of all observations together (union bound).

    Args:
        unit: what one step from hypothesis to hypothesis is worth.
        released: as in `bounds`.
        together: how many observations hold at once, if `observed` is a part of them. More if a part of the
            failure probability is reserved. By default the length of `observed`.
    """
    among = len(observed) if together is None else together
    # Of a thousand categories many have the same number.
    different, place = np.unique(np.asarray(observed, dtype=np.int64), return_inverse=True)
    found = []
    for level in LEVELS:
        low, high = bounds(family, different.tolist(), most, (1 - level) / among, released)
        found.append(
            Interval(level, tuple((unit * low[place]).tolist()), tuple((unit * high[place]).tolist()))
        )
    return tuple(found)


def first(
    holds: Callable[[Hypotheses], NDArray[np.bool_]],
    least: Hypotheses,
    most: Hypotheses,
    guess: Hypotheses | None = None,
) -> Hypotheses:
    """The first of least..most from which on a condition holds, in each row; most + 1 if there is none.

    Args:
        holds: asked for one number of each row.
        guess: near which bisection begins; it leaves it by four times as much each time. By default the
            middle.
    """
    below, reached = least - 1, most + 1
    widest = int(np.max(most - least)) + 1
    near = np.clip((least + most) // 2 if guess is None else guess, least, most)
    step = widest if guess is None else 2
    while (is_open := reached - below > 1).any():
        tried = np.clip((below + reached) // 2, np.maximum(near - step, least), np.minimum(near + step, most))
        found = holds(tried)
        reached = np.where(is_open & found, np.minimum(reached, tried), reached)
        below = np.where(is_open & ~found, np.maximum(below, tried), below)
        step = min(4 * step, widest)
    return reached
