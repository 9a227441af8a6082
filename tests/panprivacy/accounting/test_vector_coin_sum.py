"""The definition over every assignment, with and without sampling and rounds; a second way to add it up."""

import dataclasses
import math
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
import scipy
from mpmath import mp

from panprivacy.accounting.composition import Repetition, delta_of
from panprivacy.accounting.importance_sampling import ImportanceSampling
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampling
from panprivacy.accounting.vector_coin_sum import VectorCoinSum
from tests.panprivacy.accounting.by_definition import DIGITS, hockey_stick
from tests.panprivacy.accounting.contract import CohortContract


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return VectorCoinSum(n=1_000, k=5, epsilon0=1.0)


class TestContractOfRemoval(CohortContract):
    @pytest.fixture
    def event(self):
        return VectorCoinSum(n=1_000, k=5, epsilon0=1.0, relation="add_remove")


def one_report_more(total, reported, rate=1.0):
    """Probabilities of the sum, one axis for each cell, if a device with these of its report joins in."""
    return (1 - rate) * total + sum(
        rate * probability * np.roll(total, 1, axis=cell) for cell, probability in enumerate(reported)
    )


@cache
def reported(k, epsilon0, cell):
    """The report of a device with this cell; without one, a uniformly drawn report."""
    if cell is None:
        return (1 / k,) * k
    total = math.exp(epsilon0) + k - 1
    return tuple((math.exp(epsilon0) if other == cell else 1.0) / total for other in range(k))


@cache
def every_pair(n, k, epsilon0, relation="replace", rate=1.0):
    """Both sums' probabilities, (assignments, outcomes) each, for every assignment of the other devices."""
    pairs = []
    for others in combinations_with_replacement(range(k), n - 1):
        rest = np.zeros((n + 1,) * k)
        rest[(0,) * k] = 1.0
        for cell in others:
            rest = one_report_more(rest, reported(k, epsilon0, cell), rate)
        cells = (0, 1 if relation == "replace" else None)
        pairs.append([one_report_more(rest, reported(k, epsilon0, cell), rate).ravel() for cell in cells])
    return np.array(pairs).transpose(1, 0, 2)


def worst(pairs, epsilon):
    first, second = pairs
    growth = math.exp(epsilon)
    return max(
        np.maximum(0.0, p - growth * q).sum(axis=-1).max() for p, q in ((first, second), (second, first))
    )


FEW = [(1, 2), (1, 4), (2, 2), (2, 3), (3, 3), (4, 4), (5, 3), (7, 2), (8, 2), (8, 3), (6, 4)]
SHARES = (0.0, 0.1, 0.3, 0.6, 0.9)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "k"), [*FEW, pytest.param(8, 4, marks=pytest.mark.long)])
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 2.0, 5.0])
def test_delta_is_not_below_any_assignment_of_the_other_devices(n, k, epsilon0, relation):
    event = VectorCoinSum(n=n, k=k, epsilon0=epsilon0, relation=relation)
    pairs = every_pair(n, k, epsilon0, relation)
    assert worst(pairs, event.largest_loss) < 1e-14
    assert worst(pairs, event.largest_loss * (1 - 1e-3)) > 0 or n > 1
    for share in SHARES:
        assert event.delta(share * event.largest_loss) >= worst(pairs, share * event.largest_loss) - 1e-15


@pytest.mark.parametrize("epsilon0", [0.1, 1.5, 4.0])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_delta_of_one_device_is_that_of_its_report(k, epsilon0):
    for relation in ("replace", "add_remove"):
        event = VectorCoinSum(n=1, k=k, epsilon0=epsilon0, relation=relation)
        for share in SHARES:
            exact = worst(every_pair(1, k, epsilon0, relation), share * event.largest_loss)
            assert event.delta(share * event.largest_loss) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(("n", "k", "epsilon0", "epsilon", "bound", "exact"), [
    (3, 3, 1.5, 0.3, 0.33725, 0.33725), (6, 3, 1.0, 0.3, 0.08229, 0.08192),
])  # fmt: skip
def test_delta_agrees_with_reference_numbers(n, k, epsilon0, epsilon, bound, exact):
    assert VectorCoinSum(n=n, k=k, epsilon0=epsilon0).delta(epsilon) == pytest.approx(bound, abs=5e-5)
    assert worst(every_pair(n, k, epsilon0), epsilon) == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 3), (5, 3), (6, 2), (4, 4)])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("epsilon0", [0.5, 2.0])
