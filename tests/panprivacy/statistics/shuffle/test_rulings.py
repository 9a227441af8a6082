"""Each test here fails on what seed RSP prints: see docs/errata.md."""

import math
import random

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.statistics.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.statistics.shuffle.uniformity import (
    Uniformity,
    UniformityParameters,
    chi_squared_statistic,
    compressed_size,
    printed_threshold,
)
from panprivacy.statistics.streams.hashed_places import HashedPlaces


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_delta_of_theorem_3_3_as_printed_is_twice_what_its_proof_gives(gamma):
    statistic = DistinctElements(DistinctElementsParameters(epsilon=1.0, delta=1e-6, cohort_size=1_000, k=10))
    _, delta, _ = statistic.privacy_of(round(1_000 * gamma))
    assert delta <= 2 * 1e-6 / gamma < 4 * 1e-6 / gamma


def test_noise_error_of_corollary_a_4_as_printed_forgets_the_places():
    # c = 8 gives ⌈8·n^{4/3}⌉ places, and the noise grows with their root; printed is n^{4/3} + 1.
    n, c, beta = 1_000, 8, 0.1  # half of β is for the noise: as often as our bound is exceeded
    places = math.ceil(c * n ** (4 / 3) - 1e-6)
    keep, empty = 1 - math.exp(-1), math.exp(-1) / 2
    printed = math.sqrt(2 * (n ** (4 / 3) + 1) * math.log(4 / beta)) / keep
    statistic = DistinctElements(DistinctElementsParameters(epsilon=1.0, delta=1e-6, cohort_size=n, k=places))
    odd = round(places * empty)  # as of no values
    (bound,) = statistic.estimate([0, 1] * odd + [0, 0] * (places - odd), n).error_bounds
    assert 1.5 * printed < bound <= math.sqrt(2 * places * math.log(4 / beta)) / keep
    # The noise of the empty places alone exceeds what is printed four times as often as it may.
    beyond = printed * keep / 2
    noise = binom(places, empty)
    assert noise.cdf(odd - beyond) + noise.sf(odd + beyond) > 4 * beta / 2


def test_collisions_of_lemma_a_3_are_counted_twice():
    # Pairs s < s′ are |S|·(|S| − 1)/2, of which each collides with probability at most 1/k′.
    values, places = 50, 10_000
    lost = values - places * HashedPlaces(places).touched(values)
    pairs = values * (values - 1) / (2 * places)
    assert 0.99 * pairs < lost <= pairs < values**2 / places / 2


def test_delta_of_theorem_4_2_as_printed_has_lost_the_number_of_values():
    statistic = Uniformity(UniformityParameters(epsilon=1.0, delta=1e-6, cohort_size=1_000, k=50, alpha=0.5))
    for gamma in (1.0, 0.5):
        _, delta, _ = statistic.privacy_of(round(1_000 * gamma))
        assert delta == pytest.approx(8 * (1e-6 / 100) ** gamma)
        assert delta < 8 * 1e-6**gamma / 5


def test_threshold_of_equation_12_as_printed_finds_nothing():
    # The last form of (8) has 2λ for every ℓ_j. (12) takes it for a lower bound where it is an upper one:
    # Z′ of values on one half of all stays below it; below the threshold of the ℓ_j observed it does not.
    parameters = UniformityParameters(epsilon=0.2, delta=1e-6, cohort_size=20_000, k=100, alpha=0.5)
    statistic = Uniformity(parameters)
    total = statistic.randomize_all(np.arange(20_000) % 50, random.Random(1))
    estimate = statistic.estimate(total.tolist(), 20_000)
    assert estimate.details["verdict"] == "not_uniform"
    doubled = printed_threshold(np.full(100, 2.0 * parameters.noise_messages), 20_000, 0.5)
    assert estimate.values[0] < doubled


def test_lower_bound_of_equation_11_as_printed_is_five_times_too_large():
    # Of E[Z] ≥ α²m/5, less √50 of its tenths, (1 − √(1/2))/5 are left: 29/500, and not 29/100. The proof
    # needs no more than the 3/250 of the threshold.
    kept = (1 - math.sqrt(0.5)) / 5
    assert 3 / 250 < 29 / 500 <= kept < 29 / 100


def test_groups_of_two_sizes_make_uniform_values_look_not_uniform():
    # The rule of Theorem 4.8 gives 21.5 groups for 100 values: rounded, they would be of 4 and of 5 values.
    k, samples = 100, 1_000_000
    sizes = np.bincount(np.arange(k) * 21 // k)
    assert set(sizes.tolist()) == {4, 5}
    expected = sizes * samples / k
    z = float(chi_squared_statistic(expected, samples))
    assert z > 1_000 * math.sqrt(2 * 21)
    groups = compressed_size(k, 1.0, 1.0)
    assert groups == 20
    assert k % groups == 0


def test_condition_on_n_in_lemma_4_9_as_printed_is_too_weak():
    # "For n > √ln 12, Pr[Bin(n, 2/9) > n/3] < 1/6": not so for n = 2 and others. Hoeffding's inequality has
    # exp(−2n/81), which is 1/6 from n = 73 on.
    tails = {n: binom.sf(n // 3, n, 2 / 9) for n in range(2, 200)}
    assert math.sqrt(math.log(12)) < 2
    assert [n for n, tail in tails.items() if tail >= 1 / 6] == [2, 4, 5, 7, 8, 11, 14]
    assert all(tail <= math.exp(-2 * n / 81) for n, tail in tails.items())
    assert math.exp(-2 * 73 / 81) < 1 / 6 < math.exp(-2 * 72 / 81)
