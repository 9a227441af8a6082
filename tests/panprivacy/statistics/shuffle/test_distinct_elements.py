import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.formats.errors import FieldError
from panprivacy.statistics.shuffle.distinct_elements import (
    DistinctElements,
    DistinctElementsParameters,
    log_one_minus_exp,
)
from panprivacy.statistics.shuffle.split_and_mix import log2_distance
from panprivacy.statistics.streams.hashed_places import HashedPlaces
from tests.panprivacy.statistics.shuffle.contract import ShuffleContract
from tests.refusals import field_refused

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
        assert estimate.error_bounds[0] <= printed_bound


def odd_distribution(touched, k, empty):
    """Pr[so many places are odd], 0 to k, if so many are touched."""
    return np.convolve(
        binom.pmf(range(touched + 1), touched, 0.5), binom.pmf(range(k - touched + 1), k - touched, empty)
    )


def touched_distribution(values, k):
    """Pr[so many places are touched], 0 to k, by so many values, each on a random one."""
    found, share = np.eye(1, k + 1)[0], np.arange(k + 1) / k
    for _ in range(values):
        found = found * share + np.concatenate([[0], (found * (1 - share))[:-1]])
    return found


def hashed_odd_distribution(values, k, empty):
    return sum(
        probability * odd_distribution(touched, k, empty)
        for touched, probability in enumerate(touched_distribution(values, k))
        if probability > 1e-15
    )


def estimates_by_odd_places(statistic, users):
    k = statistic.parameters.k
    return [statistic.estimate(counts_with_odd_places(odd, k), users) for odd in range(k + 1)]


def empty_of(epsilon, users, n):
    """The probability that an empty place is odd if so many of n users take part."""
    return (1 - (1 - math.exp(-epsilon)) ** (users / n)) / 2


@pytest.mark.parametrize(
    ("epsilon", "users", "n"),
    [(0.3, 300, 300), (3.0, 40, 40), pytest.param(20.0, 20, 60, marks=pytest.mark.long)],
)
def test_error_bound_is_missed_with_five_percent_at_most(epsilon, users, n):
    k = 60
    statistic = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n, k=k))
    estimates = estimates_by_odd_places(statistic, users)
    for values in range(1, min(users, k) + 1):
        missed = [abs(estimate.values[0] - values) > estimate.error_bounds[0] for estimate in estimates]
        assert odd_distribution(values, k, empty_of(epsilon, users, n)) @ missed <= 0.05


@pytest.mark.parametrize(
    ("epsilon", "users", "n", "k"),
    [(3.0, 70, 70, 25), (0.3, 20, 60, 40), pytest.param(0.3, 40, 40, 60, marks=pytest.mark.long)],
)
def test_hashed_error_bound_is_missed_with_five_percent_at_most(epsilon, users, n, k):
    parameters = replace(HASHED, epsilon=epsilon, cohort_size=n, k=k).calibrated()
    estimates = estimates_by_odd_places(DistinctElements(parameters), users)
    for values in range(1, users + 1):
        missed = [abs(estimate.values[0] - values) > estimate.error_bounds[0] for estimate in estimates]
        assert hashed_odd_distribution(values, k, empty_of(epsilon, users, n)) @ missed <= 0.05


@pytest.mark.parametrize(
    ("epsilon", "values", "most"), [(3.0, 10, 24), (5.0, 10, 12), (3.0, 200, 37), (5.0, 200, 32)]
)
def test_error_bound_takes_in_that_empty_places_are_rarely_odd(epsilon, values, most):
    statistic = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=300, k=1_000))
    odd = round(values / 2 + (1_000 - values) * math.exp(-epsilon) / 2)
    estimate = statistic.estimate(counts_with_odd_places(odd, 1_000), 300)
    assert estimate.error_bounds[0] < most
    of_fair_coins = math.sqrt(2 * 1_000 * math.log(40)) / (1 - math.exp(-epsilon))
    assert most < of_fair_coins / 2


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("n", [2, 1_000, 10**9])
def test_flip_probability_gives_an_empty_place_half_of_e_to_minus_epsilon(epsilon, n):
    flip = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n)).flip_probability
    odd = -math.expm1(n * math.log1p(-2 * flip)) / 2
    # Near 1, where ε is tiny, 1 − 2p' has no more digits than it is away from 0.
    assert odd == pytest.approx(math.exp(-epsilon) / 2, rel=1e-8)


