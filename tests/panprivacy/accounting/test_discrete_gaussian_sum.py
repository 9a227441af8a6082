"""Second methods: direct convolution with mpmath, plain sums, one large FFT, and inversion."""

import math
from functools import cache

import numpy as np
import pytest
from mpmath import mp
from scipy.optimize import brentq
from scipy.stats import norm

from panprivacy.accounting.discrete_gaussian_sum import (
    DiscreteGaussianSum,
    _NarrowSum,
    delta_of,
    epsilon_of,
    smallest_scale,
    variance,
)
from tests.panprivacy.accounting.by_definition import hockey_stick
from tests.panprivacy.accounting.contract import CohortContract


@cache
def convolved(n, scale, scales=11):
    """Probabilities of the sum by direct convolution with 60 digits: {value: probability}."""
    with mp.workdps(60):
        # At 11 scales a weight is below 1e-26, far under what a δ of 1e-15 can notice.
        reach = math.ceil(scales * scale) + 1
        weights = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(scale) ** 2)) for x in range(-reach, reach + 1)}
        total = sum(weights.values())
        one = {x: weight / total for x, weight in weights.items()}
        found = one
        for _ in range(n - 1):
            larger = {}
            for x, p in found.items():
                for y, q in one.items():
                    larger[x + y] = larger.get(x + y, 0) + p * q
            found = larger
        return found


def by_definition(probabilities, shift, epsilon):
    return hockey_stick(probabilities, {x + shift: p for x, p in probabilities.items()}, epsilon)


@pytest.mark.parametrize(("n", "scale"), [
    (1, 0.2), (1, 1.0), (1, 3.3), (2, 0.2), (2, 0.5), (2, 1.9), (2, 2.5), (3, 0.3), (5, 0.7), (8, 0.45),
])  # fmt: skip
@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 4.0])
def test_delta_of_few_summands_bounds_direct_convolution_tightly(n, scale, shift, epsilon):
    with mp.workdps(50):
        exact = by_definition(convolved(n, scale), shift, epsilon)
        found = mp.mpf(delta_of(n, scale, shift, epsilon))
        if exact < mp.mpf("1e-15"):  # where the truncation of the convolution would show
            assert found < mp.mpf("1.1e-15")
            return
        assert exact <= found <= exact * (1 + mp.mpf("1e-6"))


@pytest.mark.parametrize("shift", [1, 2])
@pytest.mark.parametrize("epsilon", [14.0, 40.0])
def test_delta_of_a_tail_far_down_keeps_its_relative_accuracy(shift, epsilon):
    with mp.workdps(60):
        exact = by_definition(convolved(2, 0.6, 100), shift, epsilon)
        assert exact <= delta_of(2, 0.6, shift, epsilon) <= exact * (1 + mp.mpf("1e-6"))
        assert exact < mp.mpf("1e-6")


def test_delta_of_a_threshold_too_far_out_to_search_is_an_upper_bound(monkeypatch):
    inverted = []
    invert = _NarrowSum._invert
    monkeypatch.setattr(_NarrowSum, "_invert", lambda noise, a: inverted.append(a) or invert(noise, a))
    # The loss passes ε some 10,000 standard deviations out.
    assert delta_of(10**6, 0.5, 1, 20.0) == 1e-300
    assert len(inverted) < 20
    # S is sub-Gaussian: Pr[S ≥ a] ≤ exp(−a²/(2ns²)), and a is εns² or more by the variance that S has.
    assert max(inverted) ** 2 / (2 * 10**6 * 0.5**2) < 1000 < (20 * 0.24 * 10**6) ** 2 / (2 * 10**6 * 0.5**2)


