import math
import random
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from panprivacy.accounting import discrete_laplace
from panprivacy.statistics.streams.deviation import deviation
from panprivacy.statistics.streams.incidence import (
    Incidence,
    IncidenceParameters,
    PrimePool,
    best_pool,
    most_divisors,
    smallest_primes,
)
from tests.panprivacy.statistics.streams.contract import StreamContract
from tests.panprivacy.statistics.streams.scene import incidence, no_noise
from tests.refusals import field_refused


class TestIncidence(StreamContract):
    @pytest.fixture
    def statistic(self):
        return incidence()

    @pytest.fixture
    def tiny(self):
        return incidence(size=3)

    def stream(self, statistic):
        size = statistic.parameters.table_size
        return np.repeat(np.arange(size), np.arange(size) % 5)

    def guaranteed(self, statistic, announced):
        return (announced + 2) * statistic.parameters.epsilon, 0.0


@pytest.fixture
def several(monkeypatch):
    """Three counters of each item, modulo three of the primes up to 11."""
    monkeypatch.setattr("panprivacy.statistics.streams.incidence.best_pool", lambda *_: (PrimePool(5, 7), 3))
    return incidence(size=100_000)


class TestIncidenceOfSeveralPrimes(TestIncidence):
    @pytest.fixture
    def statistic(self, several):
        return incidence()

    @pytest.fixture
    def tiny(self, several):
        return incidence(size=3)


def mean_start(prime, epsilon):
    """Of the noise of a counter, by the definition."""
    weights = np.exp(-epsilon * np.arange(prime) / (prime - 1))
    return float(np.arange(prime) @ weights / weights.sum())


@pytest.mark.statistical
def test_counters_with_epsilon_each_as_printed_cost_many_times_more(several):
    # Every two different residues come together for some numbers of appearances, as the primes are different:
    # at the likeliest start for one and the least likely for the other, the losses of all add up. So each
    # has its share, which the noise drawn shows: its mean, at the start and after an announced intrusion.
    # Failure: Hoeffding's bound for 100,000 numbers below p, 1e-9 for each of at most 32 comparisons.
    share = several.parameters.epsilon / several.drawn
    source = random.Random(1)
    state = several.start(source)
    before = state.arrays["counters"].copy()
    several.announce_intrusion(state, source)
    primes = state.arrays["primes"].tolist()
    drawn = [before, (state.arrays["counters"] - before) % state.arrays["primes"][:, None]]
    for counters in drawn:
        for prime, values in zip(primes, counters, strict=True):
            width = (prime - 1) * math.sqrt(math.log(2 / 1e-9) / (2 * values.size))
            assert abs(values.mean() - mean_start(prime, share)) <= width
            assert abs(values.mean() - mean_start(prime, several.parameters.epsilon)) > width
    printed = several.drawn * several.parameters.epsilon
    assert printed > several.total_epsilon(0)


def test_noise_of_the_results_of_all_counters_costs_epsilon_together(several, monkeypatch):
    state = several.start(random.Random(1))
    scales = no_noise(monkeypatch, drawn=7)
    noisy = several.noisy_counts(state, None)
    # t = 3, and the value before it, of each counter: one item can move both by 1.
    exact = [
        int((counters == value % prime).sum())
        for prime, counters in zip(state.arrays["primes"].tolist(), state.arrays["counters"], strict=True)
        for value in (3, 2)
    ]
    assert (noisy - 7).tolist() == exact
    assert float(sum(1 / scale for scale in scales)) == pytest.approx(several.parameters.epsilon)
    assert len(set(scales)) == 1


def test_every_prime_of_the_pool_can_be_drawn_and_none_twice(several):
    # Failure: a prime is drawn with probability 3/5, so none is missing but with 5·0.4^200.
    statistic = incidence(size=50)
    drawn = [statistic.start(random.Random(seed)).arrays["primes"].tolist() for seed in range(200)]
    assert {len(set(primes)) for primes in drawn} == {several.drawn}
    assert {prime for primes in drawn for prime in primes} == {2, 3, 5, 7, 11}


