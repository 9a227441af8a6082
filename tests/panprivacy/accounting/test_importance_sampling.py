"""Rates that depend on data: who takes part, and what is sent, by enumeration; and ends of the ranges."""

import itertools
import math

import numpy as np
import pytest
import scipy

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.importance_sampling import ImportanceSampling
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampling
from tests.panprivacy.accounting.by_definition import hockey_stick, randomized, released, sampled, unit
from tests.panprivacy.accounting.contract import EventContract
from tests.refusals import field_refused

NOISE = DiscreteGaussianSum(n=1_000, scale=1.0, value_range=3)


def categories(cohort, epsilon0):
    """Replacing a category moves two of the sums over a cohort."""
    return Repetition(event=RandomizedResponseSum(n=cohort, epsilon0=epsilon0), times=2)


class TestContract(EventContract):
    @pytest.fixture
    def event(self):
        return ImportanceSampling(event=NOISE, n=100_000, lowest_rate=0.01, highest_rate=0.2)


def shown(values, *, rates, k, epsilon0, cohort):
    """Probabilities of (number of reports, sums); sums over fewer reports than a cohort are not released.

    Value x takes part with rates[x] and reports a one-hot vector of k places, each randomized.
    """
    found = {}
    devices = [sampled(randomized(unit(value, k), epsilon0), rates[value]) for value in values]
    for (count, *sums), chance in released(devices).items():
        key = (count, *sums) if count >= cohort else count
        found[key] = found.get(key, 0) + chance
    return found


@pytest.mark.parametrize("rates", [(0.1, 0.6, 0.6), (0.3, 0.3, 0.3), (0.05, 0.95, 0.4), (0.2, 1.0, 1.0)])
@pytest.mark.parametrize(("epsilon0", "cohort"), [(3.0, 1), (0.5, 2)])
def test_delta_lies_above_every_value_of_everybody(rates, epsilon0, cohort):
    n, k = 4, 3
    event = ImportanceSampling(
        event=OneHotSum(n=cohort, k=k, epsilon0=epsilon0),
        n=n,
        lowest_rate=min(rates),
        highest_rate=max(rates),
    )
    bounds = {epsilon: event.delta(epsilon) for epsilon in (0.0, 0.1, 0.5, 1.5, 3.0)}
    asked = {"rates": rates, "k": k, "epsilon0": epsilon0, "cohort": cohort}
    for others in itertools.combinations_with_replacement(range(k), n - 1):
        everybody = [shown((value, *others), **asked) for value in range(k)]
        for pair in itertools.combinations(everybody, 2):
            for epsilon, bound in bounds.items():
                assert hockey_stick(*pair, epsilon) <= bound * (1 + 1e-9), (others, epsilon)


def test_delta_at_the_rate_of_one_is_near_the_worst_there_is():
    """The bound is of use: of two devices it is at most a third above the worst case."""
    rates, epsilon0 = (0.2, 0.7), 1.0
    event = ImportanceSampling(
        event=OneHotSum(n=1, k=2, epsilon0=epsilon0), n=2, lowest_rate=0.2, highest_rate=0.7
    )
    worst = 0.0
    for other in range(2):
        pair = [shown((own, other), rates=rates, k=2, epsilon0=epsilon0, cohort=1) for own in range(2)]
        worst = max(worst, hockey_stick(*pair, 0.3))
    assert worst <= event.delta(0.3) <= 1.35 * worst


@pytest.mark.parametrize(("n", "lowest", "highest"), [
    (1_000, 1e-3, 1e-3), (1_000, 1e-3, 0.5), (1_000, 0.01, 0.99), (1_000, 0.4, 0.6),
    pytest.param(1_000_000, 1e-3, 0.5, marks=pytest.mark.long),
])  # fmt: skip
def test_delta_is_at_least_what_the_number_of_reports_alone_tells(n, lowest, highest):
    """Everybody else of the least common rate: two binomial numbers, by another library's functions."""
    event = ImportanceSampling(event=categories(100, 1e-6), n=n, lowest_rate=lowest, highest_rate=highest)
    counts = np.arange(n + 1)
    for rate in (lowest, highest):
        others = scipy.stats.binom.pmf(counts, n - 1, rate)
        moved = np.concatenate([[0.0], others[:-1]])
        more, fewer = ((1 - r) * others + r * moved for r in (highest, lowest))
        for epsilon in (0.0, 0.01, 0.3):
            exact = max(
                np.maximum(p - math.exp(epsilon) * q, 0.0).sum() for p, q in ((more, fewer), (fewer, more))
            )
            bound = event.delta(epsilon)
            assert exact <= bound * (1 + 1e-6) + 1e-12
            if lowest < 0.1 and rate == lowest and exact > 1e-6 and highest <= 0.5:
                assert bound <= 1.6 * exact + 1e-6  # little is told for the sake of the proof


def test_equal_rates_are_plain_sampling():
    plain = Sampling(event=NOISE, n=10_000, sampling_rate=0.1).epsilon(1e-6)
    event = ImportanceSampling(event=NOISE, n=10_000, lowest_rate=0.1, highest_rate=0.1)
    assert event.epsilon(1e-6) == pytest.approx(plain, rel=0.05)


def test_importance_sampling_loses_less_than_known_senders():
    event = ImportanceSampling(event=NOISE, n=1_000_000, lowest_rate=0.005, highest_rate=0.05)
    assert event.epsilon(1e-6) < 0.2 * NOISE.epsilon(1e-6)


def test_rate_of_one_as_in_saa_section_3_1_shows_the_value():
    """Printed: min(M/(2γN), 1). If everybody else has another value, the number of reports is certain."""
    event = ImportanceSampling(event=categories(100, 0.1), n=1_000_000, lowest_rate=0.005, highest_rate=1.0)
    assert event.delta(10.0) >= 1 - 0.005
    below = ImportanceSampling(event=categories(100, 0.1), n=1_000_000, lowest_rate=0.005, highest_rate=0.99)
    assert below.delta(1.0) < 1e-6


@pytest.mark.parametrize("epsilon0", [1e-6, 20.0])
@pytest.mark.parametrize("rates", [(1e-9, 1e-9), (1e-9, 0.99), (1.0, 1.0)])
@pytest.mark.parametrize("n", [1, 2, pytest.param(10**9, marks=pytest.mark.long)])
def test_delta_at_the_ends_of_all_ranges_is_a_probability_that_falls(n, rates, epsilon0):
    event = ImportanceSampling(
        event=categories(2, epsilon0), n=n, lowest_rate=rates[0], highest_rate=rates[1]
    )
    found = [event.delta(epsilon) for epsilon in (0.0, 1e-3, 1.0, 30.0)]
    assert all(a >= b * (1 - 1e-12) for a, b in itertools.pairwise(found))
    assert all(0 <= delta <= 1 for delta in found)
    # What one report that is seen, or not, tells at ε = 0.
    assert found[0] <= rates[1] + 1e-9


def test_lowest_rate_above_the_highest_is_refused_by_name():
    with field_refused("lowest_rate"):
        ImportanceSampling(event=categories(2, 1.0), n=9, lowest_rate=0.5, highest_rate=0.4)