@pytest.mark.parametrize(("scale", "a"), [(0.3, 40), (1.0, 1_000), (1.9, 500_000), (1.0, 1_000_001)])
def test_point_far_out_is_that_of_all_ways_to_reach_it(scale, a):
    """Three summands: the ways to reach a + j by terms near a/3; what is left out is below e^-80."""
    n, reach = 3, 13 * math.ceil(scale) + 3
    with mp.workdps(60):
        centre = a // n
        weights = {
            x: mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(scale) ** 2))
            for x in range(centre - 2 * reach, centre + 2 * reach)
        }
        near = range(centre - reach, centre + reach)
        total = mp.jtheta(3, 0, mp.exp(-1 / (2 * mp.mpf(scale) ** 2))) ** n

        def probability(at):
            ways = (weights[x] * weights[y] * weights.get(at - x - y, 0) for x in near for y in near)
            return mp.fsum(ways) / total

        exact, tail = probability(a), mp.mpf(0)
        for j in range(40):
            further = probability(a + j)
            tail += further
            if further < tail * mp.mpf("1e-20"):
                break
        point = _NarrowSum(n, scale)._point(a)
        assert abs(mp.expm1(mp.mpf(point.log_probability) - mp.log(exact))) <= point.relative_error
        assert abs(mp.expm1(mp.mpf(point.log_tail) - mp.log(tail))) <= point.relative_error


@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (3, 0.05), (10, 1.9), (10_000, 1.0)])
def test_epsilon_of_a_range_far_beyond_the_noise_takes_no_long_sums(monkeypatch, n, scale):
    lengths = []
    characteristic = _NarrowSum._characteristic

    def counted(noise, x, weights, length):
        lengths.append(length)
        return characteristic(noise, x, weights, length)

    monkeypatch.setattr(_NarrowSum, "_characteristic", counted)
    found = epsilon_of(n, scale, 1_000_000, 1e-6)
    # The loss in the middle, where a sum of Gaussians has it; lattice and tail move it by little.
    assert found == pytest.approx(1e12 / (2 * n * scale**2), rel=0.2)
    assert max(lengths) <= max(64, 100 * math.sqrt(n * scale**2))


def convolved_in_integers(n, scale, reach, bits=260):
    """Probabilities of the sum on −reach..reach in units of 2^−bits: polynomials multiplied as integers."""
    with mp.workdps(100):
        support = range(-reach, reach + 1)
        weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(scale) ** 2)) for x in support]
        total = sum(weights)
        one = [int(weight / total * 2**bits) for weight in weights]

    width = (2 * bits + 16) // 8

    def product(first, second):
        packed = [
            int.from_bytes(b"".join(c.to_bytes(width, "little") for c in p), "little")
            for p in (first, second)
        ]
        unpacked = (packed[0] * packed[1]).to_bytes(width * (4 * reach + 2), "little")
        middle = range(reach, 3 * reach + 1)
        return [int.from_bytes(unpacked[width * i : width * (i + 1)], "little") >> bits for i in middle]

    found = one
    for digit in f"{n:b}"[1:]:
        found = product(found, found)
        if digit == "1":
            found = product(found, one)
    return found


def test_delta_of_many_summands_agrees_with_their_convolution_in_integers():
    n, scale, shift, reach = 10_000, 0.47383, 10, 700  # 14 standard deviations
    p = convolved_in_integers(n, scale, reach)
    for epsilon in (0.0, 0.5, 1.0, 1.8):
        with mp.workdps(60):
            factor = int(mp.exp(epsilon) * 2**64)
            excess = sum(max(0, p[i] - (factor * p[i + shift] >> 64)) for i in range(len(p) - shift))
            exact = mp.mpf(excess) / mp.mpf(2) ** 260
            found = delta_of(n, scale, shift, epsilon)
            assert exact <= found <= exact * (1 + mp.mpf("1e-6"))
    assert exact < mp.mpf("1.1e-15")


@pytest.mark.parametrize(
    ("sigma", "shift", "epsilon"), [(2500.0, 10, 0.02), (5000.0, 1000, 1.0), (30_000.0, 1000, 0.0)]
)
def test_delta_of_a_wide_gaussian_agrees_with_the_plain_sum(sigma, shift, epsilon):
    x = np.arange(-12 * int(sigma), 12 * int(sigma) + shift)
    p = np.exp(-(x**2) / (2 * sigma**2))
    total = p.sum()
    q = np.exp(-((x - shift) ** 2) / (2 * sigma**2))
    plain = np.maximum(0, p - math.exp(epsilon) * q).sum() / total
    assert delta_of(1, sigma, shift, epsilon) == pytest.approx(plain, rel=1e-7)


@pytest.mark.parametrize("n", [2, 100, 10**6])
def test_delta_of_is_continuous_where_the_method_changes(n):
    below, above = delta_of(n, 2 * (1 - 1e-12), 7, 0.01), delta_of(n, 2.0, 7, 0.01)
    assert below == pytest.approx(above, rel=2e-6)