def test_delta_of_a_sample_is_not_below_any_assignment(n, k, rate, epsilon0):
    """The sum is released, and with it the number of reports: all devices' cells together."""
    event = VectorCoinSum(n=n, k=k, epsilon0=epsilon0)
    sampled = Sampling(event=event, n=n, sampling_rate=rate)
    pairs = every_pair(n, k, epsilon0, rate=rate)
    for epsilon in (0.0, 0.05, 0.3, 0.9 * epsilon0):
        assert sampled.delta(epsilon) >= worst(pairs, epsilon) - 1e-15
    assert sampled.delta(0.3) < event.delta(0.3)
    one = dataclasses.replace(event, n=1)  # the smallest cohort that releases its sum
    alike = ImportanceSampling(event=one, n=n, lowest_rate=rate, highest_rate=rate)
    assert alike.delta(0.3) >= worst(pairs, 0.3)


@pytest.mark.parametrize(("n", "k", "epsilon0"), [(1, 3, 1.0), (2, 2, 1.0), (2, 3, 0.7)])
def test_delta_of_four_rounds_is_not_below_any_assignment(n, k, epsilon0):
    """Of all assignments in each round."""
    event = VectorCoinSum(n=n, k=k, epsilon0=epsilon0)
    pairs = every_pair(n, k, epsilon0)
    rounds = []
    for assignments in combinations_with_replacement(range(pairs.shape[1]), 4):
        joint = np.ones((2, 1))
        for assignment in assignments:
            possible = pairs[:, assignment][:, pairs[:, assignment].max(axis=0) > 0]
            joint = (joint[:, :, None] * possible[:, None, :]).reshape(2, -1)
        rounds.append(joint)
    together = Repetition(event=event, times=4)
    for share in (0.0, 0.2, 0.5, 0.9):
        epsilon = share * 4 * epsilon0
        exact = max(worst(joint, epsilon) for joint in rounds)
        assert exact <= together.delta(epsilon) < 1.5 * exact + 0.05
    assert together.epsilon(1e-12) <= 4 * epsilon0


def test_delta_composed_with_another_event_is_not_below_both_together():
    coin, bits = VectorCoinSum(n=2, k=3, epsilon0=1.0), RandomizedResponseSum(n=2, epsilon0=0.5)
    for epsilon in (0.0, 0.3, 0.8, 1.3):
        exact = 0.0
        for (p, q), (r, s) in product(
            every_pair(2, 3, 1.0).transpose(1, 0, 2), every_pair(2, 2, 0.5).transpose(1, 0, 2)
        ):
            exact = max(exact, worst(np.array([np.outer(p, r).ravel(), np.outer(q, s).ravel()]), epsilon))
        assert exact <= delta_of([coin, bits], epsilon) < coin.delta(0.0) + bits.delta(0.0)


def by_definition(n, k, epsilon0, relation):
    """The view: how many other reports are uniform, and of these and the device's, those in cells 1 and 2."""
    total = mp.exp(mp.mpf(epsilon0)) + k - 1
    q, one = 1 / total, mp.mpf(1)
    p = 1 - (k - 1) * q
    uniform = (one / k, one / k)
    inputs = [(p, q), (q, p) if relation == "replace" else uniform]
    found = ({}, {})
    for m in range(n):
        of_m = mp.binomial(n - 1, m) * (k * q) ** m * (1 - k * q) ** (n - 1 - m)
        for i in range(m + 1):
            for j in range(m + 1 - i):
                rest = (one - 2 * one / k) ** (m - i - j)  # 0⁰ = 1
                weight = of_m * mp.binomial(m, i) * mp.binomial(m - i, j) * (one / k) ** (i + j) * rest
                for sums, (first, second) in zip(found, inputs, strict=True):
                    for at, probability in (
                        ((m, i + 1, j), first),
                        ((m, i, j + 1), second),
                        ((m, i, j), 1 - first - second),
                    ):
                        sums[at] = sums.get(at, 0) + weight * probability
    return found


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 1001), (5, 3), (12, 4), (12, 16)])
@pytest.mark.parametrize("epsilon0", [1e-6, 0.5, 4.0, 50.0])
def test_delta_is_that_of_the_view_by_definition(n, k, epsilon0, relation):
    event = VectorCoinSum(n=n, k=k, epsilon0=epsilon0, relation=relation)
    with mp.workdps(DIGITS):
        sums = by_definition(n, k, epsilon0, relation)
        for share in SHARES:
            epsilon = share * event.largest_loss
            exact = hockey_stick(*sums, epsilon)
            assert exact <= event.delta(epsilon) <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-35")
        assert hockey_stick(*sums, event.largest_loss) < mp.mpf("1e-30")


