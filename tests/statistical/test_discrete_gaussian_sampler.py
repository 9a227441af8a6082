"""The sampler draws N_Z(0, s²) itself, not something close to it.

Each test counts values and compares every count with its exact binomial distribution, two-sided. With m
comparisons at level FAILURE/m, a right sampler fails each with probability at most FAILURE (union bound),
also where two tests look at the same draws.
"""

import functools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import binom

from panprivacy.statistics.events import discrete_gaussian

pytestmark = pytest.mark.statistical

FAILURE = 1e-7
DRAWS = 4_000


@functools.cache
def draws(scale):
    source = random.Random(f"values {scale}")
    return [discrete_gaussian.sample(Fraction(scale), math.ceil(12 * scale), source) for _ in range(DRAWS)]


def probabilities(scale):
    reach = math.ceil(12 * scale) + 2
    weights = {x: math.exp(-(x**2) / (2 * scale**2)) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def p_value(count, draws, probability):
    """Two-sided, exact."""
    lower, upper = binom.cdf(count, draws, probability), binom.sf(count - 1, draws, probability)
    return min(1.0, 2 * min(lower, upper))


@pytest.mark.parametrize("scale", [0.473835, 2.5])
def test_sample_values_have_exactly_their_probabilities(scale):
    counts = Counter(draws(scale))
    expected = probabilities(scale)
    common = {x: p for x, p in expected.items() if p * DRAWS > 5}
    rare = sum(counts.values()) - sum(counts[x] for x in common)
    comparisons = [(counts[x], p) for x, p in common.items()] + [
        (rare, max(0.0, 1 - math.fsum(common.values())))
    ]
    for count, probability in comparisons:
        assert p_value(count, DRAWS, probability) > FAILURE / len(comparisons)


@pytest.mark.parametrize("scale", [0.473835, 42.25])
def test_sample_halves_and_tails_have_exactly_their_probabilities(scale):
    expected = probabilities(scale)
    events = [
        lambda x: x > 0, lambda x: x < 0, lambda x: x % 2 == 0, lambda x: abs(x) <= scale / 2,
        lambda x: abs(x) > scale, lambda x: abs(x) > 2 * scale, lambda x: abs(x) > 3 * scale,
    ]  # fmt: skip
    for event in events:
        probability = math.fsum(p for x, p in expected.items() if event(x))
        happened = sum(map(event, draws(scale)))
        assert p_value(happened, DRAWS, probability) > FAILURE / len(events)


def test_rounded_continuous_noise_would_be_noticed():
    # The power of the first test: rounding a continuous Gaussian of the same scale fails it.
    scale, source = 0.473835, random.Random(3)
    zeros = sum(round(source.gauss(0, scale)) == 0 for _ in range(DRAWS))
    assert p_value(zeros, DRAWS, probabilities(scale)[0]) < FAILURE
