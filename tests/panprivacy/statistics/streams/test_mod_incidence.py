import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from panprivacy.statistics.streams.mod_incidence import (
    ModIncidenceParameters,
    ResidueErrors,
    ResidueNoise,
    closest_fractions,
    cyclic_convolution,
)
from tests.panprivacy.statistics.streams.contract import StreamContract
from tests.panprivacy.statistics.streams.scene import mod_incidence, no_noise
from tests.refusals import field_refused


class TestModIncidence(StreamContract):
    @pytest.fixture
    def statistic(self):
        return mod_incidence()

    @pytest.fixture
    def tiny(self):
        return mod_incidence(size=4)

    def stream(self, statistic):
        size = statistic.parameters.table_size
        return np.repeat(np.arange(size), np.arange(size) % 6)

    def guaranteed(self, statistic, announced):
        return (announced + 1) * statistic.parameters.epsilon + statistic.parameters.epsilon, 0.0


def printed_matrix(k, epsilon):
    """N as printed in Figure 5: with i + j."""
    exponents = -epsilon / (k - 1) * ((np.arange(k)[:, None] + np.arange(k)[None, :]) % k)
    return np.exp(exponents) / np.exp(-epsilon * np.arange(k) / (k - 1)).sum()


@pytest.mark.parametrize("k", [3, 5, 8])
def test_matrix_with_a_sum_as_printed_in_figure_5_is_wrong(k):
    fractions = np.arange(1, k + 1) / (k * (k + 1) / 2)
    noise = ResidueNoise(k, 0.5)
    # What counters show on average: an item that appeared j times shows i with the noise (i − j) mod k.
    shown = np.array(
        [sum(noise.distribution(1)[(i - j) % k] * fractions[j] for j in range(k)) for i in range(k)]
    )
    assert cyclic_convolution(noise.inverse(1), shown) == pytest.approx(fractions, abs=1e-9)
    assert closest_fractions(noise.distribution(1), shown) == pytest.approx(fractions, abs=1e-6)
    printed = np.linalg.solve(printed_matrix(k, 0.5), shown)
    assert np.abs(printed - fractions).max() > 0.1
    assert printed == pytest.approx(fractions[-np.arange(k) % k])  # every residue taken for its negative


def test_noise_of_the_result_as_printed_costs_twice_epsilon(monkeypatch):
    # One item shows either of two values. Seen: exactly the counts of the one case.
    def loss(scale):
        ratio = math.exp(-1 / scale)
        probability = {shift: (1 - ratio) / (1 + ratio) * ratio ** abs(shift) for shift in (-1, 0, 1)}
        return math.log(probability[0] ** 2 / (probability[1] * probability[-1]))

    epsilon = 0.5
    assert loss(1 / epsilon) == pytest.approx(2 * epsilon)  # Lap(1/(εm)) on each fraction, as printed
    assert loss(2 / epsilon) == pytest.approx(epsilon)
    # Ours, as it is drawn: for each of the counts, of which one item moves two by 1.
    statistic = mod_incidence(epsilon=epsilon)
    state = statistic.start(random.Random(1))
    scales = no_noise(monkeypatch, drawn=7)
    counts = [int((state.arrays["counters"] == value).sum()) for value in range(3)]
    assert (statistic.noisy_counts(state, None) - 7).tolist() == counts
    assert scales == [2 / Fraction(epsilon)] * 3


def test_linear_program_as_printed_has_no_solution_where_ours_has():
    # Three fractions at most 0.36 can explain no counter value shown by half of the items, nor nearly so.
    noise = ResidueNoise(3, 0.5).distribution(1)
    shown = np.array([0.5, 0.5, 0.0])
    found = closest_fractions(noise, shown)
    assert np.abs(cyclic_convolution(noise, found) - shown).max() > 0.1
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()


def test_closest_fractions_are_not_beaten_by_any_on_a_grid():
    noise = ResidueNoise(3, 0.5).distribution(1)
    shown = np.array([0.45, 0.3, 0.22])
    best = np.abs(cyclic_convolution(noise, closest_fractions(noise, shown)) - shown).max()
    steps = np.linspace(0, 1, 41)
    for first, second in product(steps, steps):
        if first + second <= 1:
            tried = np.array([first, second, 1 - first - second])
            assert np.abs(cyclic_convolution(noise, tried) - shown).max() >= best - 1e-9


@pytest.mark.parametrize("k", [2, 3, 7, 50])
@pytest.mark.parametrize("epsilon", [0.5, 0.01])
def test_noise_differs_by_at_most_e_to_the_epsilon_between_any_two_values(k, epsilon):
    weights = ResidueNoise(k, epsilon).weights.tolist()
    assert sum(weights) == 2**63
    assert max(weights) == weights[0]
    assert min(weights) == weights[-1]
    assert Fraction(weights[0], weights[-1]) <= Fraction(math.exp(epsilon)) * (1 + Fraction(2, 2**53))
    assert math.log(weights[0] / weights[-1]) == pytest.approx(epsilon, rel=1e-9)
    assert np.log(np.array(weights[:-1]) / np.array(weights[1:])) == pytest.approx(
        epsilon / (k - 1), rel=1e-6
    )


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("noises", [1, 2, 3])
def test_inverse_undoes_the_noise_of_all_intrusions(k, noises):
    noise = ResidueNoise(k, 0.5)
    matrix = noise.distribution(1)[(np.arange(k)[:, None] - np.arange(k)[None, :]) % k]
    powered = np.linalg.matrix_power(matrix, noises)
    assert noise.distribution(noises) == pytest.approx(powered[:, 0])
    inverse = np.linalg.inv(powered)
    assert noise.inverse(noises) == pytest.approx(inverse[:, 0], rel=1e-6, abs=1e-6)
    assert np.abs(inverse).sum(axis=1) == pytest.approx(np.abs(noise.inverse(noises)).sum())


