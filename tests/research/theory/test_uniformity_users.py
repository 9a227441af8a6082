import math

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from panprivacy.statistics.shuffle.uniformity import (
    FINAL,
    PRELIMINARY,
    Uniformity,
    UniformityParameters,
    chi_squared_statistic,
)
from panprivacy.statistics.simulation import simulation_generator, source
from research.theory import uniformity_users as theory


@pytest.mark.parametrize("k", [4, 64])
def test_uneven_values_are_exactly_alpha_away_from_uniform(k):
    uneven = theory.uneven(k)
    assert uneven.sum() == pytest.approx(1)
    assert np.abs(uneven - 1 / k).sum() / 2 == pytest.approx(theory.ALPHA)


def test_final_test_counts_over_groups_and_the_preliminary_over_values():
    assert theory.groups_of(4096, PRELIMINARY) == 4096
    assert theory.groups_of(4096, FINAL) == 256


def test_smallest_is_found_from_below_and_from_above():
    for guess in (1.0, 100.0, 10_000.0):
        found = theory._smallest(lambda x: x >= 100, guess)
        assert 100 <= found < 100 * theory.PRECISION


FAILURE = 1e-7


def noise_of(groups, generator):
    trials = generator.poisson(50, size=(2 * theory.TESTS, groups))
    return trials, generator.binomial(trials, 0.5)


@pytest.mark.statistical
@pytest.mark.parametrize("test", [PRELIMINARY, FINAL])
def test_power_is_the_level_with_one_user(test):
    # One user's value is as good as uniform, so that all statistics are exchangeable. Of those called
    # uneven, as many exceed the 270th smallest of 300 uniform ones as a beta-binomial variable says; the
    # threshold lies between that one and the next. Noise that differs everywhere keeps ties away.
    k, tests = 64, theory.TESTS
    generator = simulation_generator(source(1, "power", test))
    trials, ones = noise_of(theory.groups_of(k, test), generator)
    found = theory.power(k, test, 1, (trials, ones + 1e-6 * generator.random(ones.shape)), generator)
    place = round(tests * (1 - theory.CALIBRATED_LEVEL))
    low = betabinom.ppf(FAILURE, tests, tests - place, place + 1) / tests
    high = betabinom.isf(FAILURE, tests, tests - place + 1, place) / tests
    assert 0 < low <= found <= high < 0.3


@pytest.mark.statistical
@pytest.mark.parametrize("test", [PRELIMINARY, FINAL])
def test_power_is_nearly_certain_with_very_many_users(test):
    # Without noise, so that Z' is Pearson's statistic less k̂.
    k, users, tests, alpha = 64, 20_000_000, theory.TESTS, theory.ALPHA
    groups = theory.groups_of(k, test)
    nothing = np.zeros((2 * tests, groups), dtype=np.int64)
    # For uniform values it has the mean −1: above 5,000 is each with the probability of Markov's inequality
    # at most, and the threshold only if a tenth of them are.
    threshold_above = binom.sf(tests // 10 - 2, tests, groups / 5_000)
    # Uneven values that fall into groups may be even over these: six ways for each group of four. Otherwise
    # at least two groups are off by α/k̂, and Z' is at least 2α²m/k̂ − k̂ on average, in its part that is a
    # sum over users, each with a range of 8α at most (Hoeffding's inequality); the rest is not negative.
    even = 6**groups / math.comb(k, k // 2) if groups < k else 0.0
    mean = 2 * alpha**2 * users / groups - groups
    assert mean > 5_000
    overlooked = even + math.exp(-2 * (mean - 5_000) ** 2 / (users * (8 * alpha) ** 2))
    assert threshold_above + binom.sf(tests // 20 - 1, tests, overlooked) <= FAILURE
    generator = simulation_generator(source(1, "power", test))
    assert theory.power(k, test, users, (nothing, nothing), generator) > 0.95


@pytest.mark.statistical
def test_statistic_of_the_simulated_uniform_counts_is_that_of_the_protocol():
    # Means of 400 each of Z′ from `randomize_all` and from the shortcut: the difference within 6 of its
    # standard deviations (failure below 1e-8 for nearly normal means), which are a thirtieth of the mean.
    k, users, repetitions = 64, 3_000, 400
    parameters = UniformityParameters(
        epsilon=theory.EPSILON, delta=theory.DELTA, cohort_size=users, k=k, alpha=theory.ALPHA
    )
    protocol = Uniformity(parameters)
    random_source = source(5, "protocol")
    generator = simulation_generator(random_source)
    values = generator.choice(k, p=theory.uneven(k), size=(repetitions, users))
    totals = np.array([protocol.randomize_all(row, random_source) for row in values])
    noise = totals.reshape(repetitions, k, 2).sum(axis=2) - users
    of_protocol = chi_squared_statistic(totals[:, 1::2] - noise / 2, users)
    trials = generator.poisson(parameters.noise_messages, size=(repetitions, k))
    counts = generator.multinomial(users, theory.uneven(k), size=repetitions)
    shortcut = chi_squared_statistic(counts + generator.binomial(trials, 0.5) - trials / 2, users)
    deviation = np.sqrt((of_protocol.var() + shortcut.var()) / repetitions)
    assert abs(of_protocol.mean() - shortcut.mean()) < 6 * deviation
    assert deviation < shortcut.mean() / 30