def test_continuous_rule_under_noises_a_large_cohort():
    def continuous_delta(sigma):
        return norm.cdf(5 / sigma - sigma / 10) - math.e * norm.cdf(-5 / sigma - sigma / 10)

    sigma = brentq(lambda s: continuous_delta(s) - 1e-6, 10, 100)
    # Divided among 10,000 devices the continuous rule asks for less, and gives 10 times the promised δ.
    per_device = sigma / 100
    assert per_device < smallest_scale(10_000, 10, 1.0, 1e-6)
    assert delta_of(10_000, per_device, 10, 1.0) > 1e-5
    # Where the noise of one device is already wide, the two rules agree.
    assert smallest_scale(1, 10, 1.0, 1e-6) == pytest.approx(sigma, rel=1e-3)


SETTINGS = [
    (1, 1, 0.5, 1e-6), (1, 1000, 1.0, 1e-6), (1, 1, 20.0, 1e-6), (2, 1, 20.0, 1e-6), (1, 1, 5.0, 1e-15),
    (3, 2, 10.0, 1e-9), (10_000, 10, 1.0, 1e-6), (10**6, 1000, 1.0, 1e-15), (10**6, 1, 0.1, 1e-10),
    (10**9, 10, 1.0, 1e-12),
]  # fmt: skip


@pytest.mark.parametrize(("n", "value_range", "epsilon", "delta"), SETTINGS)
def test_smallest_scale_and_larger_ones_suffice_and_less_does_not(n, value_range, epsilon, delta):
    scale = smallest_scale(n, value_range, epsilon, delta)
    for factor in np.geomspace(1, 4, 20):
        assert delta_of(n, scale * factor, value_range, epsilon) <= delta
    assert delta_of(n, scale * (1 - 1e-5), value_range, epsilon) > delta
    found = epsilon_of(n, scale, value_range, delta)
    assert found == pytest.approx(epsilon, rel=1e-4)
    assert (
        delta_of(n, scale, value_range, found) <= delta < delta_of(n, scale, value_range, found * (1 - 1e-4))
    )


def test_smallest_scale_is_not_deceived_by_a_lucky_smaller_one():
    lucky = 0.16
    assert delta_of(1, lucky, 1, 20.0) <= 1e-6 < delta_of(1, 0.2, 1, 20.0)
    assert smallest_scale(1, 1, 20.0, 1e-6) > 0.2


def test_epsilon_of_too_little_noise_is_finite_and_of_enough_zero():
    # Two devices, counts 1,000 apart: the ratio of exp(−0) to two times exp(−500²/(2s²)).
    assert epsilon_of(2, 0.05, 1000, 1e-6) == pytest.approx(500**2 / 0.05**2, rel=1e-3)
    assert epsilon_of(1, 0.47383, 10, 1e-6) > 200
    assert epsilon_of(1, 1000.0, 1, 0.01) == 0.0


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.47383, 1.0, 4.0, 9.99, 10.01, 300.0])
def test_variance_is_that_of_the_probabilities(scale):
    with mp.workdps(60):
        weights = [
            mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(scale) ** 2)) for x in range(1, math.ceil(30 * scale) + 2)
        ]
        exact = 2 * sum(x**2 * w for x, w in enumerate(weights, 1)) / (1 + 2 * sum(weights))
        assert variance(scale) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("function", "arguments"), [
    (delta_of, (0, 1.0, 1, 1.0)), (delta_of, (1, 0.0, 1, 1.0)), (delta_of, (1, 1.0, 0, 1.0)),
    (delta_of, (1, 1.0, 1, -0.1)), (delta_of, (1, math.nan, 1, 1.0)), (epsilon_of, (1, 1.0, 1, 0.0)),
    (smallest_scale, (1, 1, 1.0, 1.0)), (smallest_scale, (1, 1, 1e-12, 0.1)), (variance, (-1.0,)),
])  # fmt: skip
def test_arguments_out_of_range_are_refused(function, arguments):
    with pytest.raises(ValueError, match="must"):
        function(*arguments)


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return DiscreteGaussianSum(n=1_000, scale=1.0, value_range=3)
