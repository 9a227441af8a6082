"""Dummies that hide the number of reports, against sums by definition with 40 digits and with fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from panprivacy.accounting.hidden_count import (
    LARGEST_MEAN,
    dummies_delta,
    dummies_epsilon,
    dummy_senders,
    least_dummy_rate,
    least_poisson_mean,
    poisson_shift_delta,
)
from panprivacy.errors import FieldError


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
    return sum((max(Fraction(0), a - growth * b) for a, b in zip(one, other, strict=True)), Fraction(0))


@pytest.mark.parametrize(("epsilon", "mean"), [(1, 34.1), (0.5, 90.1), (0.1, 1_409)])
def test_least_mean_is_that_of_an_independent_computation(epsilon, mean):
    assert least_poisson_mean(epsilon, 1e-6) == pytest.approx(mean, rel=1e-3)


@settings(max_examples=30)
@given(st.floats(0.05, 20), st.floats(-12, -0.5))
def test_least_mean_keeps_delta_by_definition_and_nothing_less_does(epsilon, exponent):
    delta = 10.0**exponent
    mean = least_poisson_mean(epsilon, delta)
    assert by_definition(mean, epsilon) <= delta
    assert by_definition(mean * (1 - 1e-5), epsilon) > delta


@given(st.floats(0.01, 400), st.floats(0, 20))
def test_delta_is_that_of_the_definition_rounded_up(mean, epsilon):
    exact = by_definition(mean, epsilon)
    found = poisson_shift_delta(mean, epsilon)
    # The definition above leaves out probabilities below 1e-40.
    assert exact * (1 - 1e-12) <= found + 1e-38
    assert found <= exact * (1 + 1e-6) + 1e-38


def test_least_mean_at_the_ends_of_its_range_is_found_or_refused():
    # Where the smallest count alone gives δ away: exp(−mean) = δ.
    assert least_poisson_mean(20, 1e-30) == pytest.approx(-math.log(1e-30), rel=1e-6)
    assert least_poisson_mean(20, 0.1) == pytest.approx(-math.log(0.1), rel=1e-6)
    assert 1e8 < least_poisson_mean(1.2e-4, 1e-6) < LARGEST_MEAN
    for epsilon, delta, field in [
        (1e-6, 1e-6, "epsilon"),
        (0, 1e-6, "epsilon"),
        (1, 0, "delta"),
        (1, 1, "delta"),
    ]:
        with pytest.raises(FieldError) as refused:
            least_poisson_mean(epsilon, delta)
        assert refused.value.field == field


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


@settings(max_examples=8)
@given(st.integers(20_000, 10**9), st.floats(1e-4, 0.9), st.floats(0.4, 5), st.floats(-9, -2))
def test_least_rate_keeps_its_promise_and_a_lower_one_does_not(population, rate, epsilon, exponent):
    delta = 10.0**exponent
    dummy = least_dummy_rate(population, rate, epsilon, delta)
    tail = delta / 1_000
    assert dummies_delta(population, rate, dummy, epsilon, tail=tail) <= delta
    assert dummies_delta(population, rate, dummy * (1 - 1e-6), epsilon, tail=tail) > delta
    assert dummies_epsilon(population, rate, dummy, delta) <= epsilon * (1 + 1e-8)
    # Few of many is nearly Poisson.
    senders = dummy_senders(population, rate, tail)
    assert senders * dummy == pytest.approx(least_poisson_mean(epsilon, delta), rel=2 * dummy + 1e-3)


def test_half_of_the_devices_colluding_leaves_a_larger_epsilon_that_is_stated():
    dummy = least_dummy_rate(100_000, 0.01, 1.0, 1e-6)
    assert dummies_epsilon(100_000, 0.01, dummy, 1e-6) == pytest.approx(1, rel=1e-6)
    assert 1.5 < dummies_epsilon(50_000, 0.01, dummy, 1e-6) < 3


@pytest.mark.parametrize(("population", "rate"), [(1, 0.1), (20, 0.1), (10**6, 1.0)])
def test_least_rate_without_devices_that_could_send_dummies_is_refused(population, rate):
    with pytest.raises(FieldError) as refused:
        least_dummy_rate(population, rate, 1.0, 1e-6)
    assert refused.value.field == "population_size"
    assert dummies_epsilon(population, rate, 0.001, 1e-6) == math.inf


def test_rate_of_saa_section_4_6_as_printed_shows_the_exact_count():
    """q' = 1/(εk): without any dummy, which has probability exp(−1/ε), the count is exact."""
    population, rate = 1_000_000, 0.01
    printed = 1 / (1.0 * population)
    assert dummies_delta(population, rate, printed, 1.0) == pytest.approx(math.exp(-0.99), rel=1e-2)
    assert dummies_delta(population, 1e-6, printed, 1.0) == pytest.approx(math.exp(-1), rel=1e-3)
    assert poisson_shift_delta(1.0, 1.0) == pytest.approx(math.exp(-1), rel=1e-6)
    assert least_dummy_rate(population, rate, 1.0, 1e-6) > 34 * printed