@pytest.mark.parametrize(("k", "epsilon0"), [(3, 1.0), (6, 2.0), (32, 5.0)])
def test_delta_of_ten_thousand_is_little_above_that_of_every_number(k, epsilon0):
    """Replacement: by the mean over uniform reports, without blocks, for each m and t."""
    epsilon = VectorCoinSum(n=10_000, k=k, epsilon0=epsilon0).epsilon(1e-6)
    p, q = reported(k, epsilon0, 0)[:2]
    growth, exact = math.exp(epsilon), 0.0
    for m in np.arange(*scipy.stats.binom.interval(1 - 1e-12, 9_999, k * q)):
        t = np.arange(*scipy.stats.binom.interval(1 - 1e-12, m + 1, 2 / k))
        # k·(q + (p − q)·h/(m + 1)) less e^ε times the same for t − h, as slope·h − start
        slope = k * (p - q) * (1 + growth) / (m + 1)
        start = k * (growth * (p - q) * t / (m + 1) + q * (growth - 1))
        least = np.ceil(start / slope)
        gained = slope * t / 2 * scipy.stats.binom.sf(least - 2, t - 1, 0.5)
        lost = start * scipy.stats.binom.sf(least - 1, t, 0.5)
        of_t = scipy.stats.binom.pmf(t, m + 1, 2 / k) @ (gained - lost)
        exact += scipy.stats.binom.pmf(m, 9_999, k * q) * of_t
    assert 0.8e-6 < exact < 1e-6


@pytest.mark.parametrize(("k", "epsilon0"), [(2, 1.0), (6, 2.0), (32, 5.0)])
def test_delta_removed_of_ten_thousand_is_that_of_every_number(k, epsilon0):
    event = VectorCoinSum(n=10_000, k=k, epsilon0=epsilon0, relation="add_remove")
    growth = math.exp(event.epsilon(1e-6))
    p, q = reported(k, epsilon0, 0)[:2]
    exact = np.zeros(2)
    for m in np.arange(*scipy.stats.binom.interval(1 - 1e-13, 9_999, k * q)):
        x = scipy.stats.binom.pmf(np.arange(-1, m + 2), m, 1 / k)
        here, there = (own * x[:-1] + (1 - own) * x[1:] for own in (p, 1 / k))
        beyond = [np.maximum(0.0, a - growth * b).sum() for a, b in ((here, there), (there, here))]
        exact += scipy.stats.binom.pmf(m, 9_999, k * q) * np.array(beyond)
    assert exact.max() == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize(("n", "k", "epsilon0", "above"), [
    (100, 3, 0.5, 1.25), (1_000, 4, 0.5, 1.1), (1_000, 7, 2.0, 1.2), (1_000, 32, 2.0, 1.05),
])  # fmt: skip
def test_delta_is_little_above_that_of_others_all_in_a_third_cell(n, k, epsilon0, above):
    """The sum on both cells has all that matters then."""
    event = VectorCoinSum(n=n, k=k, epsilon0=epsilon0)
    growth = math.exp(event.epsilon(1e-6))
    p, q = reported(k, epsilon0, 0)[:2]
    exact = 0.0
    for t in range(1, n + 1):  # reports in either cell; without one there is nothing to see
        before, at = scipy.stats.binom.pmf([t - 1, t], n - 1, 2 * q)
        x = scipy.stats.binom.pmf(np.arange(-1, t + 1), t - 1, 0.5)
        outside = (1 - p - q) * at * scipy.stats.binom.pmf(np.arange(t + 1), t, 0.5)
        here = before * (p * x[:-1] + q * x[1:]) + outside
        exact += np.maximum(0.0, here - growth * here[::-1]).sum()
    assert exact < 1e-6 < above * exact


@pytest.mark.parametrize("n", [1, 5, 1_000])
def test_numbers_of_two_cells_replaced_are_those_of_one_bit(n):
    coin, bits = VectorCoinSum(n=n, k=2, epsilon0=2.0), RandomizedResponseSum(n=n, epsilon0=2.0)
    assert coin.epsilon(1e-6) == bits.epsilon(1e-6)
    for epsilon in (0.0, 0.1, 1.9):
        assert coin.delta(epsilon) == bits.delta(epsilon)
        assert coin.delta_bound(epsilon) == bits.delta_bound(epsilon)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_delta_falls_with_every_device(relation):
    for epsilon in (0.0, 0.3, 0.8):
        events = [VectorCoinSum(n=n, k=4, epsilon0=2.0, relation=relation) for n in range(1, 40)]
        found = [event.delta(epsilon) for event in events]
        assert all(after <= before * (1 + 1e-12) for before, after in pairwise(found))
        assert found[-1] < found[0]


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("epsilon0", [1e-6, 50.0])
@pytest.mark.parametrize("k", [2, 1001])
def test_epsilon_at_the_ends_of_every_range_is_at_most_the_largest_loss(k, epsilon0, relation):
    for n, delta in product((1, 2, 10_000), (1e-30, 0.1)):
        event = VectorCoinSum(n=n, k=k, epsilon0=epsilon0, relation=relation)
        epsilon = event.epsilon(delta)
        assert 0 <= epsilon <= event.largest_loss <= epsilon0 * (1 + 1e-12)
        assert event.delta(epsilon) <= delta
    assert dataclasses.replace(event, n=10**8).quick
