"""Sampling: brute force over who takes part, and the exact number that the bound lies above."""

import itertools
import math

import pytest
import scipy

from panprivacy.accounting import randomized_response_sum, sampling
from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.composition import Repetition, epsilon_of
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.privacy_filter import PrivacyFilter
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampling, amplified_epsilon
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse
from tests.panprivacy.accounting.by_definition import hockey_stick, randomized, released, sampled
from tests.panprivacy.accounting.contract import EventContract
from tests.refusals import field_refused


class TestContract(EventContract):
    @pytest.fixture
    def event(self):
        return Sampling(event=ShuffledRandomizedResponse(n=1_000, epsilon0=1.0), n=1_000, sampling_rate=0.1)


@pytest.mark.parametrize(("places", "epsilon0", "rate"), [
    (1, 0.5, 0.2), (1, 3.0, 0.2), (1, 0.5, 0.8), (1, 3.0, 0.8), (2, 0.5, 0.2), (2, 3.0, 0.2), (2, 1.0, 0.8),
])  # fmt: skip
def test_delta_lies_above_every_outcome_of_who_takes_part(places, epsilon0, rate):
    """Of one bit, and of two places of a category that is replaced: others may have neither."""
    bits = RandomizedResponseSum(n=6, epsilon0=epsilon0)
    event = bits if places == 1 else Repetition(event=bits, times=2)
    bound = Sampling(event=event, n=6, sampling_rate=rate)
    values = [(0,), (1,)] if places == 1 else [(1, 0), (0, 1), (0, 0)]
    device = {value: sampled(randomized(value, epsilon0), rate) for value in values}
    for others in itertools.combinations_with_replacement(values, 5):
        rest = released([device[value] for value in others])
        first, second = (released([rest, device[value]]) for value in values[:2])
        for epsilon in (0.0, 0.1, 0.7, 1.5 * epsilon0):
            assert hockey_stick(first, second, epsilon) <= bound.delta(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("rate", [1e-3, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("epsilon0", [0.5, 4.0])
def test_delta_over_ranges_of_reports_lies_above_that_of_each_number(rate, epsilon0):
    """Ranges of rare numbers share curves, or have none: from an ε of 0 to where a single report decides."""
    n, event = 24, Repetition(event=RandomizedResponseSum(n=1, epsilon0=epsilon0), times=2)
    sampled = Sampling(event=event, n=n, sampling_rate=rate)
    for epsilon in (0.0, 0.1, 0.5, 2.0, 2 * epsilon0 * 0.99):
        each = 0.0
        for c in range(1, n + 1):
            within = math.log1p(math.expm1(epsilon) * n / c)
            each += scipy.stats.binom.pmf(c, n, rate) * c / n * event.over(c).delta_bound(within)
        assert each * (1 - 1e-9) <= sampled.delta(epsilon)
        if epsilon <= 0.1 and rate >= 0.5:  # elsewhere the few numbers count that a range takes for fewer
            assert sampled.delta(epsilon) <= 4 * each + 1e-30


def test_epsilon_lies_less_than_three_percent_above_the_exact_sum():
    exact = RandomizedResponseSum(n=10_000, epsilon0=2.0, sampling_rate=0.1).epsilon(1e-6)
    assert exact == pytest.approx(0.02516, rel=5e-4)
    bound = Sampling(event=RandomizedResponseSum(n=10_000, epsilon0=2.0), n=10_000, sampling_rate=0.1)
    assert exact < bound.epsilon(1e-6) < 1.03 * exact


def test_proved_bound_of_sampled_reports_is_below_that_of_all_reports():
    reports = ShuffledRandomizedResponse(n=10_000, epsilon0=2.0)
    sampled = Sampling(event=reports, n=10_000, sampling_rate=0.1)
    assert sampled.proved
    assert sampled.epsilon(1e-6) < 0.4 * reports.epsilon(1e-6)


def test_sampling_everybody_changes_nothing():
    event = RandomizedResponseSum(n=500, epsilon0=1.0)
    sampled = Sampling(event=event, n=500, sampling_rate=1.0)
    assert sampled.epsilon(1e-6) == pytest.approx(event.epsilon(1e-6), rel=1e-8)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("rate", [1e-6, 0.5, 0.999999])
def test_delta_of_few_devices_is_at_most_that_of_one_sampled_randomizer(n, rate):
    """At ε = 0: the total variation of one report, times the probability that it is sent."""
    event = Sampling(event=RandomizedResponseSum(n=n, epsilon0=1.0), n=n, sampling_rate=rate)
    assert event.delta(0.0) <= min(1.0, rate * math.sqrt(n) + 1 / n) * math.tanh(0.5) * (1 + 1e-9) + 1e-12
    assert event.delta(1.0) <= 1e-30


def test_epsilon_of_a_billion_devices_is_found():
    event = Sampling(
        event=DiscreteGaussianSum(n=10**9, scale=1.0, value_range=3), n=10**9, sampling_rate=0.001
    )
    assert 0 < event.epsilon(1e-6) < DiscreteGaussianSum(n=10**6, scale=1.0, value_range=3).epsilon(1e-6)


@pytest.mark.parametrize("event", [
    Gaussian(sigma=1.0),
    RandomizedResponseSum(n=5, epsilon0=1.0, sampling_rate=0.5),
    "not an event",
])  # fmt: skip
def test_creation_over_what_is_not_one_of_n_reports_names_the_event(event):
    with field_refused("event"):
        Sampling(event=event, n=5, sampling_rate=0.5)


def test_amplified_epsilon_is_the_formula_also_where_it_would_overflow():
    assert amplified_epsilon(1.0, 0.1) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)), rel=1e-14)
    assert amplified_epsilon(2.0, 1.0) == pytest.approx(2.0, rel=1e-15)
    assert amplified_epsilon(800.0, 0.5) == pytest.approx(800 + math.log(0.5), rel=1e-15)
    assert amplified_epsilon(1e-12, 0.01) == pytest.approx(1e-14, rel=1e-10)


@pytest.mark.parametrize(
    ("limit", "least"), [(30, 0.96), pytest.param(LARGEST_ENUMERATED, 0.99, marks=pytest.mark.long)]
)
def test_ledger_charges_no_more_if_not_all_assignments_are_enumerated(monkeypatch, limit, least):
    """By advanced joint convexity it was up to 18 times as much for one device more."""
    for module in (sampling, randomized_response_sum):
        monkeypatch.setattr(module, "LARGEST_ENUMERATED", limit)
    below, above = (
        Sampling(event=RandomizedResponseSum(n=n, epsilon0=8.0), n=n, sampling_rate=0.5)
        for n in (limit, limit + 1)
    )
    budget = PrivacyFilter(4.0, 1e-6)
    for charged in (
        lambda event: epsilon_of([event, event], 1e-6),
        lambda event: budget.share([event]),
    ):
        fewer, more = charged(below), charged(above)
        # One device more hides 0.2% better, or 2% of 30; a curve through fewer points costs half as much.
        assert least * fewer < more <= fewer * 1.001
