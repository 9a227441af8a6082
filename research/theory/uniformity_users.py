"""How many users a uniformity test needs (RSP Theorems 4.2 and 4.8): found by simulation, and as printed."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.shuffle.uniformity import (
    CALIBRATED_LEVEL,
    PRELIMINARY,
    UniformityParameters,
    chi_squared_statistic,
    compressed_size,
)
from panprivacy.statistics.simulation import simulation_generator, source

EPSILON = 0.5
DELTA = 1e-6
ALPHA = 0.4

TESTS = 300
"""Simulated collections of uniform values, and as many of values that are α away."""

WANTED_POWER = 2 / 3
PRECISION = 1.02
"""Up to which factor the smallest number of users is searched."""

Counts = NDArray[np.int64]


def uneven(k: int) -> NDArray[np.float64]:
    """A distribution over k values, k even, at total variation distance α from uniform: every other value
    is 1 + 2α times as frequent, the rest 1 − 2α times."""
    return (1 + 2 * ALPHA * np.where(np.arange(k) % 2, -1, 1)) / k


def groups_of(k: int, test: str) -> int:
    """k̂ of the test, over how many groups it counts."""
    return k if test == PRELIMINARY else compressed_size(k, EPSILON, ALPHA)


def power(
    k: int, test: str, users: int, noise: tuple[Counts, Counts], generator: np.random.Generator
) -> float:
    """How often values α away are distinguished from uniform, with a threshold that uniform ones exceed with
    probability `CALIBRATED_LEVEL`. Groups are drawn anew for every collection.

    Args:
        noise: ℓ_j and the ones among them, each of shape (2·TESTS, k̂), in the form that users add (RSP
            Algorithm 4).
    """
    groups = groups_of(k, test)
    uniform = generator.multinomial(users, np.full(groups, 1 / groups), size=TESTS)
    each = generator.multinomial(users, uneven(k), size=TESTS)
    if groups < k:
        each = generator.permuted(each, axis=1).reshape(TESTS, groups, k // groups).sum(axis=2)
    trials, ones = noise
    statistics = chi_squared_statistic(np.concatenate([uniform, each]) + ones - trials / 2, users)
    # What the noise adds on average given its ℓ_j is known to the analyzer, and so to its threshold.
    statistics -= groups / (4 * users) * trials.sum(axis=1)
    threshold = np.quantile(statistics[:TESTS], 1 - CALIBRATED_LEVEL)
    return float(np.mean(statistics[TESTS:] > threshold))


def smallest_users(k: int, test: str, seed: int) -> float:
    """The smallest number of users, to within 2%, for which `power` reaches `WANTED_POWER`."""
    generator = simulation_generator(source(seed, "distinct-and-uniform", test, k))
    groups = groups_of(k, test)
    parameters = UniformityParameters(
        epsilon=EPSILON, delta=DELTA, cohort_size=10**6, k=k, alpha=ALPHA, test=test
    )
    trials = generator.poisson(parameters.noise_messages, size=(2 * TESTS, groups))
    noise = trials, generator.binomial(trials, 0.5)

    def enough(users: float) -> bool:
        return power(k, test, round(users), noise, generator) >= WANTED_POWER

    return _smallest(enough, printed_preliminary(k))


def _smallest(enough: Callable[[float], bool], guess: float) -> float:
    """The smallest x, to within `PRECISION`, from which on `enough(x)` holds."""
    low = high = guess
    while enough(low):
        low /= 2
    while not enough(high):
        high *= 2
    while high > low * PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def printed_preliminary(k: int) -> float:
    """k^{3/4}/(αε)·ln^{1/2}(k/δ), the first term of RSP Theorem 4.2, without its constant."""
    return math.pow(k, 3 / 4) / (ALPHA * EPSILON) * math.sqrt(math.log(k / DELTA))


def printed_final(k: int) -> float:
    """k^{2/3}/(α^{4/3}ε^{2/3})·ln^{1/2}(k/δ), the first term of RSP Theorem 4.8, without its constant."""
    return (
        math.pow(k, 2 / 3)
        / (math.pow(ALPHA, 4 / 3) * math.pow(EPSILON, 2 / 3))
        * math.sqrt(math.log(k / DELTA))
    )


def printed_central(k: int) -> float:
    """The number of users if one curator may see all values (RSP Figure 1), without its constant."""
    return (
        math.sqrt(k) / ALPHA**2
        + math.sqrt(k) / (ALPHA * math.sqrt(EPSILON))
        + math.pow(k, 1 / 3) / (math.pow(ALPHA, 4 / 3) * math.pow(EPSILON, 2 / 3))
        + 1 / (ALPHA * EPSILON)
    )
