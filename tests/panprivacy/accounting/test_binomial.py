"""Against 40 digits: every function within a quarter of the error that it states."""

import math

import numpy as np
import pytest
from mpmath import mp

from panprivacy.accounting import binomial


def exact(x, n, p):
    """Pr[X = x], Pr[X ≥ x] for x above the mean, with p as the double that it is."""
    with mp.workdps(40):
        p = mp.mpf(p)
        log_one = mp.loggamma(n + 1) - mp.loggamma(x + 1) - mp.loggamma(n - x + 1)
        one = mp.exp(log_one + x * mp.log(p) + (n - x) * mp.log(1 - p))
        term, total, k = mp.mpf(1), mp.mpf(1), x
        while term > total * mp.mpf(10) ** -30 and k < n:
            term *= mp.mpf(n - k) / (k + 1) * p / (1 - p)
            k += 1
            total += term
        return one, one * total


@pytest.mark.parametrize("n", [1, 7, 40, 10**5, pytest.param(10**7, marks=pytest.mark.long)])
@pytest.mark.parametrize("p", [0.5, 0.1171875, 2.0**-9])  # so that 1 − p is exact
@pytest.mark.parametrize("z", [0.1, 3.0, 11.0])
def test_probability_and_tails_agree_with_forty_digits(n, p, z):
    x = min(n, math.floor(n * p + z * math.sqrt(n * p * (1 - p))) + 1)
    one, tail = exact(x, n, p)
    allowed = float(binomial.relative_error(x, n, p)) / 4
    q = 1 - p
    assert allowed < 1e-9
    for found, wanted in [
        (binomial.probability(x, n, p, q), one),
        (binomial.upper_tail(x, n, p, q), tail),
        (binomial.probability(n - x, n, q, p), one),
        (binomial.lower_tail(n - x, n, q, p), tail),
    ]:
        assert abs(mp.mpf(float(found)) / wanted - 1) <= allowed


@pytest.mark.parametrize("p", [0.3, 0.5, 0.9])
def test_probability_of_all_outcomes_adds_up_to_one_and_is_none_outside(p):
    x = np.arange(-2, 23)
    found = binomial.probability(x, 20, p, 1 - p)
    assert found.sum() == pytest.approx(1, rel=1e-13)
    assert list(found[:2]) == [0, 0] == list(found[-2:])
    for k in x:
        assert binomial.upper_tail(k, 20, p, 1 - p) == pytest.approx(found[x >= k].sum(), rel=1e-12)
        assert binomial.lower_tail(k, 20, p, 1 - p) == pytest.approx(found[x <= k].sum(), rel=1e-12)
    # Without a trial it is 1 at 0.
    assert list(binomial.probability([0, 1], 0, 0.3, 0.7)) == [1, 0]
    assert list(binomial.upper_tail([0, 1], 0, 0.3, 0.7)) == [1, 0]


@pytest.mark.parametrize(("n", "p"), [(0, 0.5), (1, 0.5), (100, 0.01), (10**6, 0.3), (10**6, 1 - 1e-9)])
def test_window_leaves_out_no_more_than_the_mass_and_is_the_narrowest(n, p):
    low, high = binomial.window(n, p, 1 - p, 1e-12)
    assert 0 <= low <= high <= n
    assert binomial.lower_tail(low - 1, n, p, 1 - p) <= 1e-12
    assert binomial.upper_tail(high + 1, n, p, 1 - p) <= 1e-12
    mean = round(n * p)
    if low < mean:
        assert binomial.lower_tail(low, n, p, 1 - p) > 1e-12
    if high > mean:
        assert binomial.upper_tail(high, n, p, 1 - p) > 1e-12