def test_smallest_primes_are_prime_and_none_is_left_out():
    assert smallest_primes()[:10] == (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
    assert smallest_primes()[-1] == 7_919  # the thousandth
    assert len(smallest_primes()) == 1_000


@pytest.mark.parametrize("difference", [1, 5, 6, 29, 30, 1000])
def test_most_divisors_are_those_of_the_number_that_has_most(difference):
    primes = smallest_primes()[:8]
    most = max(sum(number % prime == 0 for prime in primes) for number in range(1, difference + 1))
    assert most_divisors(primes, difference) == most


@pytest.mark.parametrize(("size", "difference"), [(4, 6), (6, 30), (8, 12)])
@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_excess_is_kept_by_every_stream_with_the_stated_probability(size, difference, drawn):
    # All mixtures of two kinds of items, with differences d and e; a mixture is what deceives most primes.
    pool = PrimePool(size, difference)
    bound = pool.excess(drawn, 0.2)
    draws = list(combinations(pool.primes, drawn))
    for d, e, share in product(range(1, difference + 1), range(1, difference + 1), (0.5, 0.7, 1.0)):
        excess = {prime: share * (d % prime == 0) + (1 - share) * (e % prime == 0) for prime in pool.primes}
        failing = sum(min(excess[prime] for prime in drawn_now) > bound + 1e-12 for drawn_now in draws)
        assert failing <= 0.2 * len(draws)


def test_excess_is_nothing_if_some_prime_drawn_must_be_too_large():
    assert PrimePool(5, 7).excess(5, 1e-9) == 0.0  # 11 divides no number up to 7
    assert PrimePool(4, 7).excess(4, 1e-9) == 0.5  # of 2, 3, 5 and 7 two divide 6


@pytest.mark.parametrize(("difference", "prime"), [(1, 2), (7, 11), (100, 101), (1_000, 1_009)])
def test_one_prime_above_every_difference_is_used_if_affordable(difference, prime):
    pool, drawn = best_pool(0.5, 1_000_000, difference)
    assert (pool.primes, drawn) == ((prime,), 1)
    assert pool.excess(1, 1e-9) == 0.0

    # Where no prime is large enough, more are drawn if they are affordable.
    small, large = best_pool(0.5, 100_000, 10_000), best_pool(0.5, 1_000_000, 10_000)
    assert small[1] < large[1]
    assert small[0].primes[-1] < large[0].primes[-1]


def test_collision_free_prime_is_the_next_above_the_difference():
    assert PrimePool.collision_free(6).primes == (7,)
    assert PrimePool.collision_free(7).primes == (11,)
    assert PrimePool.collision_free(7_918).primes == (7_919,)
    assert PrimePool.collision_free(7_919) is None


def test_standard_error_of_one_prime_is_the_sum_of_its_parts():
    # All 4,000 items of the table show the value whose noise is worst, but for a fifth that appeared t times.
    size, universe, prime, fraction = 4_000, 10_000, 11, 0.2
    statistic = Incidence(
        IncidenceParameters(
            epsilon=0.5, universe_size=universe, table_size=size, items="numbered", t=3, n_max=10
        )
    )
    step = math.exp(-0.5 / (prime - 1))
    start = step ** np.arange(prime) / (step ** np.arange(prime)).sum()
    of_value, of_value_before = 1 / (1 - step), -step / (1 - step)  # s[t] and s[t − 1] in f[t]
    moments = [start[-away] * of_value**2 + start[-away - 1] * of_value_before**2 for away in range(prime)]
    counters = (fraction * (moments[0] - 1) + (1 - fraction) * max(moments[1:])) / size
    noise = discrete_laplace.variance(Fraction(4)) * (of_value**2 + of_value_before**2) / size**2
    sampling = fraction * (1 - fraction) / size * (universe - size) / (universe - 1)
    error = statistic._standard_error(prime, 1, fraction)
    assert error == pytest.approx(math.sqrt(counters + noise + sampling), rel=1e-9)


def test_several_primes_tell_nothing_apart_for_certain(monkeypatch):
    # The smallest of several estimates is too low on average, whatever they are.
    monkeypatch.setattr(
        "panprivacy.statistics.streams.incidence.best_pool", lambda *_: (PrimePool(3, 7, 4), 2)
    )
    assert not incidence().is_collision_free
    monkeypatch.setattr(
        "panprivacy.statistics.streams.incidence.best_pool", lambda *_: (PrimePool(3, 7, 4), 1)
    )
    assert incidence().is_collision_free


def test_estimate_believes_the_counter_that_counts_fewest(several):
    state = several.start(random.Random(2))
    estimate = several.estimate(state, random.Random(3))
    assert estimate.values == (min(estimate.details["estimates"]),)
    assert len(estimate.details["estimates"]) == several.drawn
    assert estimate.details["primes"] == state.arrays["primes"].tolist()
    assert estimate.standard_errors == ()
    assert 0 <= estimate.details["at_least"] <= estimate.details["at_most"] <= 1


def test_items_that_collide_modulo_every_prime_are_within_the_bound():
    # t = 3, and all items appeared 9 times: 2 and 3 divide the difference, so only other primes tell.
    statistic = incidence(t=3, n_max=9, size=20_000)
    for seed in range(20):
        source = random.Random(seed)
        state = statistic.start(source)
        statistic.process_batch(state, np.repeat(np.arange(20_000), 9), source)
        estimate = statistic.estimate(state, source, 0.999)
        assert abs(estimate.values[0]) <= estimate.error_bounds[0]
        assert estimate.details["at_least"] == 0.0


@pytest.mark.statistical
def test_each_counter_estimates_its_residue_without_bias(several):
    # Failure: for at most 16 primes, the mean of 8 runs of sums over 100,000 counters at 6 deviations.
    appearances = np.arange(100_000) % 8
    cells = np.repeat(np.arange(100_000), appearances)
    found = []
    for run in range(8):
        source = random.Random(run)
        state = several.start(source)
        state.arrays["primes"][:] = several.pool.primes[: several.drawn]  # the same in all runs
        state.arrays["counters"][:] = 0
        several._add_noise(state, source)
        several.process_batch(state, cells, source)
        found.append(several.estimate(state, source).details["estimates"])
    for place, prime in enumerate(several.pool.primes[: several.drawn]):
        true = float(np.mean(appearances % prime == 3 % prime))
        noise = several._noise(prime)
        fractions = np.bincount(appearances % prime, minlength=prime) / 100_000
        variance = noise.variance(1, fractions)[3 % prime] / 100_000
        laplace = 2 * float(several._output_scale) ** 2 * (noise.inverse(1) ** 2).sum() / 100_000**2
        column = [row[place] for row in found]
        assert abs(np.mean(column) - true) < 6 * math.sqrt((variance + laplace) / 8)


def test_truth_of_no_appearance_counts_the_items_that_are_not_mentioned():
    assert incidence(t=0, size=10).truth({1: 3, 2: 1}) == (0.8,)
    assert incidence(t=3, size=10).truth({1: 3, 2: 1}) == (0.1,)


def test_number_of_appearances_above_the_largest_is_refused():
    with field_refused("t", match="largest number"):
        incidence(t=11, n_max=10)


def test_deviation_is_a_bound_for_each_side():
    class Skewed:
        """−1 with probability 0.9, 9 with probability 0.1."""

        largest_rate = 5.0

        def cumulant(self, rate):
            return math.log(0.9 * math.exp(-rate) + 0.1 * math.exp(9 * rate))

    bound = deviation([Skewed()], 0.3)
    assert (
        bound < 9 + 1
    )  # above, 9 comes with probability 0.1 < 0.15; the bound is no smaller than the quantile
    assert bound >= 1
    assert deviation([Skewed()], 0.1) >= 9  # 9 comes more often than 0.05