def test_flip_probability_as_printed_has_no_digits_for_many_users():
    epsilon, n = 20.0, 10**9
    printed = (1 - (1 - math.exp(-epsilon)) ** (1 / n)) / 2
    ours = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n)).flip_probability
    assert ours == pytest.approx(math.exp(-epsilon) / (2 * n), rel=1e-6)
    assert abs(printed / ours - 1) > 0.1


def test_shares_hide_the_bits_of_a_third_of_the_users():
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


def test_privacy_of_too_few_users_is_weaker_than_theorem_3_3():
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
        with field_refused("hash_seed"):
            refused_call()


def test_hash_seed_follows_from_the_other_parameters():
    seed = HASHED.calibrated().hash_seed
    assert seed == HASHED.calibrated().calibrated().hash_seed
    assert seed != replace(HASHED, cohort_size=41).calibrated().hash_seed
    assert SMALL.calibrated().hash_seed is None
    with pytest.raises(FieldError, match="whole number"):
        replace(HASHED, hash_seed=1.5)


def counts_with_odd_places(odd, k):
    """Message counts in which the first so many places have an odd number of ones."""
    return [0, 1] * odd + [0, 0] * (k - odd)


def kl_divergence(a, b):
    return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))


def test_hashed_estimate_is_of_how_many_values_touch_as_many_places():
    places = HashedPlaces(2_000)
    # About 57 touched places, and 816: among the latter about 5 values in 6 have a place of their own.
    for odd, users in ((386, 40), (626, 3_000)):
        total, parameters = counts_with_odd_places(odd, 2_000), replace(HASHED, cohort_size=users)
        hashed = DistinctElements(parameters.calibrated())
        plain = DistinctElements(replace(parameters, hashed="no"))
        estimate, touched = hashed.estimate(total, users), plain.estimate(total, users)
        assert estimate.details == {"touched_places": touched.values[0], "saturated": False}
        (value,) = estimate.values
        assert 2_000 * places.touched(value) == pytest.approx(touched.values[0], rel=1e-9)
        assert estimate.projection == (min(value, users),)
        # From the lowest and highest mean number of odd places to the values that give them, 1 to `users`.
        empty = math.exp(-1) / 2
        ends = [
            places.items(min((mean / 2_000 - empty) / (0.5 - empty), places.full))
            for mean in np.linspace(max(odd - 200, 1), odd + 200, 40_001)
            if 2_000 * kl_divergence(odd / 2_000, mean / 2_000) <= math.log(40)
        ]
        lower, upper = (min(max(end, 1), users) for end in (ends[0], ends[-1]))
        assert estimate.error_bounds[0] == pytest.approx(max(upper - value, value - lower), rel=1e-3)


@pytest.mark.parametrize("odd", [1_500, 2_000])
def test_hashed_estimate_of_a_full_table_has_no_standard_error(odd):
    statistic = DistinctElements(replace(HASHED, cohort_size=10_000).calibrated())
    estimate = statistic.estimate(counts_with_odd_places(odd, 2_000), 10_000)
    assert estimate.standard_errors == ()
    assert estimate.standard_error_note.startswith("None is stated")
    assert estimate.details["saturated"]
    # Any number of users may have values that nobody else has.
    assert estimate.values[0] + estimate.error_bounds[0] >= 10_000


