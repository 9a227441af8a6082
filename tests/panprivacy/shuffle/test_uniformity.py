import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.errors import FieldError
from panprivacy.shuffle.domain_compression import compressed_distance, compressed_size
from panprivacy.shuffle.uniformity import Uniformity, UniformityParameters
from panprivacy.shuffle.uniformity_test import (
    CALIBRATED_LEVEL,
    calibrated_threshold,
    chi_squared_statistic,
    uniform_standard_error,
)
from tests.panprivacy.shuffle.contract import ShuffleContract

SMALL = UniformityParameters(epsilon=3.0, delta=0.05, cohort_size=60, k=4, alpha=0.5)
LARGE = UniformityParameters(epsilon=1.0, delta=1e-6, cohort_size=20_000, k=100, alpha=0.25)
FAILURE = 1e-7


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
    printed = sum(found["verdict"] == "not uniform" for found in details)
    calibrated = sum(found["calibrated_verdict"] == "not uniform" for found in details)
    # The level of one calibrated threshold varies, over its seed, as an order statistic: below 0.18 but with
    # probability 4e-7 (Beta(50, 450)); the two bounds below are exceeded with probability FAILURE each.
    assert printed <= binom.isf(FAILURE, 30, 0.1)
    assert calibrated <= binom.isf(FAILURE, 30, 0.18)


@pytest.mark.parametrize("test", ["preliminary", "final"])
def test_verdict_on_values_of_one_half_is_not_uniform(test):
    statistic, source = Uniformity(replace(LARGE, test=test).calibrated()), random.Random(test)
    total = statistic.randomize_all(np.arange(20_000) % 50, source)
    details = statistic.estimate(total.tolist(), 20_000).details
    assert details["verdict"] == details["calibrated_verdict"] == "not uniform"
    assert details["calibrated_threshold"] < details["threshold"]


@pytest.mark.statistical
def test_standard_error_under_uniform_is_that_of_repetitions():
    # The variance of 400 values is within 45% of the truth but with probability below 1e-6, for χ² with 99
    # degrees of freedom or more in place of the normal (kurtosis at most 0.13: deviation of the ratio 0.073).
    noise, generator = np.full(100, 900.0), np.random.default_rng(4)
    counts = generator.multinomial(5_000, np.full(100, 0.01), size=400)
    noisy = counts + generator.binomial(900, 0.5, size=(400, 100)) - 450
    found = np.var(chi_squared_statistic(noisy, 5_000), ddof=1)
    assert 0.55 < found / uniform_standard_error(noise, 5_000) ** 2 < 1.45


def test_calibrated_threshold_is_deterministic_and_exceeded_by_a_tenth():
    noise = np.full(20, 400.0)
    threshold = calibrated_threshold(noise, 2_000)
    assert threshold == calibrated_threshold(noise, 2_000)
    generator = np.random.default_rng(7)
    counts = generator.multinomial(2_000, np.full(20, 0.05), size=20_000)
    values = chi_squared_statistic(counts + generator.binomial(400, 0.5, size=(20_000, 20)) - 200, 2_000)
    assert 0.04 < np.mean(values > threshold) < 0.17
    assert CALIBRATED_LEVEL == 0.1


def test_estimate_where_dishonest_users_sent_too_little_is_still_an_answer():
    total = [0, 0] + [90, 100] * 3
    assert Uniformity(SMALL).estimate(total, 60).details["verdict"] in ("uniform", "not uniform")


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
        with pytest.raises(FieldError) as refused:
            refused_call()
        assert refused.value.field == "partition_seed"


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


def test_compressed_distance_is_the_printed_one_unless_every_value_is_a_group():
    assert compressed_distance(1_000, 100, 0.5) == pytest.approx(0.5 * 10 / (477 * 100))
    assert compressed_distance(1_000, 1_000, 0.5) == 0.5


def test_truth_without_users_is_refused():
    with pytest.raises(ValueError, match="without users"):
        Uniformity(SMALL).truth({})
