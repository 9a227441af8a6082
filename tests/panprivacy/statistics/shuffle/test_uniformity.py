import itertools
import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.formats.errors import FieldError
from panprivacy.statistics.shuffle.uniformity import (
    CALIBRATED_LEVEL,
    NO_DIFFERENCE_FOUND,
    NOT_UNIFORM,
    Uniformity,
    UniformityParameters,
    UniformMoments,
    calibrated_threshold,
    chi_squared_statistic,
    compressed_distance,
    compressed_size,
    uniform_standard_error,
)
from tests.panprivacy.statistics.shuffle.contract import ShuffleContract
from tests.refusals import field_refused

SMALL = UniformityParameters(epsilon=3.0, delta=0.05, cohort_size=60, k=4, alpha=0.5)
LARGE = UniformityParameters(epsilon=1.0, delta=1e-6, cohort_size=20_000, k=100, alpha=0.25)
FAILURE = 1e-7
LOWEST_LEVEL, HIGHEST_LEVEL = 0.095, 0.105
"""Between which the calibrated threshold is said to be exceeded."""


class TestPreliminary(ShuffleContract):
    @pytest.fixture
    def statistic(self):
        return Uniformity(SMALL)


class TestFinal(ShuffleContract):
    @pytest.fixture
    def statistic(self):
        statistic = Uniformity(replace(SMALL, alpha=1.0, epsilon=1.3, test="final").calibrated())
        assert statistic.parameters.groups == 2
        return statistic


def uniform_estimate(statistic, source):
    values = np.array([source.randrange(statistic.parameters.k) for _ in range(statistic.cohort_size)])
    return statistic.estimate(statistic.randomize_all(values, source).tolist(), statistic.cohort_size)


@pytest.mark.statistical
@pytest.mark.parametrize("test", ["preliminary", "final"])
def test_verdict_on_uniform_values_is_wrong_no_oftener_than_stated(test):
    statistic, source = Uniformity(replace(LARGE, test=test).calibrated()), random.Random(test)
    details = [uniform_estimate(statistic, source).details for _ in range(30)]
    printed = sum(found["verdict"] == NOT_UNIFORM for found in details)
    calibrated = sum(found["calibrated_verdict"] == NOT_UNIFORM for found in details)
    # The bounds are exceeded with probability FAILURE each.
    assert printed <= binom.isf(FAILURE, 30, 0.1)
    assert calibrated <= binom.isf(FAILURE, 30, HIGHEST_LEVEL)


@pytest.mark.statistical
@pytest.mark.parametrize("test", ["preliminary", "final"])
def test_verdict_on_values_of_one_half_is_not_uniform(test):
    users, statistic = 20_000, Uniformity(replace(LARGE, test=test).calibrated())
    values = np.arange(users) % 50
    total = statistic.randomize_all(values, random.Random(test))
    details = statistic.estimate(total.tolist(), users).details
    # Given the number of noise messages, Z′ is at least k/m·Σ(d² + (2d − 1)·E) − k for d_j = c_j − m/k: a sum
    # of as many independent terms, each of two values, which stays below the threshold with at most the
    # probability that Hoeffding's inequality gives.
    k = statistic.parameters.groups
    away = np.bincount(np.array(statistic.group_of())[values], minlength=k) - users / k
    noise = total[::2] + total[1::2] - users
    expected = k / users * np.sum(away**2) - k
    ranges = np.sum(noise * (k / users * (2 * away - 1)) ** 2)
    assert math.exp(-2 * (expected - details["threshold"]) ** 2 / ranges) <= FAILURE
    assert details["calibrated_threshold"] < details["threshold"] < expected
    assert details["verdict"] == details["calibrated_verdict"] == NOT_UNIFORM


