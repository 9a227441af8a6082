import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from panprivacy.errors import FieldError
from panprivacy.shuffle.distinct_elements import (
    DistinctElements,
    DistinctElementsParameters,
    collision_bound,
    corrected_for_collisions,
    log_one_minus_exp,
)
from panprivacy.shuffle.split_and_mix import log2_distance
from tests.panprivacy.shuffle.contract import ShuffleContract

SMALL = DistinctElementsParameters(epsilon=1.0, delta=1e-4, cohort_size=40, k=5)
HASHED = replace(SMALL, k=2_000, hashed="yes")


class TestDistinctElements(ShuffleContract):
    @pytest.fixture
    def statistic(self):
        return DistinctElements(SMALL)


def test_estimate_of_n_users_is_the_printed_one():
    statistic = DistinctElements(SMALL)
    growth = math.exp(1.0)
    for odd in range(6):
        total = [ones for place in range(5) for ones in (100, 7 if place < odd else 8)]
        estimate = statistic.estimate(total, 40)
        assert estimate.values[0] == pytest.approx((2 * odd * growth - 5) / (growth - 1), rel=1e-12)
        printed_bound = growth / (growth - 1) * math.sqrt(2 * 5 * math.log(2 / 0.05))
        assert estimate.error_bounds[0] == pytest.approx(printed_bound, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("n", [2, 1_000, 10**9])
def test_flip_probability_gives_an_empty_place_half_of_e_to_minus_epsilon(epsilon, n):
    flip = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n)).flip_probability
    odd = -math.expm1(n * math.log1p(-2 * flip)) / 2
    # Near 1, where ε is tiny, 1 − 2p' has no more digits than it is away from 0.
    assert odd == pytest.approx(math.exp(-epsilon) / 2, rel=1e-8)


def test_flip_probability_computed_as_printed_has_no_digits_left_for_many_users():
    epsilon, n = 20.0, 10**9
    printed = (1 - (1 - math.exp(-epsilon)) ** (1 / n)) / 2
    ours = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n)).flip_probability
    assert ours == pytest.approx(math.exp(-epsilon) / (2 * n), rel=1e-6)
    assert abs(printed / ours - 1) > 0.1


def test_shares_hide_the_bits_of_a_third_of_the_users_as_well_as_delta_asks():
    for n in (2, 3, 40, 10_000, 10**9):
        parameters = replace(SMALL, cohort_size=n)
        assert log2_distance(max(2, math.ceil(n / 3)), parameters.shares) <= -parameters.security


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("gamma", [1.0, 0.5, 1 / 3])
def test_privacy_is_within_the_bounds_of_theorem_3_3(epsilon, gamma):
    n = 3_000
    statistic = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n))
    total_epsilon, delta, found = statistic.privacy_of(round(gamma * n))
    exact = math.log(1 / (1 - (1 - math.exp(-epsilon)) ** gamma))
    assert total_epsilon == pytest.approx(2 * exact, rel=1e-9)
    assert exact <= epsilon + math.log(1 / gamma) + 1e-12
    if epsilon <= math.log(2):
        assert exact <= 2 * epsilon**gamma / gamma
    assert delta == pytest.approx(2 * SMALL.delta * (math.exp(exact) + 1) / (math.exp(epsilon) + 1), rel=1e-9)
    assert found < total_epsilon


def test_privacy_of_fewer_users_than_the_shares_were_made_for_is_weaker_than_theorem_3_3():
    statistic = DistinctElements(replace(SMALL, cohort_size=3_000))
    _, delta, _ = statistic.privacy_of(30)
    assert delta > 2 * SMALL.delta / (30 / 3_000)


@pytest.mark.parametrize("x", [1e-12, 0.1, math.log(2), 1.0, 40.0])
def test_log_one_minus_exp_has_all_digits(x):
    expected = math.log(x - x * x / 2) if x < 1e-6 else math.log(math.expm1(x)) - x
    assert log_one_minus_exp(x) == pytest.approx(expected, rel=1e-9, abs=1e-17)


def test_estimate_of_fewer_users_is_debiased_for_as_many():
    # Of 20 of 40 users, an empty place is odd with probability (1 − (1 − e^−ε)^{1/2})/2.
    statistic = DistinctElements(SMALL)
    keep = (1 - math.exp(-1)) ** 0.5
    estimate = statistic.estimate([0, 1] + [0, 0] * 4, 20)
    assert estimate.values[0] == pytest.approx((2 * 1 - 5 * (1 - keep)) / keep)


