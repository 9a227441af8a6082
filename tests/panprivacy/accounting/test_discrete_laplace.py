"""Exact discrete Laplace noise: its distribution, its variance and its tail."""

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from panprivacy.accounting import discrete_laplace

FAILURE = 1e-7
DRAWS = 20_000

SCALES = st.fractions(min_value=Fraction(1, 5), max_value=200, max_denominator=50)


def probability(x, scale):
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(x)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(5, 2), Fraction(10**17 + 1, 10**16)])
def test_sample_values_have_exactly_their_probabilities(scale):
    # Every comparison is exact and two-sided at FAILURE over their number: a right sampler fails with at
    # most FAILURE for each scale.
    source = random.Random(f"laplace {scale}")
    counts = Counter(discrete_laplace.sample(scale, source) for _ in range(DRAWS))
    reach = range(-3 * math.ceil(scale), 3 * math.ceil(scale) + 1)
    outside = sum(counts.values()) - sum(counts[x] for x in reach)
    expected = {x: probability(x, scale) for x in reach}
    comparisons = [(counts[x], p) for x, p in expected.items()] + [
        (outside, 1 - math.fsum(expected.values()))
    ]
    for count, p in comparisons:
        two_sided = 2 * min(binom.cdf(count, DRAWS, p), binom.sf(count - 1, DRAWS, p))
        assert two_sided > FAILURE / len(comparisons)


@given(SCALES)
def test_variance_is_the_sum_of_its_definition(scale):
    reach = 60 * math.ceil(scale)
    expected = 2 * math.fsum(x * x * probability(x, scale) for x in range(1, reach))
    assert discrete_laplace.variance(scale) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_is_not_positive_is_refused(scale):
    for operation in (
        lambda: discrete_laplace.sample(scale, random.Random(1)),
        lambda: discrete_laplace.variance(scale),
    ):
        with pytest.raises(ValueError, match="above 0"):
            operation()
