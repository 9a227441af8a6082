"""Reports against tokens: the interval by fractions, the corners, and what noise allows for."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.accounting.interface import LARGEST_N
from panprivacy.accounting.rate_validation import FAILURE_PROBABILITY, Verdict, rate_check

FINE, FLAGGED, HELD = Verdict


def tails(n, p):
    """x → Pr[X < x] and Pr[X > x] for X ~ Bin(n, p), as fractions."""
    p = Fraction(p)
    masses = [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
    below, found = Fraction(0), []
    for mass in masses:
        found.append((below, 1 - below - mass))
        below += mass
    return found


@given(st.integers(1, 120), st.floats(1e-6, 1))
def test_interval_is_the_narrowest_that_is_missed_with_a_millionth_at_most(issued, rate):
    check = rate_check(issued=issued, accepted=0, rate=rate)
    exact, half = tails(issued, rate), FAILURE_PROBABILITY / 2
    slack = 1 + 1e-9
    assert exact[check.low][0] <= half * slack
    assert exact[check.high][1] <= half * slack
    if check.low < issued:
        assert exact[check.low + 1][0] > half / slack
    if check.high:
        assert exact[check.high - 1][1] > half / slack


@pytest.mark.parametrize(
    ("issued", "accepted", "rate", "verdict"),
    [
        (1_000, 100, 0.1, FINE),
        (1_000, 57, 0.1, FINE),
        (1_000, 56, 0.1, FLAGGED),
        (1_000, 149, 0.1, FINE),
        (1_000, 150, 0.1, FLAGGED),
        (1_000, 200, 0.1, FLAGGED),  # twice what is expected, and no more
        (1_000, 201, 0.1, HELD),
        (1_000, 1_001, 0.9, HELD),  # more than tokens, though not twice
        (1_000, 1_000, 1, FINE),
        (1_000, 999, 1, FLAGGED),
        (1_000, 1_001, 1, HELD),
        (0, 0, 0.5, FINE),
        (0, 1, 0.5, HELD),
        (1, 1, 1e-6, FINE),  # a millionth in all: half of it above would be less than this
        (1, 1, 4e-7, HELD),
        (10, 4, 0.1, FINE),  # four times what is expected, and not rare enough
        (LARGEST_N, LARGEST_N // 10, 0.1, FINE),
        (LARGEST_N, LARGEST_N // 10 + 2_000_000, 0.1, FLAGGED),
    ],
)
def test_verdict_in_the_corners(issued, accepted, rate, verdict):
    assert rate_check(issued=issued, accepted=accepted, rate=rate).verdict is verdict


def test_dummies_are_expected_and_nothing_is_found_wrong_with_them():
    rate = 0.01 + 0.99 * 0.05
    assert rate_check(issued=10_000, accepted=595, rate=0.01).verdict is HELD
    assert rate_check(issued=10_000, accepted=595, rate=rate).verdict is FINE
    assert rate_check(issued=10_000, accepted=100, rate=rate).verdict is FLAGGED


@pytest.mark.parametrize(("issued", "verdict"), [(10_000, FINE), (100, FINE), (99, HELD), (0, HELD)])
def test_of_a_full_batch_that_takes_no_more_only_too_few_tokens_are_seen(issued, verdict):
    """Beyond the hundredth report none is taken, however many devices have a token."""
    check = rate_check(issued=issued, accepted=100, rate=1, taken=100)
    assert check.verdict is verdict
    assert check.high <= 100
    assert rate_check(issued=10_000, accepted=99, rate=1, taken=100).verdict is FLAGGED


@given(st.integers(0, 200), st.floats(0.01, 1), st.fractions(Fraction(1, 10), 60))
def test_noise_in_the_count_is_allowed_for_with_half_of_the_failure(issued, rate, scale):
    noisy = rate_check(issued=issued, accepted=0, rate=rate, count_scale=scale)
    plain = rate_check(issued=issued, accepted=0, rate=rate)
    noise = noisy.high - plain.high  # the interval of the binomial alone is wider by a few at most
    decay = math.exp(-1 / float(scale))
    assert 2 * decay ** (noise + 1) / (1 + decay) <= FAILURE_PROBABILITY / 2 * (1 + 1e-9)
    assert noise <= float(scale) * math.log(4 / FAILURE_PROBABILITY) + 6
    assert rate_check(issued=issued, accepted=noisy.high, rate=rate, count_scale=scale).verdict is FINE
    # Somebody below 0 by noise is no fault.
    if noisy.low == 0:
        assert rate_check(issued=issued, accepted=-1, rate=rate, count_scale=scale).verdict is not HELD
    surely = max(issued, plain.high) + noise + 7
    assert rate_check(issued=issued, accepted=2 * surely, rate=rate, count_scale=scale).verdict is HELD


@pytest.mark.parametrize(("issued", "rate"), [(-1, 0.5), (LARGEST_N + 1, 0.5), (10, 0.0), (10, 1.1)])
def test_impossible_numbers_are_refused(issued, rate):
    with pytest.raises(ValueError, match="issued must lie in"):
        rate_check(issued=issued, accepted=1, rate=rate)


@pytest.mark.parametrize(
    ("accepted", "verdict"), [(40, FLAGGED), (100, FINE), (5_000, FINE), (5_300, FLAGGED)]
)
def test_rates_that_depend_on_data_allow_for_all_between_them(accepted, verdict):
    """10,000 tokens: 100 reports if all have the least rate of 0.01, 5,000 if all have the largest, 0.5."""
    check = rate_check(issued=10_000, accepted=accepted, rate=0.3, rates=(0.01, 0.5))
    assert check.verdict is verdict
    assert check.expected == 3_000
    assert check.low == rate_check(issued=10_000, accepted=1, rate=0.01).low
    assert check.high == rate_check(issued=10_000, accepted=1, rate=0.5).high