@pytest.mark.parametrize("noises", [1, 2])
def test_errors_of_the_noise_are_bounded_by_their_exact_moments(noises):
    k, size, rate = 4, 50, 3.0
    noise = ResidueNoise(k, 0.5)
    inverse, distribution = noise.inverse(noises), noise.distribution(noises)
    exact = []
    for appeared in range(k):
        moment = sum(
            distribution[(shown - appeared) % k]
            * math.exp(rate / size * (inverse[-shown % k] - (appeared == 0)))
            for shown in range(k)
        )
        exact.append(size * math.log(moment))
    assert ResidueErrors(noise, noises, size).cumulant(rate) == pytest.approx(max(exact))


def test_variance_of_the_noise_is_that_of_the_counters():
    k = 4
    noise = ResidueNoise(k, 0.5)
    fractions = np.array([0.4, 0.3, 0.2, 0.1])
    inverse, distribution = noise.inverse(1), noise.distribution(1)
    expected = [
        sum(
            fractions[appeared]
            * (
                sum(
                    distribution[(shown - appeared) % k] * inverse[(residue - shown) % k] ** 2
                    for shown in range(k)
                )
                - (appeared == residue)
            )
            for appeared in range(k)
        )
        for residue in range(k)
    ]
    assert noise.variance(1, fractions) == pytest.approx(expected)


def joint_ratios(k, epsilon, intrusions):
    """The largest and the exact ln ratio of what intrusions see, over all appearances between them."""
    noise = ResidueNoise(k, epsilon).distribution(1)
    largest = 0.0
    for one, other in product(product(range(k), repeat=intrusions), repeat=2):
        for seen in product(range(k), repeat=intrusions):
            shown_before, ratio = 0, 0.0
            for appeared, instead, shown in zip(one, other, seen, strict=True):
                step = (shown - shown_before) % k
                ratio += math.log(noise[(step - appeared) % k] / noise[(step - instead) % k])
                shown_before = shown
            largest = max(largest, ratio)
    return largest


@pytest.mark.parametrize("announced", [0, 1])
def test_intrusions_cost_exactly_what_is_stated(announced):
    # Enumerated: appearances between the intrusions, and all that can be seen; the result costs ε more.
    statistic = mod_incidence(k=3)
    loss = joint_ratios(3, 0.5, announced + 1)
    assert loss + 0.5 == pytest.approx(statistic.total_epsilon(announced))


@pytest.mark.statistical
def test_estimates_are_unbiased_and_their_standard_errors_right():
    # Failure: 4 residues, two comparisons each, at 6 standard deviations of a mean of runs of sums over 300
    # counters (normal: 2e-9 each), and at 7 of a variance (chi-square with 99 degrees: below 4e-8).
    runs, statistic = 100, mod_incidence(k=4, size=300, universe=300)
    cells = np.repeat(np.arange(300), np.arange(300) % 7)
    truth = statistic.truth({cell: cell % 7 for cell in range(300)})
    source = random.Random(11)
    values = []
    for _ in range(runs):
        state = statistic.start(source)
        statistic.process_batch(state, cells, source)
        estimate = statistic.estimate(state, source)
        values.append(estimate.values)
    fractions = np.array(truth)
    stated = statistic._standard_errors(1, fractions)
    deviations = (np.mean(values, axis=0) - truth) / (stated / math.sqrt(runs))
    assert np.abs(deviations).max() < 6
    spread = np.var(values, axis=0) / stated**2
    assert np.abs(spread - 1).max() < 7 * math.sqrt(2 / runs)


def test_standard_error_of_a_part_of_the_universe_includes_which_part():
    whole, part = mod_incidence(size=100), mod_incidence(size=100, universe=1000)
    fractions = np.array([0.5, 0.3, 0.2])
    sampled = part._standard_errors(1, fractions) ** 2 - whole._standard_errors(1, fractions) ** 2
    assert sampled == pytest.approx(900 / 999 * fractions * (1 - fractions) / 100)


def test_amplification_is_what_the_inverse_does_to_an_error():
    statistic = mod_incidence(k=10)
    step = 0.5 / 9
    assert statistic.amplification(0) == pytest.approx(1 / math.tanh(step / 2))
    assert statistic.amplification(1) == pytest.approx(1 / math.tanh(step / 2) ** 2)


def test_truth_counts_items_that_never_appeared_as_multiples_of_k():
    assert mod_incidence(k=3, size=10).truth({"a": 3, "b": 4, "c": 1, "d": 5}) == (0.7, 0.2, 0.1)


def test_hashed_items_are_refused_with_what_to_do():
    with field_refused("items", match="list the items"):
        ModIncidenceParameters(epsilon=0.5, universe_size=10, table_size=10, items="hashed", k=2)


@pytest.mark.parametrize("k", [0, 1, 201, 2.5])
def test_modulus_outside_its_range_is_refused(k):
    with field_refused("k"):
        mod_incidence(k=k)
