"""Dummies that hide the number of reports, against sums by definition with 40 digits and with fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from panprivacy.accounting.hidden_count import (
    dummies_delta,
    dummies_epsilon,
    dummy_senders,
    least_dummy_rate,
)
from tests.refusals import field_refused


def by_definition(mean, epsilon):
    """max over both directions of Σ max(0, P(x) − e^ε·Q(x)), for Pois(mean) and the same plus 1."""
    with mp.workdps(40):
        growth, spread = mp.exp(mp.mpf(epsilon)), 14 * math.sqrt(mean) + 60
        start = max(0, math.floor(mean - spread))
        term = mp.exp(start * mp.log(mp.mpf(mean)) - mp.mpf(mean) - mp.loggamma(start + 1))
        before, added, removed = mp.mpf(0), mp.mpf(0), mp.mpf(0)
        for x in range(start, math.ceil(mean + spread)):
            added += max(mp.mpf(0), before - growth * term)
            removed += max(mp.mpf(0), term - growth * before)
            before, term = term, term * mp.mpf(mean) / (x + 1)
        return float(max(added, removed))


def binomial(n, p):
    return [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]


def divergence(one, other, epsilon):
    growth = Fraction(math.exp(epsilon))
    return sum(max(Fraction(0), a - growth * b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("epsilon", "mean"), [(1, 34.1), (0.5, 90.1), (0.1, 1_409)])
def test_means_of_poisson_dummies_in_the_errata_are_the_least(epsilon, mean):
    assert by_definition(mean * 1.001, epsilon) <= 1e-6 < by_definition(mean * 0.999, epsilon)


@given(st.integers(2, 14), st.integers(0, 3), st.floats(0.05, 0.9), st.floats(0.05, 0.5), st.floats(0.05, 3))
def test_delta_of_dummies_bounds_every_population_of_that_size_or_more(size, more, rate, dummy, epsilon):
    """By definition: over what takes part of the others, which is known, then the worse neighbour."""
    q, p = Fraction(rate), Fraction(dummy)
    others, exact = size - 1 + more, Fraction(0)
    for taking_part, probability in enumerate(binomial(others, q)):
        dummies = [*binomial(others - taking_part, p), Fraction(0)]
        shifted = [Fraction(0), *dummies[:-1]]
        # The protected device takes part, or it does not and may send a dummy.
        absent = [(1 - p) * a + p * b for a, b in zip(dummies, shifted, strict=True)]
        pairs = [(dummies, shifted), (shifted, dummies), (absent, shifted), (shifted, absent)]
        worst = [divergence(one, other, epsilon) for one, other in pairs]
        assert max(worst[2:]) <= max(worst[:2])
        exact += probability * max(worst)
    for tail in (1e-9, 1e-3, 0.3):
        assert exact <= dummies_delta(size, rate, dummy, epsilon, tail=tail) * (1 + 1e-12)


@settings(max_examples=settings.default.max_examples // 6)
@given(st.integers(20_000, 10**9), st.floats(1e-4, 0.9), st.floats(0.4, 5), st.floats(-9, -2))
def test_least_rate_keeps_its_promise_and_a_lower_one_does_not(population, rate, epsilon, exponent):
    delta = 10.0**exponent
    dummy = least_dummy_rate(population, rate, epsilon, delta)
    tail = delta / 1_000
    assert dummies_delta(population, rate, dummy, epsilon, tail=tail) <= delta
    assert dummies_delta(population, rate, dummy * (1 - 1e-6), epsilon, tail=tail) > delta
    assert dummies_epsilon(population, rate, dummy, delta) <= epsilon * (1 + 1e-8)
    # Few of many is nearly Poisson.
    mean, near = dummy_senders(population, rate, tail) * dummy, 2 * dummy + 1e-3
    assert by_definition(mean * (1 + near), epsilon) <= delta < by_definition(mean * (1 - near), epsilon)


def test_half_of_the_devices_colluding_leaves_a_larger_epsilon():
    dummy = least_dummy_rate(100_000, 0.01, 1.0, 1e-6)
    assert dummies_epsilon(100_000, 0.01, dummy, 1e-6) == pytest.approx(1, rel=1e-6)
    assert 1.5 < dummies_epsilon(50_000, 0.01, dummy, 1e-6) < 3


@pytest.mark.parametrize(("population", "rate"), [(1, 0.1), (20, 0.1), (10**6, 1.0)])
def test_least_rate_without_devices_that_could_send_dummies_is_refused(population, rate):
    with field_refused("population_size"):
        least_dummy_rate(population, rate, 1.0, 1e-6)
    assert dummies_epsilon(population, rate, 0.001, 1e-6) == math.inf


def test_rate_of_saa_section_4_6_as_printed_shows_the_exact_count():
    """q' = 1/(εk): without any dummy, which has probability exp(−1/ε), the count is exact."""
    population, rate = 1_000_000, 0.01
    printed = 1 / (1.0 * population)
    assert dummies_delta(population, rate, printed, 1.0) == pytest.approx(math.exp(-0.99), rel=1e-2)
    assert dummies_delta(population, 1e-6, printed, 1.0) == pytest.approx(math.exp(-1), rel=1e-3)
    assert by_definition(1.0, 1.0) == pytest.approx(math.exp(-1), rel=1e-6)
    assert least_dummy_rate(population, rate, 1.0, 1e-6) > 34 * printed
