import numpy as np
import pytest

from panprivacy.shuffle.uniformity import FINAL, PRELIMINARY, Uniformity, UniformityParameters
from panprivacy.shuffle.uniformity_test import chi_squared_statistic
from panprivacy.simulation import simulation_generator, source
from panprivacy.theory import uniformity_users as theory


@pytest.mark.parametrize("k", [4, 64])
def test_uneven_values_are_exactly_alpha_away_from_uniform(k):
    uneven = theory.uneven(k)
    assert uneven.sum() == pytest.approx(1)
    assert np.abs(uneven - 1 / k).sum() / 2 == pytest.approx(theory.ALPHA)


def test_final_test_counts_over_fewer_groups_and_the_preliminary_over_all_values():
    assert theory.groups_of(4096, PRELIMINARY) == 4096
    assert theory.groups_of(4096, FINAL) == 256


def test_smallest_is_found_from_below_and_from_above():
    for guess in (1.0, 100.0, 10_000.0):
        found = theory._smallest(lambda x: x >= 100, guess)
        assert 100 <= found < 100 * theory.PRECISION


def noise_of(groups, users, generator):
    trials = generator.poisson(50, size=(2 * theory.TESTS, groups))
    return trials, generator.binomial(trials, 0.5)


@pytest.mark.parametrize("test", [PRELIMINARY, FINAL])
def test_power_is_the_level_with_few_users_and_nearly_certain_with_many(test):
    # A fixed seed. With 1 user both kinds of collection look alike.
    generator = simulation_generator(source(1, "power", test))
    k = 64
    noise = noise_of(theory.groups_of(k, test), k, generator)
    assert theory.power(k, test, 1, noise, generator) == pytest.approx(theory.CALIBRATED_LEVEL, abs=0.1)
    assert theory.power(k, test, 20_000, noise, generator) > 0.95


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
