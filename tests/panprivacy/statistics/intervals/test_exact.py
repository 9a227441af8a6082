"""Tails by Fourier sums against binomial tails and plain convolution; bounds against their definition."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.accounting import binomial
from panprivacy.statistics.intervals.exact import bounds, first, intervals, probability_at_most
from panprivacy.statistics.intervals.noisy_total import NoisyTotal
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits

probabilities = st.floats(1e-9, 1 - 1e-9)


def tails(family, hypothesis, observed):
    """Pr[X ≤ x] for several x under one hypothesis."""
    seen = np.asarray(observed, dtype=np.int64)
    return probability_at_most(family, np.full(seen.shape, hypothesis), seen)


@given(st.integers(1, 10**9), probabilities, st.floats(-9, 9))
@settings(max_examples=100)
def test_tails_of_one_binomial_are_those_of_the_beta_function(n, probability, deviations):
    observed = round(n * probability + deviations * math.sqrt(n * probability * (1 - probability)))
    observed = min(max(observed, -1), n)
    bits = RandomizedBits(reports=n, absent=probability, present=1.0)
    expected = binomial.lower_tail(observed, n, probability, 1 - probability)
    assert tails(bits, 0, [observed])[0] == pytest.approx(float(expected), abs=1e-9)


# SciPy's own probabilities overflow where the chance is next to the smallest number that there is.
rare = st.just(0.0) | st.floats(1e-12, 0.5)


@given(st.integers(1, 60), rare, st.floats(0.5, 1), st.floats(0.05, 1), st.data())
@settings(max_examples=settings.default.max_examples)
def test_tails_of_randomized_bits_are_those_of_the_convolution(n, absent, present, rate, data):
    """As many devices with a 1 as there are reports at most, so that the second binomial is one."""
    hypothesis = data.draw(st.integers(0, n))
    mixed = np.zeros(n + 1)
    for chosen in range(hypothesis + 1):
        ones = np.convolve(
            scipy.stats.binom.pmf(np.arange(chosen + 1), chosen, present),
            scipy.stats.binom.pmf(np.arange(n - chosen + 1), n - chosen, absent),
        )
        mixed += scipy.stats.binom.pmf(chosen, hypothesis, rate) * ones
    found = tails(RandomizedBits(n, absent, present, rate), hypothesis, range(-1, n + 2))
    assert found == pytest.approx([0, *np.cumsum(mixed), 1], abs=1e-10)


@given(st.integers(1, 100), st.floats(0.05, 2))
@settings(max_examples=settings.default.max_examples // 3)
def test_tails_of_added_noise_are_those_of_the_convolution(n, scale):
    reach = math.ceil(9 * scale) + 2
    x = np.arange(-reach, reach + 1)
    one = np.exp(-(x**2) / (2 * scale**2))
    size = 2 * reach * n + 1
    together = np.fft.irfft(np.fft.rfft(one / one.sum(), 2 * size) ** n, 2 * size)[:size]
    found = tails(NoisyTotal(n, 5, scale), 0, np.arange(size) - reach * n)
    assert found == pytest.approx(np.cumsum(together), abs=1e-9)


@given(st.integers(1, 40), st.floats(0.01, 0.49), st.sampled_from([0.05, 0.34]), st.data())
@settings(max_examples=settings.default.max_examples)
def test_bounds_enclose_the_hypotheses_that_no_tail_excludes(n, flip, failure_probability, data):
    observed = data.draw(st.integers(0, n))
    bits = RandomizedBits(n, flip, 1 - flip)
    low, high = bounds(bits, [observed], n, failure_probability)
    agreeing = [
        hypothesis
        for hypothesis in range(n + 1)
        if tails(bits, hypothesis, [observed])[0] > failure_probability / 2
        and 1 - tails(bits, hypothesis, [observed - 1])[0] > failure_probability / 2
    ]
    if agreeing:
        assert (low[0], high[0]) == (agreeing[0], agreeing[-1])
    else:
        assert low[0] == high[0] in (0, n)


def test_intervals_of_several_observations_share_the_failure_probability():
    bits = RandomizedBits(1_000, 0.25, 0.75)
    wide, narrow = intervals(bits, [500] * 7, 1_000, unit=0.5)
    low, high = bounds(bits, [500], 1_000, 0.05 / 7)
    assert (wide.level, narrow.level) == (0.95, 0.66)
    assert wide.low == (low[0] / 2,) * 7
    assert wide.high == (high[0] / 2,) * 7
    assert wide.low[0] < narrow.low[0] < narrow.high[0] < wide.high[0]
    mixed = intervals(bits, [700, 500, 300, 500, 500, 700, 500], 1_000, unit=0.5)[0]
    assert [mixed.low[at] for at in (1, 3, 4, 6)] == [low[0] / 2] * 4
    assert mixed.low[2] < mixed.low[1] < mixed.low[0] == mixed.low[5]
    part = intervals(bits, [300, 500], 1_000, unit=0.5, together=7)[0]
    assert (part.low, part.high) == (mixed.low[2:4], mixed.high[2:4])


def test_observation_that_no_hypothesis_allows_for_has_the_nearest_one():
    bits = RandomizedBits(10_000, 0.25, 0.75)
    low, high = bounds(bits, [2_000, 8_000], 10_000, 0.05)
    assert (low.tolist(), high.tolist()) == ([0, 10_000], [0, 10_000])


whole = st.integers(0, 10**9)


@given(st.lists(st.tuples(whole, whole, st.integers(-1, 10**9 + 1), whole), min_size=1, max_size=4))
def test_search_finds_the_first_wherever_it_begins(rows):
    ends, others, wanted, guess = (np.array(numbers, dtype=np.int64) for numbers in zip(*rows, strict=True))
    least, most = np.minimum(ends, others), np.maximum(ends, others)
    expected = np.clip(wanted, least, most + 1)

    def holds(tried):
        assert ((least <= tried) & (tried <= most)).all()
        return tried >= wanted

    assert first(holds, least, most).tolist() == expected.tolist()
    assert first(holds, least, most, guess).tolist() == expected.tolist()


def test_search_near_its_end_asks_little():
    asked = []

    def holds(tried):
        asked.append(tried)
        return tried >= 500_000_003

    assert first(holds, np.array([0]), np.array([10**9]), np.array([500_000_000])).tolist() == [500_000_003]
    assert len(asked) <= 6  # and 30 from the whole range
