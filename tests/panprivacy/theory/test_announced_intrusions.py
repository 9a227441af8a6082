import math
import random
from itertools import pairwise

import numpy as np
import pytest
import scipy

from panprivacy.theory import announced_intrusions as theory


def test_standard_error_grows_four_over_epsilon_times_with_each_announced_look():
    errors = [theory.standard_error(10**6, count) for count in range(4)]
    for before, after in pairwise(errors):
        assert after / before == pytest.approx(4 / theory.EPSILON, rel=0.02)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_required_table_size_gives_the_wanted_standard_error(count):
    # In tables so large the noise of the result does not count: the error falls with the root of the size.
    size = theory.required_table_size(count)
    possible = min(round(size), 10**6)
    error = theory.standard_error(possible, count) * math.sqrt(possible / size)
    assert error == pytest.approx(theory.TARGET, rel=1e-4)


@pytest.mark.statistical
def test_density_after_an_announced_look_has_the_computed_error_and_no_bias():
    # 300 nearly normal estimates: variance within 45 % (χ²) and mean within 5.5 standard errors, which both
    # fail with probability below 1e-6. A look more would make the error 8 times larger.
    repetitions, size = 300, 2_000
    assert scipy.stats.chi2.sf(300 * 1.45, 300) + scipy.stats.chi2.cdf(300 * 0.55, 300) < 1e-6
    density = theory.statistic(size, 1)
    random_source = random.Random(11)
    estimates = []
    for _ in range(repetitions):
        state = density.start(random_source)
        density.process_batch(state, np.arange(0, size, 4), random_source)
        density.announce_intrusion(state, random_source)
        density.process_batch(state, np.arange(2, size, 4), random_source)
        estimates += density.estimate(state, random_source).values
    error = theory.standard_error(size, 1)
    assert abs(np.mean(estimates) - 0.5) < 5.5 * error / math.sqrt(repetitions)
    assert 0.55 < np.mean((np.array(estimates) - 0.5) ** 2) / error**2 < 1.45


def test_least_error_probability_is_what_two_hypotheses_at_pinskers_distance_allow():
    # No test tells two distributions at total variation distance d apart with both errors below (1 − d)/2.
    epsilon = 0.5
    assert theory.least_error_probability(epsilon) == pytest.approx((1 - math.sqrt(epsilon / 2)) / 2)
    assert theory.least_error_probability(epsilon) > 0.5 - math.sqrt(2 * epsilon), "better than printed"
    assert theory.least_error(1) == 0
