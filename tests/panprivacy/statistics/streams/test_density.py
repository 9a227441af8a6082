"""Density: PPS Figure 1 with the noise where it belongs, listed and hashed."""

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.item_bits import total_epsilon
from panprivacy.statistics.streams.sample import Sample
from tests.panprivacy.statistics.intervals.left_out import leave_out_intervals
from tests.panprivacy.statistics.streams.contract import StreamContract
from tests.panprivacy.statistics.streams.scene import (
    density_parameters,
    no_noise,
    require_noise_before_scaling,
    state_with,
)

FAILURE = 1e-7


class DensityContract(StreamContract):
    def guaranteed(self, statistic, announced):
        return total_epsilon(0.5, announced, 0.5), 0.0


class TestDensityOfNumberedItems(DensityContract):
    @pytest.fixture
    def statistic(self):
        return Density(density_parameters(announced_intrusions=2))

    @pytest.fixture
    def tiny(self):
        return Density(density_parameters(universe_size=3, table_size=3))

    def stream(self, statistic):
        size = statistic.parameters.universe_size
        cells = np.repeat(np.arange(-(-size // 3)), 3)
        return np.random.default_rng(1).permutation(cells)


class HashedStream:
    """Streams of items that are hashed anew for every run."""

    def stream(self, statistic):
        return self.run_of(statistic, 0)[0]

    def run_of(self, statistic, run):
        items = [f"item {number}" for number in range(max(4, statistic.parameters.universe_size // 8))] * 2
        sample = Sample.draw(statistic.parameters, None, random.Random(f"sample {run}"))
        return sample.cells_of(items), statistic.truth(Counter(items))


class TestDensityOfHashedItems(HashedStream, DensityContract):
    @pytest.fixture
    def statistic(self):
        return Density(density_parameters(items="hashed", universe_size=20_000, table_size=12_000))

    @pytest.fixture
    def tiny(self):
        return Density(density_parameters(items="hashed", universe_size=6, table_size=3))


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0.01])
def test_noise_of_the_result_costs_epsilon_and_would_cost_4_as_printed(monkeypatch, epsilon):
    # Printed in Figure 1: f′ = 4(θ − 1/2)/ε + Lap(1/(εm)).
    require_noise_before_scaling(monkeypatch, Density(density_parameters(epsilon=epsilon)), 4)


@pytest.mark.parametrize(("ones", "value"), [(2_200, 0.4), (1_900, -0.2), (2_600, 1.2)])
def test_estimate_is_debiased_and_projected_onto_its_range(monkeypatch, ones, value):
    no_noise(monkeypatch)
    statistic = Density(density_parameters())
    estimate = statistic.estimate(state_with(statistic, ones), None)
    assert estimate.values[0] == pytest.approx(value)  # 4(θ − 1/2)/ε for θ = ones/4,000
    assert estimate.projection[0] == pytest.approx(min(max(value, 0.0), 1.0))


def test_standard_error_adds_bits_noise_and_sampling(monkeypatch):
    no_noise(monkeypatch)
    statistic = Density(density_parameters(universe_size=10_000))
    estimate = statistic.estimate(state_with(statistic, 2_200), None)
    bits = (0.4 * 0.625 * 0.375 + 0.6 * 0.25) / (4_000 * 0.125**2)
    noise = discrete_laplace.variance(Fraction(2)) / (4_000 * 0.125) ** 2
    sampling = 0.4 * 0.6 / 4_000 * 6_000 / 9_999
    assert estimate.standard_errors[0] == pytest.approx(math.sqrt(bits + noise + sampling))


@pytest.mark.statistical
def test_standard_error_of_hashed_items_is_that_of_repeated_runs(monkeypatch):
    leave_out_intervals(monkeypatch)
    # Runs with fresh samples. (estimate − truth)/standard error is about normal, as a sum of thousands of
    # bits, with mean 0 and variance 1; then each of the two fails with probability 2·10^-9 at 6 standard
    # deviations, which leaves room for what is only about normal.
    runs, statistic = 200, Density(density_parameters(items="hashed", universe_size=3_000, table_size=2_000))
    squares, deviations = [], []
    for run in range(runs):
        source = random.Random(run)
        sample = Sample.draw(statistic.parameters, None, source)
        state = statistic.start(source)
        statistic.process_batch(state, sample.cells_of([str(number) for number in range(1_500)]), source)
        estimate = statistic.estimate(state, source)
        deviations.append((estimate.values[0] - 0.5) / estimate.standard_errors[0])
        squares.append(deviations[-1] ** 2)
    assert abs(sum(squares) / runs - 1) < 6 * math.sqrt(2 / runs)
    assert abs(sum(deviations) / runs) < 6 / math.sqrt(runs)


def test_announced_intrusion_draws_bits_again_by_their_value(monkeypatch):
    statistic = Density(density_parameters())
    state = state_with(statistic, 2_000)
    source = random.Random(3)
    statistic.announce_intrusion(state, source)
    # Of 2,000 ones about 5/8 stay, of 2,000 zeros a half turns: not both, nor fewer, but for 1e-7.
    for part, probability in ((slice(0, 2_000), 0.625), (slice(2_000, None), 0.5)):
        ones = int(state.arrays["bits"][part].sum())
        assert binom.cdf(ones, 2_000, probability) > FAILURE
        assert binom.sf(ones - 1, 2_000, probability) > FAILURE


def test_hashed_density_of_a_full_table_says_that_it_is_saturated(monkeypatch):
    no_noise(monkeypatch)
    statistic = Density(density_parameters(items="hashed"))
    estimate = statistic.estimate(state_with(statistic, 4_000), None)
    assert estimate.details == {"saturated": True}
    assert estimate.values[0] == pytest.approx(math.log(8_000), rel=1e-3)
    assert estimate.projection == (1.0,)
    # The share is so high that it excludes every density up to 1, on which the error bound relies.
    assert (estimate.error_bounds, estimate.confidence, estimate.standard_errors) == ((), None, ())
    assert "than the universe has" in estimate.standard_error_note
    for interval in estimate.intervals:
        assert 1 < interval.low[0] < math.log(8_000)
        assert interval.high == (None,)


@pytest.mark.parametrize(("table_size", "stated"), [(2_000, True), (1_000, False)])
def test_hashed_density_has_a_standard_error_or_not_whatever_came(monkeypatch, table_size, stated):
    no_noise(monkeypatch)
    statistic = Density(density_parameters(items="hashed", universe_size=4_000, table_size=table_size))
    for part in (0.3, 0.5, 0.55, 0.58):
        estimate = statistic.estimate(state_with(statistic, part * table_size), None)
        assert bool(estimate.standard_errors) == stated
        assert ("too small" in estimate.standard_error_note) == (not stated)


@pytest.mark.statistical
@pytest.mark.parametrize("density", [1.0, pytest.param(0.1, marks=pytest.mark.long)])
def test_hashed_intervals_miss_about_as_often_as_they_say(monkeypatch, density):
    leave_out_intervals(monkeypatch)  # these are by the standard error
    # Intervals miss in 5 of 100 by the normal approximation; if it is 7 at most, right code fails with
    # probability 1e-7.
    runs = 200
    statistic = Density(density_parameters(items="hashed", universe_size=4_000, table_size=2_000))
    source, generator, missed = random.Random(3), np.random.default_rng(round(10 * density)), 0
    for _ in range(runs):
        places = generator.integers(0, 4_000, round(4_000 * density))
        state = statistic.start(source)
        statistic.process_batch(state, places[places < 2_000], source)
        estimate = statistic.estimate(state, source)
        (error,) = estimate.standard_errors or (0.0,)
        missed += abs(estimate.values[0] - density) > 1.96 * error
    assert missed <= binom.isf(1e-7, runs, 0.07)


@pytest.mark.parametrize("accuracy", ["additive", "multiplicative"])
def test_hashed_density_has_no_error_bound_beyond_the_universe(monkeypatch, accuracy):
    changes = {"universe_size": 10**6, "table_size": 1_000, "items": "hashed", "accuracy": accuracy}
    statistic = Density(density_parameters(**changes))
    assert statistic.expected_error_bound() <= 1
    no_noise(monkeypatch)
    for part in (0.45, 0.5, 0.54, 0.58, 0.6):
        state = statistic.start(random.Random(1))
        cells = state.arrays["bits"].reshape(-1, 1_000)
        cells[:] = np.arange(1_000) < part * 1_000
        estimate = statistic.estimate(state, None)
        (value,), (bound,) = estimate.values, estimate.error_bounds
        # The bound is the distance to the further end, which lies from 0 to 1.
        assert value - bound >= -1e-9 or value + bound <= 1 + 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("accuracy", "load"),
    [("additive", 0.5), ("multiplicative", 2), pytest.param("additive", 10, marks=pytest.mark.long)],
)
def test_hashed_intervals_hold_however_many_items_come(accuracy, load):
    # Cut off at the universe, no interval holds at twice as many. Right ones fail with probability 1e-7 at
    # each level.
    runs, universe = 60, 2_000
    changes = {"items": "hashed", "universe_size": universe, "table_size": universe, "accuracy": accuracy}
    statistic = Density(density_parameters(**changes))
    missed = Counter()
    for run in range(runs):
        source = random.Random(f"{run} {load}")
        sample = Sample.draw(statistic.parameters, None, source)
        state = statistic.start(source)
        cells = sample.cells_of([f"{run} {number}" for number in range(int(load * universe))])
        statistic.process_batch(state, cells, source)
        estimate = statistic.estimate(state, source)
        assert all(0 < error < math.inf for error in (*estimate.standard_errors, *estimate.error_bounds))
        for interval in estimate.intervals:
            (low,), (high,) = interval.low, interval.high
            missed[interval.level] += not low <= load <= (math.inf if high is None else high)
    assert all(missed[level] <= binom.isf(1e-7, runs, 1 - level) for level in (0.95, 0.66))


@given(
    st.floats(-3, 4),
    st.integers(2, 10**9),
    st.integers(1, 10**6),
    st.floats(1e-3, 0.5),
    st.integers(0, 3),
)
@example(1.0, 20_000, 20_000, 0.5, 0)  # a slope of 1/(1 − share)
@settings(max_examples=2 * settings.default.max_examples)
def test_hashed_density_of_any_share_has_errors_and_ordered_intervals(
    share, universe, table, epsilon, announced
):
    changes = {"universe_size": universe, "table_size": min(table, universe), "items": "hashed"}
    statistic = Density(density_parameters(epsilon=epsilon, announced_intrusions=announced, **changes))
    estimate = statistic._reading.read([share], announced, 0.95)
    assert all(math.isfinite(number) for number in (*estimate.values, *estimate.projection))
    assert all(0 < error < math.inf for error in (*estimate.standard_errors, *estimate.error_bounds))
    wide, narrow = ((*interval.low, *interval.high) for interval in estimate.intervals)
    assert 0 <= wide[0] <= narrow[0]
    if wide[1] is not None:
        assert narrow[0] <= narrow[1] <= wide[1]
    assert estimate.details["saturated"] == (wide[1] is None)


def test_error_bound_is_no_wider_than_needed():
    # Against 1.96 standard errors, which no bound for all distributions can reach.
    statistic = Density(density_parameters(universe_size=100_000, table_size=10_000))
    state = statistic.start(random.Random(1))
    estimate = statistic.estimate(state, random.Random(2))
    assert 1.9 * estimate.standard_errors[0] < estimate.error_bounds[0] < 3 * estimate.standard_errors[0]


def test_truth_is_the_fraction_of_the_universe_that_appeared():
    assert Density(density_parameters()).truth({"a": 3, "b": 1, "c": 0}) == (2 / 4_000,)


def test_items_of_one_place_are_refused_where_they_are_hashed():
    with pytest.raises(FieldError, match="universe_size: must be at least 2"):
        density_parameters(items="hashed", universe_size=1, table_size=1)
