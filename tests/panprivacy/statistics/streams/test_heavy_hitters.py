import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from panprivacy.statistics.streams import item_bits as item_bits
from panprivacy.statistics.streams.heavy_hitters import UNIT, ThresholdLevels
from tests.panprivacy.statistics.streams.contract import RUNS, StreamContract
from tests.panprivacy.statistics.streams.scene import heavy_hitters, no_noise
from tests.refusals import field_refused


class TestHeavyHitters(StreamContract):
    @pytest.fixture
    def statistic(self):
        return heavy_hitters(size=500)

    @pytest.fixture
    def tiny(self):
        return heavy_hitters(size=2, k=2, n_max=3)

    def stream(self, statistic):
        """Items with 0, 1, 8 and 16 appearances: all count fully or not at all (k = 4, ρ = 1)."""
        size = statistic.parameters.table_size
        return np.repeat(np.arange(size), np.array([0, 1, 8, 16])[(np.arange(size) + 2) % 4])

    def states_after(self, statistic, processed):
        """As of the contract, with the counters' real numbers in quarters of their moduli."""
        source = random.Random(f"{statistic.statistic} {processed.__name__}")
        moduli = np.array(statistic.parameters.levels.units)[:, None]
        rows = []
        for _ in range(RUNS):
            state = statistic.start(source)
            processed(state, source)
            quarters = state.arrays["counters"] * 4 // moduli
            bits = state.arrays["bits"].astype(np.int64)
            rows.append(np.concatenate([part.ravel() for part in (quarters, bits, 2 * quarters + bits)]))
        return np.array(rows)

    def guaranteed(self, statistic, announced):
        tables = math.ceil(math.log2(statistic.parameters.n_max / (statistic.parameters.k - 0.5)) + 1) + 1
        output = statistic.parameters.epsilon / tables
        return tables * item_bits.total_epsilon(0.5, announced, output), 0.0


def cropped_means(thresholds, appearances):
    """e_j: the exact t_j-cropped means over items with these appearances."""
    return [float(np.mean(np.minimum(appearances, threshold))) for threshold in thresholds]


def printed_intervals(thresholds, means):
    """v'_i for every i, by the loop of Figure 3; where it divides by t_{ℓ+1} − t_ℓ = 0, the term is 0."""
    last = len(thresholds) - 1
    t = [*thresholds, thresholds[-1]]
    e = [*means, means[-1]]
    v = [0.0] * (last + 1)
    for i in reversed(range(last)):
        above = (e[i + 2] - e[i + 1]) - v[i + 1] * (t[i + 2] - t[i + 1]) / 2
        higher = v[i + 1] * (t[i + 1] - t[i])
        if t[i + 2] > t[i + 1]:
            higher += (t[i + 1] - t[i]) / (t[i + 2] - t[i + 1]) * above
        v[i] = ((e[i + 1] - e[i]) - higher) / ((t[i + 1] - t[i]) / 2)
    return v


def spread_evenly(appearances, rho, count=4_001):
    """The appearances, each times our multiplicities, spread evenly as they are on average."""
    exponents = (np.arange(count) + 0.5) / count * 2 - 1
    return np.multiply.outer((1 + rho) ** exponents, appearances).ravel()


def spread_as_printed(appearances, rho, count=4_001):
    """The same with multiplicities uniform in 1..1 + ρ."""
    return np.multiply.outer(1 + rho * (np.arange(count) + 0.5) / count, appearances).ravel()


