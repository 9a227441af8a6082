"""Reference numbers, the definition over every assignment and outcome, and 40 digits at large n."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from panprivacy.accounting.randomized_response_sum import (
    LARGEST_ONE_BY_ONE,
    RandomizedResponseSum,
    _enumerated,
    _excess,
    _sampled,
)
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from tests.panprivacy.accounting.by_definition import (
    DIGITS,
    flip_probability,
    hockey_stick,
    randomized,
    released,
    sampled,
)  # fmt: skip
from tests.panprivacy.accounting.contract import CohortContract


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return RandomizedResponseSum(n=1_000, epsilon0=1.0)


class TestContractSampled(CohortContract):
    @pytest.fixture
    def event(self):
        return RandomizedResponseSum(n=5_000, epsilon0=2.0, sampling_rate=0.2)


def worst_by_definition(n, epsilon0, epsilon, rate=None):
    """Over every assignment of the other bits (their order does not matter to a sum)."""

    def device(bit):
        report = randomized((bit,), epsilon0)
        return report if rate is None else sampled(report, rate)

    worst = mp.mpf(0)
    for ones in range(n):
        others = [device(1)] * ones + [device(0)] * (n - 1 - ones)
        pair = [released([device(bit), *others]) for bit in (0, 1)]
        worst = max(worst, hockey_stick(*pair, epsilon))
    return worst


@pytest.mark.parametrize("n", [1, 2, 6, 11])
@pytest.mark.parametrize("epsilon0", [1e-3, 2.0, 9.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_delta_of_few_devices_is_the_worst_of_every_assignment(n, epsilon0, share):
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0)
    assert event.proved
    with mp.workdps(DIGITS):
        exact = worst_by_definition(n, epsilon0, share * epsilon0)
        # ε, e^ε and p are rounded: that alone moves a δ that nearly cancels by more than a relative 1e-12.
        assert exact * (1 - mp.mpf("1e-9")) <= event.delta(share * epsilon0) <= exact * (1 + mp.mpf("1e-9"))


@pytest.mark.parametrize(("n", "epsilon0", "epsilon"), [
    (1_000, 1.0, 0.0), (1_000, 1.0, 0.1266), (3_000, 0.05, 0.004), (3_000, 5.689, 1.5),
    pytest.param(10_000, 2.0, 0.28, marks=pytest.mark.long),
])  # fmt: skip
def test_delta_of_many_devices_is_no_less_than_of_unanimous_bits(n, epsilon0, epsilon):
    with mp.workdps(DIGITS):
        p = flip_probability(epsilon0)
        factor = mp.exp(mp.mpf(epsilon))
        base = [(1 - p) ** (n - 1)]
        for x in range(n - 1):
            base.append(base[-1] * (n - 1 - x) / (x + 1) * p / (1 - p))
        base.append(mp.mpf(0))
        directions = [mp.mpf(0), mp.mpf(0)]
        for x in range(n + 1):
            before = base[x - 1] if x else mp.mpf(0)
            one, zero = (1 - p) * before + p * base[x], p * before + (1 - p) * base[x]
            directions[0] += max(mp.mpf(0), one - factor * zero)
            directions[1] += max(mp.mpf(0), zero - factor * one)
        exact = max(directions)
    found = RandomizedResponseSum(n=n, epsilon0=epsilon0).delta(epsilon)
    assert exact <= found
    assert found <= exact * (1 + mp.mpf("2e-2"))  # what other assignments may add


@pytest.mark.parametrize("n", [LARGEST_ONE_BY_ONE + 1, 100])
@pytest.mark.parametrize("epsilon0", [0.01, 3.0, 8.0])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.5, 0.9])
def test_delta_bounded_over_ranges_is_that_of_every_assignment(n, epsilon0, share):
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0)
    exact = _enumerated(n, epsilon0, _excess(epsilon0, share * epsilon0), share * epsilon0)
    assert exact * (1 - 1e-9) <= event.delta(share * epsilon0) <= exact * (1 + 1e-8) + 1e-35


def test_delta_bounded_leaves_out_no_nearly_unanimous_assignment():
    """n = 10,000, ε₀ = 2: with three zeros among the others' ones, 0.067% worse than unanimous."""
    n, epsilon0, epsilon = 10_000, 2.0, 0.08701563
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0)
    with mp.workdps(DIGITS):
        p = flip_probability(epsilon0)
        base = [(1 - p) ** (n - 4)]  # of flips among the n − 4 ones
        for x in range(n - 4):
            base.append(base[-1] * (n - 4 - x) / (x + 1) * p / (1 - p))
        flips = base[:3_000]  # the sum is n − 1 less these, plus the three zeros and the device's own

        def with_bit(flips, up):
            return [up * a + (1 - up) * b for a, b in zip([0, *flips], [*flips, 0], strict=True)]

        for _ in range(3):
            flips = with_bit(flips, 1 - p)
        one, zero = with_bit(flips, p), with_bit(flips, 1 - p)
        exact = hockey_stick(dict(enumerate(one)), dict(enumerate(zero)), epsilon)
        assert exact > mp.mpf("1.00066e-6")
        assert exact * (1 - mp.mpf("1e-9")) <= event.delta(epsilon) <= exact * (1 + mp.mpf("1e-5"))


