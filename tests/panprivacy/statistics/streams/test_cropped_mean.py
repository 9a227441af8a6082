"""Cropped mean: PPS Figure 2 with the noise where it belongs."""

import random
from fractions import Fraction

import numpy as np
import pytest

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.streams.cropped_mean import CroppedMean
from panprivacy.statistics.streams.deviation import BoundedErrors
from panprivacy.statistics.streams.item_bits import total_epsilon
from tests.panprivacy.statistics.streams.contract import StreamContract
from tests.panprivacy.statistics.streams.scene import (
    cropped_mean_parameters,
    no_noise,
    require_noise_before_scaling,
    state_with,
)


class CroppedMeanContract(StreamContract):
    def stream(self, statistic):
        """Item i appears i times modulo 6: some more than t times, some never."""
        size = statistic.parameters.universe_size
        return np.random.default_rng(1).permutation(np.repeat(np.arange(size), np.arange(size) % 6))

    def guaranteed(self, statistic, announced):
        return total_epsilon(0.5, announced, 0.5), 0.0


class TestCroppedMean(CroppedMeanContract):
    @pytest.fixture
    def statistic(self):
        return CroppedMean(cropped_mean_parameters(announced_intrusions=2))

    @pytest.fixture
    def tiny(self):
        return CroppedMean(cropped_mean_parameters(universe_size=4, table_size=4))


class TestCroppedMeanOfOneAppearance(CroppedMeanContract):
    @pytest.fixture
    def statistic(self):
        return CroppedMean(cropped_mean_parameters(t=1))

    @pytest.fixture
    def tiny(self):
        return CroppedMean(cropped_mean_parameters(universe_size=3, table_size=3, t=1))


@pytest.mark.parametrize(("epsilon", "t"), [(0.5, 3), (0.1, 50)])
def test_noise_of_the_result_costs_epsilon_and_would_cost_4_as_printed(monkeypatch, epsilon, t):
    # Printed in Figure 2: f′ = 4t(θ − 1/2)/ε + Lap(t/(εm)).
    require_noise_before_scaling(
        monkeypatch, CroppedMean(cropped_mean_parameters(epsilon=epsilon, t=t)), 4 * t
    )


def test_estimate_is_debiased_and_scaled_by_t(monkeypatch):
    no_noise(monkeypatch)
    statistic = CroppedMean(cropped_mean_parameters(t=5))
    # θ = 2,200/4,000; 4t(θ − 1/2)/ε = 2.
    estimate = statistic.estimate(state_with(statistic, 2_200), None)
    assert estimate.values[0] == pytest.approx(2.0)
    assert statistic.estimate(state_with(statistic, 2_600), None).projection == (5.0,)
    assert statistic.estimate(state_with(statistic, 1_900), None).projection == (0.0,)


def test_bit_is_drawn_when_the_counter_wraps_around_and_never_else():
    class Low(random.Random):
        """Every bit drawn is 1."""

        def randbytes(self, n):
            return bytes(n)

    for processed in (
        lambda statistic, state, cells: [statistic.process(state, cell, Low()) for cell in cells],
        lambda statistic, state, cells: statistic.process_batch(state, np.array(cells), Low()),
    ):
        statistic = CroppedMean(cropped_mean_parameters(universe_size=4, table_size=4))
        state = statistic.start(random.Random(1))
        state.arrays["bits"][:] = 0
        state.arrays["counters"][:] = [0, 1, 2, 2]
        processed(statistic, state, [0, 1, 2, 0, 2])
        assert state.arrays["counters"].tolist() == [2, 2, 1, 2]
        assert state.arrays["bits"].tolist() == [0, 0, 1, 0]
        processed(statistic, state, [1] * 7)
        assert state.arrays["counters"].tolist() == [2, 0, 1, 2]
        assert state.arrays["bits"].tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("t", [1, 2, 7])
@pytest.mark.parametrize("appearances", [0, 1, 2, 6, 7, 20])
def test_item_is_touched_by_as_many_of_its_starts_as_it_appears_up_to_t(t, appearances):
    # Pr[touched] = min(n, t)/t: over all starts of the counter, min(n, t) wrap.
    statistic = CroppedMean(cropped_mean_parameters(universe_size=t, table_size=t, t=t))
    drawn = []

    class Noting(random.Random):
        def randbytes(self, n):
            drawn.append(n)
            return super().randbytes(n)

    touched = 0
    for start in range(t):
        state = statistic.start(random.Random(1))
        state.arrays["counters"][0] = start
        drawn.clear()
        for _ in range(appearances):
            statistic.process(state, 0, Noting())
        touched += bool(drawn)
    assert touched == min(appearances, t)


def test_counters_are_uniformly_random_again_after_an_announced_intrusion():
    statistic = CroppedMean(cropped_mean_parameters(universe_size=60_000, table_size=60_000))
    source = random.Random(8)
    state = statistic.start(source)
    before = state.arrays["counters"].copy()
    statistic.announce_intrusion(state, source)
    pairs = np.bincount(before * np.uint32(3) + state.arrays["counters"], minlength=9)
    # Each pair of values has expectation 60,000/9 and standard deviation 77: 6 of them are left out by 2e-9.
    assert (abs(pairs - 60_000 / 9) < 6 * 77).all()


def test_error_bound_after_announced_intrusions_includes_lost_wraps():
    statistic = CroppedMean(cropped_mean_parameters(t=4, announced_intrusions=2))
    state = statistic.start(random.Random(1))
    for announced, lost in ((1, 1 / 4), (2, (2 / 3) ** 3)):
        statistic.announce_intrusion(state, random.Random(2))
        estimate = statistic.estimate(state, random.Random(3))
        without = statistic.share_bound(BoundedErrors(0.0), announced, 1 - 0.95)
        assert estimate.error_bounds[0] == pytest.approx(4 * (without + lost))
        assert estimate.standard_errors == ()


def test_standard_error_covers_equal_appearances_and_all_or_none():
    # The two extremes of the same mean: every item at t/2, or half of them at t.
    statistic = CroppedMean(cropped_mean_parameters(universe_size=40_000, table_size=4_000, t=2))
    stated = 2 * statistic._variance(0.5) ** 0.5
    noise = discrete_laplace.variance(Fraction(2)) / (4_000 * 0.125) ** 2
    q = 0.5 + 0.125 / 2
    all_equal = q * (1 - q) / (4_000 * 0.125**2) + noise
    two_kinds = (0.5 * 0.625 * 0.375 + 0.5 * 0.25) / (4_000 * 0.125**2) + noise + 0.25 / 4_000 * 0.9
    assert stated >= 2 * max(all_equal, two_kinds) ** 0.5
    assert stated == pytest.approx(2 * all_equal**0.5)


def test_truth_counts_every_item_up_to_t():
    assert CroppedMean(cropped_mean_parameters()).truth({"a": 2, "b": 3, "c": 100}) == (8 / 4_000,)


def test_hashed_items_are_refused_with_what_to_do():
    with pytest.raises(FieldError, match=r"items: must not be hashed.*numbered"):
        cropped_mean_parameters(items="hashed")