@pytest.mark.parametrize("rho", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("n_max", [3, 20, 33])
def test_weights_give_the_sum_of_all_intervals_of_figure_3(rho, n_max):
    levels = ThresholdLevels(3, rho, n_max)
    means = cropped_means(levels.thresholds, np.random.default_rng(1).integers(0, n_max, 500) * 1.0)
    whole = sum(printed_intervals(levels.thresholds, means))
    ours = sum(
        weight * mean / threshold
        for weight, mean, threshold in zip(levels.weights, means, levels.thresholds, strict=True)
    )
    assert ours == pytest.approx(whole)


def test_one_interval_as_printed_misses_most_heavy_hitters():
    # Half of the items are heavy hitters, most of them far above k = 4.
    appearances = np.array([0, 0, 0, 0, 0, 9, 20, 40, 70, 100])
    levels = ThresholdLevels(4, 1.0, 100)
    spread = spread_evenly(appearances, 1.0)
    intervals = printed_intervals(levels.thresholds, cropped_means(levels.thresholds, spread))
    assert sum(intervals) == pytest.approx(0.5, abs=1e-3)
    assert abs(intervals[0]) < 0.1  # v'_i, as printed


@pytest.mark.parametrize("rho", [1.0, 0.5])
def test_multiplicities_over_one_interval_as_printed_are_off_by_a_half(rho):
    levels = ThresholdLevels(4, rho, 1_000)
    thresholds = levels.thresholds
    counted = []
    for lower, upper in ((2, 3), (3, 4)):
        appearances = np.array([(thresholds[lower] + thresholds[upper]) / 2])
        means = cropped_means(thresholds, spread_as_printed(appearances, rho))
        counted.append(sum(printed_intervals(thresholds, means)))
        means = cropped_means(thresholds, spread_evenly(appearances, rho))
        assert sum(printed_intervals(thresholds, means)) == pytest.approx(1, abs=2e-3)
    assert counted == pytest.approx([1.5, 0.5], abs=0.01)


def test_last_threshold_as_printed_loses_items_beyond_it():
    appearances = np.array([32.0])  # N itself
    printed = [4.0, 8.0, 16.0, 32.0]
    spread = spread_as_printed(appearances, 1.0)
    counted = sum(printed_intervals(printed, cropped_means(printed, spread)))
    assert counted == pytest.approx(2, abs=1e-6)  # one item counted twice
    printed = [8.0, 16.0, 32.0]
    counted = sum(printed_intervals(printed, cropped_means(printed, spread)))
    assert counted == pytest.approx(0, abs=1e-6)  # and not at all, with one threshold less
    assert ThresholdLevels(4, 1.0, 32).thresholds[-1] >= 64


def test_noise_on_one_interval_as_printed_costs_a_constant(monkeypatch):
    for epsilon in (0.5, 0.01):
        statistic = heavy_hitters(epsilon=epsilon)
        state = statistic.start(random.Random(1))
        state.arrays["bits"][:, 0] = 0
        values, losses = [], []
        for table in (None, *range(statistic.tables)):  # one item's bit in this table is 1
            state.arrays["bits"][:, 0] = np.arange(statistic.tables) == table
            with monkeypatch.context() as patch:
                scales = no_noise(patch, drawn=7)
                noisy = statistic.noisy_counts(state, None)
                # Ours: drawn for every count of ones, each of which the item moves by 1.
                assert (noisy - 7).tolist() == state.arrays["bits"].sum(axis=1).tolist()
                assert scales == [statistic.tables / Fraction(epsilon)] * statistic.tables
                losses.append(float(sum(1 / scale for scale in scales)))
                values.append(statistic.estimate(state, None).values[0])
        assert losses == pytest.approx([epsilon] * len(losses))
        # Printed: Lap(1/(εm)) on v'_i.
        moved = max(abs(value - values[0]) for value in values)
        assert moved / (1 / (epsilon * statistic.parameters.table_size)) >= 8


@pytest.mark.parametrize(("k", "n_max", "rho"), list(product([1, 5], [64, 1_000], [1.0, 0.5, 0.1])))
def test_cost_is_within_theorem_4_1_with_the_real_number_of_tables(k, n_max, rho):
    statistic = heavy_hitters(k=k, n_max=n_max, rho=rho, size=100)
    stated = statistic.total_epsilon(0)
    assert stated <= 0.5 * (1 + statistic.tables)
    # Each table could cost the exact loss of a bit, −ln(1 − ε/2), and all tables see the same item.
    assert stated > statistic.tables * -math.log(1 - 0.25)
    # From the least threshold on, tables are as many as the theorem's ℓ = log_{1+ρ} N, up to 3 more.
    assert statistic.tables <= math.log(n_max / (k - 0.5)) / math.log(1 + rho) + 3


def test_number_of_tables_of_theorem_4_1_exceeds_the_natural_logarithm():
    # Printed: ℓ = log_{1+ρ} N ≤ log(N)/ρ. True to base 2 (for ρ ≤ 1), false to base e.
    for rho in (1.0, 0.5, 0.1):
        tables = math.log(1_000) / math.log(1 + rho)
        assert tables > math.log(1_000) / rho
        assert tables <= math.log2(1_000) / rho + 1e-9


@pytest.mark.parametrize("rho", [1.0, 0.3])
def test_what_an_item_adds_is_one_above_the_threshold_or_nothing(rho):
    levels = ThresholdLevels(5, rho, 60)
    added = []
    for appearances in range(61):
        spread = spread_evenly(np.array([float(appearances)]), rho)
        means = cropped_means(levels.thresholds, spread)
        added.append(sum(w * e / t for w, e, t in zip(levels.weights, means, levels.thresholds, strict=True)))
    for appearances, found in enumerate(added):
        if appearances >= (1 + rho) * 4.5:
            assert found == pytest.approx(1, abs=3e-3)
        elif appearances <= 4.5 / (1 + rho):
            assert found == pytest.approx(0, abs=1e-9)
        else:
            assert -1e-9 <= found <= 1 + 3e-3


class Low(random.Random):
    """Every bit drawn is 1, so that a wrap shows."""

    def randbytes(self, n):
        return bytes(n)


@pytest.mark.statistical
def test_counter_wraps_with_the_probability_of_its_real_multiplicity():
    # Failure: 4 tables, each a binomial with 40,000 trials at 6 deviations: below 1e-8 together.
    statistic = heavy_hitters(k=4, n_max=12, size=40_000)
    source = random.Random(3)
    state = statistic.start(source)
    state.arrays["multiplicities"][:] = round(1.3 * UNIT)
    state.arrays["bits"][:] = 0
    statistic.process_batch(state, np.repeat(np.arange(40_000), 3), Low())
    for threshold, ones in zip(
        statistic.parameters.levels.thresholds, state.arrays["bits"].sum(axis=1), strict=True
    ):
        probability = min(1.0, 3.9 / threshold)
        assert (
            abs(ones - 40_000 * probability) <= 6 * math.sqrt(40_000 * probability * (1 - probability)) + 1e-3
        )


@pytest.mark.statistical
def test_counters_are_uniformly_random_again_after_an_announced_intrusion():
    # Each pair of quarters has expectation 3,750 and standard deviation below 60: 48 comparisons of 2e-9.
    statistic, source = heavy_hitters(k=1, n_max=1, size=60_000), random.Random(13)
    moduli = np.array(statistic.parameters.levels.units)[:, None]
    state = statistic.start(source)
    before = state.arrays["counters"] * 4 // moduli
    statistic.announce_intrusion(state, source)
    for pairs in before * 4 + state.arrays["counters"] * 4 // moduli:
        assert (abs(np.bincount(pairs, minlength=16) - 60_000 / 16) < 6 * 60).all()


@pytest.mark.statistical
def test_multiplicities_are_spread_evenly_over_logarithms():
    # Kolmogorov and Smirnov's distance of 20,000 draws, by Dvoretzky, Kiefer, Wolfowitz and Massart:
    # Pr[distance > x] ≤ 2·exp(−2nx²), 1e-8 at x = 0.0219.
    statistic = heavy_hitters(rho=0.5, size=20_000)
    state = statistic.start(random.Random(4))
    logs = np.sort(np.log(state.arrays["multiplicities"] / UNIT) / math.log(1.5))
    assert logs[0] >= -1 - 1e-8
    assert logs[-1] < 1
    assert np.abs((logs + 1) / 2 - np.arange(20_000) / 20_000).max() < 0.0219 + 1 / 20_000


@pytest.mark.statistical
def test_estimates_are_unbiased_for_items_away_from_the_threshold():
    # Failure: the mean of 200 runs at 6 of its standard deviations, a sum over thousands of bits: 2e-9.
    statistic = heavy_hitters(size=1_000)
    cells = np.repeat(np.arange(1_000), np.array([0, 1, 9, 13, 20])[np.arange(1_000) % 5])
    source = random.Random(8)
    values = []
    for _ in range(200):
        state = statistic.start(source)
        statistic.process_batch(state, cells, source)
        values.append(statistic.estimate(state, source).values[0])
    stated = statistic.errors.standard_error(0.6, 0.5 / 4)
    assert abs(np.mean(values) - 0.6) <= 6 * stated / math.sqrt(200)
    assert np.std(values) <= stated * (1 + 6 / math.sqrt(2 * 200))


def test_truth_lies_between_items_that_count_in_full_and_at_all():
    statistic = heavy_hitters(k=4, rho=1.0, n_max=20, size=10)
    counts = {0: 20, 1: 7, 2: 6, 3: 4, 4: 2, 5: 1}
    low, high = statistic.close_streams.truth_range(counts)
    assert (low, high) == (0.2, 0.5)
    # Exactly (k − 1/2)/(1 + ρ) = 2 appearances count in no close stream.
    assert heavy_hitters(k=4, rho=0.75, n_max=20, size=10).close_streams.truth_range({0: 2, 1: 3}) == (
        0.0,
        0.1,
    )
    assert low <= statistic.truth(counts)[0] <= high


def test_truth_counts_items_from_k_on():
    assert heavy_hitters(k=4, size=10).truth({"a": 4, "b": 3, "c": 20}) == (0.2,)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"n_max": 3}, "n_max"),
        ({"rho": 0.01}, "rho"),
        ({"k": 0}, "k"),
        ({"size": 1_000_000, "rho": 0.05, "n_max": 1_000_000}, "table_size"),
    ],
)
def test_parameters_that_make_no_ladder_name_the_field(change, field):
    with field_refused(field):
        heavy_hitters(**change)


def test_promise_that_adds_up_to_nothing_is_refused():
    with field_refused("epsilon", match="no protection"):
        heavy_hitters(rho=0.05, n_max=100_000, size=10, announced=20).require_promise()