@pytest.mark.parametrize(("n", "rate"), [(1, 0.3), (3, 0.1), (5, 0.9), (8, 0.5)])
@pytest.mark.parametrize("epsilon0", [1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.8])
def test_delta_sampled_of_few_devices_is_the_worst_of_every_assignment(n, rate, epsilon0, share):
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0, sampling_rate=rate)
    assert event.proved
    with mp.workdps(DIGITS):
        exact = worst_by_definition(n, epsilon0, share * epsilon0, rate)
        found = event.delta(share * epsilon0)
        # Where a term is 0 by definition it is no more than rounding: the probability of nobody taking part.
        assert exact * (1 - mp.mpf("1e-9")) <= found <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-11")


@pytest.mark.parametrize(("n", "epsilon0", "rate"), [(20, 0.3, 0.8), (40, 1.0, 0.3), (40, 2.0, 0.1)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_delta_sampled_of_unanimous_bits_is_close_below_the_worst(n, epsilon0, rate, share):
    """What is given above the limit, not proved, against what is given below it."""
    unanimous = _sampled(n, epsilon0, rate, share * epsilon0)
    every = RandomizedResponseSum(n=n, epsilon0=epsilon0, sampling_rate=rate).delta(share * epsilon0)
    assert unanimous <= every * (1 + 1e-9) <= unanimous * 1.1 + 1e-11


def test_epsilon_sampled_at_a_rate_near_one_is_that_without_sampling():
    event = RandomizedResponseSum(n=2_000, epsilon0=1.0)
    almost = dataclasses.replace(event, sampling_rate=1 - 1e-7)
    assert almost.epsilon(1e-6) == pytest.approx(event.epsilon(1e-6), rel=1e-3)


@settings(max_examples=20)
@given(st.integers(1, 5_000), st.floats(0.01, 8), st.floats(0, 0.95))
def test_delta_is_at_most_that_of_the_shuffled_reports_themselves(n, epsilon0, share):
    """The sum is a function of the shuffled bits, and FMT 2022 is proved for randomized response."""
    epsilon = share * epsilon0
    of_sum = RandomizedResponseSum(n=n, epsilon0=epsilon0).delta(epsilon)
    assert of_sum <= ShuffledRandomizedResponse(n=n, epsilon0=epsilon0).delta(epsilon) * (1 + 1e-6) + 1e-39


@pytest.mark.parametrize("epsilon0", [1e-3, 1.0, 20.0])
def test_flip_probability_is_that_of_the_devices_coin(epsilon0):
    with mp.workdps(DIGITS):
        exact = flip_probability(epsilon0)
        assert (
            abs(mp.mpf(RandomizedResponse(epsilon0).flip_probability) - exact)
            < mp.mpf(2) ** -64 + exact * 2**-52
        )