@pytest.mark.statistical
@pytest.mark.parametrize("test", ["preliminary", "final"])
def test_expected_if_uniform_is_where_uniform_values_lie_on_average(test):
    statistic, source = Uniformity(replace(LARGE, test=test).calibrated()), random.Random(test)
    estimates = [uniform_estimate(statistic, source) for _ in range(10)]
    away = [estimate.values[0] - estimate.details["expected_if_uniform"] for estimate in estimates]
    # By the normal approximation the mean of 10 errs by more with probability 2e-9.
    assert abs(np.mean(away)) <= 6 * estimates[0].standard_errors[0] / math.sqrt(10)
    # It is far from 0: most of it is the users' noise.
    groups, noise = statistic.parameters.groups, statistic.parameters.noise_messages
    expected = estimates[0].details["expected_if_uniform"]
    assert expected == pytest.approx(groups**2 * noise / (4 * 20_000) - 1, rel=0.05)
    assert f"{expected:,.1f} on average" in estimates[0].standard_error_note


@pytest.mark.statistical
def test_expected_shift_at_alpha_is_that_of_half_above_and_half_below():
    statistic, source = Uniformity(LARGE), random.Random("shift")
    k, users, alpha = LARGE.k, LARGE.cohort_size, LARGE.alpha
    shares = np.repeat([(1 + 2 * alpha) / k, (1 - 2 * alpha) / k], k // 2)
    generator, away, shifts = np.random.default_rng(7), [], set()
    for _ in range(50):
        values = generator.choice(k, size=users, p=shares)
        estimate = statistic.estimate(statistic.randomize_all(values, source).tolist(), users)
        shifts.add(estimate.details["expected_shift_at_alpha"])
        away.append(estimate.values[0] - estimate.details["expected_if_uniform"])
    (shift,) = shifts
    assert shift == pytest.approx(4 * alpha**2 * (users - 1))
    # As if of a normal distribution with the spread that is measured: 6 of its errors, 2e-9.
    assert abs(np.mean(away) - shift) <= 6 * np.std(away, ddof=1) / math.sqrt(50)
    share = shift / statistic.expected_standard_error()
    assert f"at least {share:,.1f} standard errors" in statistic.expected_note


def test_no_shift_at_alpha_is_stated_where_values_are_put_into_groups():
    statistic = Uniformity(replace(SMALL, alpha=1.0, epsilon=1.3, test="final").calibrated())
    assert "expected_shift_at_alpha" not in uniform_estimate(statistic, random.Random(1)).details


def every_uniform_outcome(trials, samples):
    """Z′ of every outcome, and its probability, by going through the values and coins of all users."""
    k = len(trials)
    outcomes = Counter()
    for values in itertools.product(range(k), repeat=samples):
        for coins in itertools.product((-0.5, 0.5), repeat=sum(trials)):
            counts = np.bincount(values, minlength=k).astype(float)
            np.add.at(counts, np.repeat(np.arange(k), trials), coins)
            outcomes[float(chi_squared_statistic(counts, samples))] += k**-samples / 2 ** sum(trials)
    return np.array(list(outcomes)), np.array(list(outcomes.values()))


@pytest.mark.parametrize(("trials", "samples"), [((1, 4), 3), ((3, 0, 1), 4), ((0, 2, 1, 0), 3), ((0, 0), 1)])
def test_moments_under_uniform_are_those_of_all_outcomes(trials, samples):
    statistics, probabilities = every_uniform_outcome(trials, samples)
    mean = probabilities @ statistics
    variance, third = (float(probabilities @ (statistics - mean) ** power) for power in (2, 3))
    noise = np.array(trials, dtype=float)
    assert UniformMoments.of(noise, samples) == UniformMoments(
        mean=pytest.approx(mean), variance=pytest.approx(variance), third=pytest.approx(third)
    )
    assert uniform_standard_error(noise, samples) == pytest.approx(math.sqrt(variance))


LEAST_NOISE = UniformityParameters(epsilon=20.0, delta=0.1, cohort_size=10**6, k=2, alpha=1.0).noise_messages


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("k", "samples", "noise"),
    [
        (2, 3, LEAST_NOISE),
        (2, 1_000, 1_000),
        (4, 60, 200),
        (20, 30, 10_000),
        pytest.param(50, 20_000, 900, marks=pytest.mark.long),
    ],
)
def test_calibrated_threshold_is_exceeded_as_often_as_stated(k, samples, noise):
    # Counts beyond the bounds have probability FAILURE/10 each. A threshold that is exceeded with probability
    # 0.08, or 0.122, would pass with at most 1e-6.
    generator, draws = np.random.default_rng(7), 40_000
    trials = generator.poisson(noise, size=k)
    counts = generator.multinomial(samples, np.full(k, 1 / k), size=draws)
    noisy = counts + generator.binomial(trials, 0.5, size=(draws, k)) - trials / 2
    threshold = calibrated_threshold(trials.astype(float), samples)
    exceeded = np.count_nonzero(chi_squared_statistic(noisy, samples) > threshold)
    assert LOWEST_LEVEL < CALIBRATED_LEVEL < HIGHEST_LEVEL
    low = binom.ppf(FAILURE / 10, draws, LOWEST_LEVEL)
    high = binom.isf(FAILURE / 10, draws, HIGHEST_LEVEL)
    assert low <= exceeded <= high
    assert binom.sf(low - 1, draws, 0.08) <= 1e-6
    assert binom.cdf(high, draws, 0.122) <= 1e-6