def test_hashed_preview_expects_as_many_values_as_users():
    fits = DistinctElements(replace(HASHED, cohort_size=2_000).calibrated())
    touched = HashedPlaces(2_000).touched(2_000)
    odd = round(2_000 * (0.5 * touched + (1 - touched) * math.exp(-1) / 2))
    (error,) = fits.estimate(counts_with_odd_places(odd, 2_000), 2_000).standard_errors
    assert fits.expected_standard_error() == pytest.approx(error, rel=0.01)
    assert "may share a place" in fits.expected_note
    assert fits.largest == 2_000
    full = DistinctElements(replace(HASHED, cohort_size=20_000).calibrated())
    assert "A larger k helps" in full.expected_note
    assert full.largest == 20_000


def test_hashed_standard_error_includes_the_random_places_exactly():
    k, texts, epsilon = 500, 400, 1.0
    statistic = DistinctElements(replace(HASHED, k=k, cohort_size=1_000, epsilon=epsilon).calibrated())
    untouched, two_untouched = (1 - 1 / k) ** texts, (1 - 2 / k) ** texts
    touched = k * (1 - untouched)
    keep, empty = 1 - math.exp(-epsilon), math.exp(-epsilon) / 2
    randomized = (touched / 4 + (k - touched) * empty * (1 - empty)) * 4 / keep**2
    placed = k * untouched + k * (k - 1) * two_untouched - (k * untouched) ** 2
    slope = 1 / (k * untouched * -math.log(1 - 1 / k))
    error = statistic._hashed_standard_error(touched / k, statistic._log_keep(1_000))
    assert error == pytest.approx(slope * math.sqrt(randomized + placed), rel=1e-9)


@pytest.mark.parametrize(("users", "stated"), [(10, True), (300, True), (700, False), (20_000, False)])
def test_hashed_standard_error_is_stated_or_not_whatever_came(users, stated):
    statistic = DistinctElements(replace(HASHED, k=400, cohort_size=users).calibrated())
    estimates = [statistic.estimate(counts_with_odd_places(odd, 400), users) for odd in range(0, 401, 40)]
    assert {bool(estimate.standard_errors) for estimate in estimates} == {stated}
    assert ("no standard error" in statistic.expected_note) == (not stated)


@pytest.mark.parametrize(
    ("epsilon", "users", "k"),
    [(1.0, 264, 264), (2.0, 200, 176), pytest.param(0.5, 732, 732, marks=pytest.mark.long)],
)
def test_hashed_intervals_that_are_stated_miss_as_often_as_they_say(epsilon, users, k):
    # Computed, not simulated: 5% at most by the normal approximation, and a little more as odd places are
    # whole numbers.
    statistic = DistinctElements(replace(HASHED, epsilon=epsilon, cohort_size=users, k=k).calibrated())
    estimates = estimates_by_odd_places(statistic, users)
    for values in (users // 20, users // 4, users // 2, 4 * users // 5, users):
        missed = [
            abs(estimate.values[0] - values) > 1.96 * estimate.standard_errors[0] for estimate in estimates
        ]
        assert hashed_odd_distribution(values, k, math.exp(-epsilon) / 2) @ missed <= 0.07


def test_hashed_standard_error_takes_a_few_hundred_places_and_users():
    # As the README has it, for ε = 1 and ε = 1/2.
    for epsilon, smallest in ((1.0, 264), (0.5, 732)):
        for n, stated in ((smallest - 1, False), (smallest, True)):
            p = replace(HASHED, epsilon=epsilon, cohort_size=n, k=n).calibrated()
            assert bool(DistinctElements(p).estimate([0] * 2 * n, n).standard_errors) == stated


def test_truth_of_hashed_texts_counts_those_apart_that_share_a_place():
    # Five places for six texts: some share one.
    statistic = DistinctElements(replace(SMALL, hashed="yes").calibrated())
    texts = dict.fromkeys("abcdef", 2)
    assert len({statistic.value_of(text) for text in texts}) < 6
    assert statistic.truth_of(texts) == (6.0,)
    assert DistinctElements(SMALL).truth_of({"1": 2, "2": 0, "3": 1}) == (2.0,)