def test_hashed_values_are_any_text_and_the_same_for_everybody():
    statistic = DistinctElements(HASHED.calibrated())
    assert statistic.value_of("N107US") == DistinctElements(HASHED.calibrated()).value_of("N107US")
    places = [statistic.value_of(f"N{number}") for number in range(1_000)]
    assert set(places) <= set(range(2_000))
    # 1,000 texts on 2,000 places leave about 2000·(1 − e^{−1/2}) = 787 occupied, with deviation 16.
    assert 690 <= len(set(places)) <= 880
    assert statistic.value_of("") in range(2_000)
    assert statistic.value_of("Zürich \ud800") in range(2_000)


def test_hashed_values_without_a_seed_are_refused_by_name():
    statistic = DistinctElements(HASHED)
    for refused_call in (statistic.require_promise, lambda: statistic.value_of("x")):
        with pytest.raises(FieldError) as refused:
            refused_call()
        assert refused.value.field == "hash_seed"


def test_hash_seed_follows_from_the_other_parameters():
    seed = HASHED.calibrated().hash_seed
    assert seed == HASHED.calibrated().calibrated().hash_seed
    assert seed != replace(HASHED, cohort_size=41).calibrated().hash_seed
    assert SMALL.calibrated().hash_seed is None
    with pytest.raises(FieldError, match="whole number"):
        replace(HASHED, hash_seed=1.5)


def test_hashed_estimate_adds_the_collisions_to_its_error_bound():
    hashed, plain = DistinctElements(HASHED.calibrated()), DistinctElements(replace(HASHED, hashed="no"))
    total = [0, 1] * 30 + [0, 0] * 1_970
    with_collisions, without = hashed.estimate(total, 40), plain.estimate(total, 40)
    assert with_collisions.values == without.values
    noise = math.e / (math.e - 1) * math.sqrt(2 * 2_000 * math.log(4 / 0.05))
    assert with_collisions.error_bounds[0] == pytest.approx(noise + collision_bound(40, 2_000, 0.025))
    assert with_collisions.details["corrected_for_collisions"] >= with_collisions.projection[0]


@pytest.mark.statistical
def test_hashed_values_collide_no_oftener_than_the_bound():
    # Over 400 seeds the bound at failure 0.05 is exceeded by at most 52: right code fails with probability
    # Pr[Bin(400, 0.05) > 52] < 1e-9.
    exceeded, lost = 0, []
    for seed in range(400):
        statistic = DistinctElements(replace(HASHED, hash_seed=seed))
        lost.append(200 - len({statistic.value_of(str(number)) for number in range(200)}))
        exceeded += lost[-1] > collision_bound(200, 2_000, 0.05)
    assert exceeded <= 52
    # A table of independent places loses 9.63 on average with deviation 2.9: 400 means are within 6·2.9/20.
    expected = 200 - 2_000 * (1 - (1 - 1 / 2_000) ** 200)
    assert abs(np.mean(lost) - expected) < 6 * 2.9 / 20


def test_corrected_for_collisions_undoes_what_random_places_lose():
    for values in (1, 10, 500, 3_000):
        occupied = 2_000 * (1 - (1 - 1 / 2_000) ** values)
        assert corrected_for_collisions(occupied, 2_000) == pytest.approx(values, rel=1e-9)
    assert math.isfinite(corrected_for_collisions(2_000, 2_000))


def test_truth_of_hashed_texts_counts_those_apart_that_share_a_place():
    # Five places for six texts: some share one.
    statistic = DistinctElements(replace(SMALL, hashed="yes").calibrated())
    texts = dict.fromkeys("abcdef", 2)
    assert len({statistic.value_of(text) for text in texts}) < 6
    assert statistic.truth_of(texts) == (6.0,)
    assert DistinctElements(SMALL).truth_of({"1": 2, "2": 0, "3": 1}) == (2.0,)


def test_truth_counts_values_that_somebody_has():
    assert DistinctElements(SMALL).truth({0: 3, 2: 1, 4: 0}) == (2.0,)


def test_robustness_half_of_the_users_gone_still_leaves_a_fair_bit_or_the_stated_one():
    # Drop-outs are the worst that malicious users can do (RSP footnote 5).
    statistic, source = DistinctElements(SMALL), random.Random(8)
    parities = Counter()
    for _ in range(400):
        sent = Counter(m for _ in range(20) for m in statistic.randomize(0, source))
        parities.update((place, sent[2 * place + 1] & 1) for place in range(5))
    epsilon = statistic.privacy_of(20)[0] / 2
    for place in range(5):
        probability = 0.5 if place == 0 else math.exp(-epsilon) / 2
        deviation = math.sqrt(400 * probability * (1 - probability))
        # Normal approximation: 5 places, each fails with probability 2e-9.
        assert abs(parities[place, 1] - 400 * probability) <= 6 * deviation