def test_calibrated_threshold_of_two_users_is_exceeded_by_a_tenth_at_most():
    # Z′ is 0 or −2 with two users and two values, and always −1 with one.
    assert calibrated_threshold(np.zeros(2), 2) >= 0
    assert calibrated_threshold(np.zeros(2), 1) == -1


def test_estimate_where_dishonest_users_sent_too_little_is_still_an_answer():
    total = [0, 0] + [90, 100] * 3
    assert Uniformity(SMALL).estimate(total, 60).details["verdict"] in (NO_DIFFERENCE_FOUND, NOT_UNIFORM)


def test_noise_that_takes_too_many_messages_is_refused_by_name():
    with pytest.raises(FieldError, match="at least") as refused:
        replace(SMALL, epsilon=1e-5)
    assert refused.value.field == "cohort_size"
    least = int(refused.value.message.split("at least ")[1].split(", so")[0].replace(",", ""))
    assert replace(SMALL, epsilon=1e-5, cohort_size=least)
    with pytest.raises(FieldError):
        replace(SMALL, epsilon=1e-5, cohort_size=least - 1)


def test_final_test_without_a_partition_seed_is_refused_by_name():
    statistic = Uniformity(replace(LARGE, test="final"))
    for refused_call in (statistic.require_promise, lambda: statistic.randomize(1, random.Random(1))):
        with field_refused("partition_seed"):
            refused_call()


def test_groups_of_the_final_test_are_equally_large():
    statistic = Uniformity(replace(LARGE, k=96, alpha=1.0, test="final").calibrated())
    assert statistic.parameters.groups == 16  # 96^{2/3} = 20.97
    assert np.bincount(statistic.group_of()).tolist() == [6] * 16


@pytest.mark.parametrize(
    ("k", "epsilon", "alpha", "groups"),
    [
        (1_000, 1.0, 1.0, 100),
        (1_000, 1.0, 0.1, 1_000),
        (1_000, 0.001, 1.0, 2),
        (97, 1.0, 1.0, 97),
        (9, 0.01, 1.0, 3),
    ],
)
def test_compressed_size_follows_the_printed_rule_down_to_a_divisor(k, epsilon, alpha, groups):
    assert compressed_size(k, epsilon, alpha) == groups


def test_compressed_distance_is_printed_unless_every_value_is_a_group():
    assert compressed_distance(1_000, 100, 0.5) == pytest.approx(0.5 * 10 / (477 * 100))
    assert compressed_distance(1_000, 1_000, 0.5) == 0.5


def test_truth_without_users_is_refused():
    with pytest.raises(ValueError, match="without users"):
        Uniformity(SMALL).truth({})
