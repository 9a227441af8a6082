import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.errors import FieldError
from panprivacy.shuffle.distinct_elements import (
    DistinctElements,
    DistinctElementsParameters,
    log_one_minus_exp,
)
from panprivacy.shuffle.split_and_mix import log2_distance
from panprivacy.streams.hashed_places import HashedPlaces
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
    [
        (0.3, 300, 300),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in [
                *((0.3, 40, 40), (0.3, 20, 60), (3.0, 300, 300), (3.0, 40, 40), (3.0, 20, 60)),
                *((20.0, 40, 40), (20.0, 20, 60), (20.0, 300, 300)),
            ]
        ),
    ],
)
def test_error_bound_is_missed_with_five_percent_at_most_by_every_number_of_values(epsilon, users, n):
    k = 60
    statistic = DistinctElements(replace(SMALL, epsilon=epsilon, cohort_size=n, k=k))
    estimates = estimates_by_odd_places(statistic, users)
    for values in range(1, min(users, k) + 1):
        missed = [abs(estimate.values[0] - values) > estimate.error_bounds[0] for estimate in estimates]
        assert odd_distribution(values, k, empty_of(epsilon, users, n)) @ missed <= 0.05


@pytest.mark.parametrize(
    ("epsilon", "users", "n", "k"),
    [
        *((3.0, 70, 70, 25), (0.3, 20, 60, 40)),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in [(0.3, 70, 70, 25), (0.3, 40, 40, 60), (3.0, 40, 40, 60), (3.0, 20, 60, 40)]
        ),
    ],
)
def test_hashed_error_bound_is_missed_with_five_percent_at_most_by_every_number_of_values(
    epsilon, users, n, k
):
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
def test_hashed_estimate_where_nearly_every_place_is_touched_has_no_standard_error(odd):
    statistic = DistinctElements(replace(HASHED, cohort_size=10_000).calibrated())
    estimate = statistic.estimate(counts_with_odd_places(odd, 2_000), 10_000)
    assert estimate.standard_errors == ()
    assert estimate.standard_error_note.startswith("None is stated")
    assert estimate.details["saturated"]
    # Any number of users may have values that nobody else has.
    assert estimate.values[0] + estimate.error_bounds[0] >= 10_000


def test_hashed_preview_expects_the_error_of_as_many_values_as_users_and_warns_of_a_full_table():
    fits = DistinctElements(replace(HASHED, cohort_size=2_000).calibrated())
    odd = round(2_000 * (0.5 * fits_share() + (1 - fits_share()) * math.exp(-1) / 2))
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
    estimates = estimates_by_odd_places(statistic, users)
    assert {bool(estimate.standard_errors) for estimate in estimates} == {stated}
    assert ("no standard error" in statistic.expected_note) == (not stated)


@pytest.mark.parametrize(
    ("epsilon", "users", "k"),
    [
        pytest.param(0.5, 732, 732, marks=pytest.mark.long),
        (1.0, 264, 264),
        pytest.param(1.0, 300, 400, marks=pytest.mark.long),
        pytest.param(1.0, 900, 638, marks=pytest.mark.long),
        (2.0, 200, 176),
    ],
)
def test_hashed_intervals_that_are_stated_miss_about_as_often_as_they_say_also_in_the_fullest_table(
    epsilon, users, k
):
    # Computed, not simulated: 5% at most by the normal approximation, and a little more as odd places are
    # whole numbers.
    statistic = DistinctElements(replace(HASHED, epsilon=epsilon, cohort_size=users, k=k).calibrated())
    estimates = estimates_by_odd_places(statistic, users)
    for values in (users // 20, users // 4, users // 2, 4 * users // 5, users):
        missed = [
            abs(estimate.values[0] - values) > 1.96 * estimate.standard_errors[0] for estimate in estimates
        ]
        assert hashed_odd_distribution(values, k, math.exp(-epsilon) / 2) @ missed <= 0.07


def test_hashed_standard_error_of_as_many_places_as_users_takes_a_few_hundred():
    # As the README has it, for ε = 1 and ε = 1/2.
    for epsilon, smallest in ((1.0, 264), (0.5, 732)):
        for n, stated in ((smallest - 1, False), (smallest, True)):
            p = replace(HASHED, epsilon=epsilon, cohort_size=n, k=n).calibrated()
            assert bool(DistinctElements(p).estimate([0] * 2 * n, n).standard_errors) == stated


def fits_share():
    """The share of 2,000 places that 2,000 values touch on average."""
    return HashedPlaces(2_000).touched(2_000)


def hashed_estimates(users, k, texts, repeats):
    """Estimates of so many texts, by another public hash each time.

    Only whether a place is odd matters: it is fair where a user has it, else 1 with probability e^−ε/2.
    """
    generator = np.random.default_rng(users + texts)
    parameters = replace(HASHED, cohort_size=users, k=k)
    for seed in range(repeats):
        statistic = DistinctElements(replace(parameters, hash_seed=seed))
        probability = np.full(k, math.exp(-1) / 2)
        probability[list({statistic.value_of(str(number)) for number in range(texts)})] = 0.5
        total = np.zeros(2 * k, dtype=int)
        total[1::2] = generator.random(k) < probability
        yield statistic.estimate(total.tolist(), users)


@pytest.mark.statistical
@pytest.mark.parametrize("texts", [30, pytest.param(270, marks=pytest.mark.long)])
def test_hashed_estimate_is_right_on_average_and_as_precise_as_it_says(texts):
    repeats, k, failure = 400, 300, 1e-7
    estimates = list(hashed_estimates(300, k, texts, repeats))
    values = np.array([estimate.values[0] for estimate in estimates])
    errors = np.array([estimate.standard_errors[0] for estimate in estimates])
    bounds = np.array([estimate.error_bounds[0] for estimate in estimates])
    # The mean of 400 is within 6 of its own standard errors: by the normal approximation right code fails
    # with probability 2e-9. The delta method's second order, of −k·ln(1 − share), adds error²/(2k): twice
    # that is allowed.
    second_order = np.mean(errors**2) / (2 * k)
    assert abs(np.mean(values) - texts) <= 6 * np.std(values) / math.sqrt(repeats) + 2 * second_order
    # Intervals miss in 5 of 100 by the normal approximation; if it is 8 at most, right code fails with
    # probability `failure`, as it does if the bounds hold as often as stated.
    assert np.sum(np.abs(values - texts) > 1.96 * errors) <= binom.isf(failure, repeats, 0.08)
    assert np.sum(np.abs(values - texts) > bounds) <= binom.isf(failure, repeats, 0.05)


@pytest.mark.statistical
def test_hashed_bound_holds_where_the_table_is_full():
    estimates = list(hashed_estimates(600, 200, 600, 200))
    missed = sum(abs(estimate.values[0] - 600) > estimate.error_bounds[0] for estimate in estimates)
    # Right bounds are missed oftener with probability 1e-7.
    assert missed <= binom.isf(1e-7, 200, 0.05)
    assert sum(estimate.standard_errors == () for estimate in estimates) > 100


@pytest.mark.statistical
def test_hashed_values_touch_as_many_places_as_random_ones():
    touched = [
        len({statistic.value_of(str(number)) for number in range(200)})
        for statistic in (DistinctElements(replace(HASHED, hash_seed=seed)) for seed in range(400))
    ]
    # Independent places leave 190.4 touched with deviation 2.9; right code fails with probability 2e-9, by
    # the normal approximation of the mean.
    assert abs(np.mean(touched) - 2_000 * HashedPlaces(2_000).touched(200)) < 6 * 2.9 / 20


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
