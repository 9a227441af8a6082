import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.statistics.shuffle.split_and_mix import LEAST_SHARES, log2_distance, shares_for, split


def ones_of_shares(bits, shares):
    """Exactly how many ways give each number of ones among the shares of users with these bits."""
    ways = np.array([1], dtype=object)
    for bit in bits:
        own = [math.comb(shares, ones) if ones % 2 == bit else 0 for ones in range(shares + 1)]
        ways = np.convolve(ways, np.array(own, dtype=object))
    return ways


def exact_distance(users, shares):
    """The largest distance of any bits from random bits of the same parity, in fractions."""
    distances = []
    by_odd = [ones_of_shares([1] * odd + [0] * (users - odd), shares) for odd in range(users + 1)]
    for parity in (0, 1):
        mixed = sum(math.comb(users, odd) * by_odd[odd] for odd in range(parity, users + 1, 2))
        for odd in range(parity, users + 1, 2):
            apart = sum(abs(x * 2 ** (users - 1) - y) for x, y in zip(by_odd[odd], mixed, strict=True))
            distances.append(Fraction(int(apart), 2 * 2 ** (users * (shares - 1) + users - 1)))
    return max(distances)


@pytest.mark.parametrize("users", [1, 2, 3, 4, 7, 9, 12])
@pytest.mark.parametrize("shares", [1, 2, 3, 4, 6, 9])
def test_log2_distance_bounds_the_exact_distance_closely(users, shares):
    exact, bound = float(exact_distance(users, shares)), 2 ** log2_distance(users, shares)
    assert exact <= bound
    if shares >= LEAST_SHARES:
        assert bound <= 2.5 * exact


@pytest.mark.parametrize("users", [9, 10, 11, 40])
def test_log2_distance_of_few_terms_is_close_to_the_whole_sum(users):
    for shares in (4, 5, 12):
        terms = [
            Fraction(math.comb(users, j) ** 2, math.comb(users * shares, j * shares)) for j in range(1, users)
        ]
        whole = math.log2(sum(terms) / 2) / 2 - 1
        assert whole <= log2_distance(users, shares) <= whole + 0.05


@pytest.mark.parametrize("shares", [4, 5, 10, 40])
def test_log2_distance_falls_with_users_and_with_shares(shares):
    distances = [log2_distance(users, shares) for users in (*range(2, 200), 1_000, 10**4, 10**9)]
    assert distances == sorted(distances, reverse=True)
    assert all(log2_distance(users, shares + 1) < log2_distance(users, shares) for users in (2, 100, 10**9))


@pytest.mark.parametrize("users", [2, 3, 100, 10**6])
@pytest.mark.parametrize("security", [1.0, 21.9, 80.0])
def test_shares_for_is_the_smallest_number_that_is_enough(users, security):
    shares = shares_for(users, security)
    assert log2_distance(users, shares) <= -security
    assert shares == LEAST_SHARES or log2_distance(users, shares - 1) > -security


def test_one_share_fewer_is_caught_by_the_exact_distance():
    # The power of the bound: with two shares fewer, the distance asked for is really exceeded.
    shares = shares_for(6, 12.0)
    assert exact_distance(6, shares) <= 2**-12 < exact_distance(6, shares - 2)


@pytest.mark.parametrize(("users", "shares"), [(0, 3), (2, 0)])
def test_log2_distance_of_nobody_is_refused(users, shares):
    with pytest.raises(ValueError, match="must be"):
        log2_distance(users, shares)
    with pytest.raises(ValueError, match="at least 2 users"):
        shares_for(1, 10.0)


@given(bit=st.integers(0, 1), shares=st.integers(1, 70), seed=st.integers(0, 2**32))
def test_split_shares_add_up_to_the_bit(bit, shares, seed):
    found = split(bit, shares, random.Random(seed))
    assert len(found) == shares
    assert set(found) <= {0, 1}
    assert sum(found) % 2 == bit


@pytest.mark.parametrize("bit", [0, 1])
def test_split_draws_every_sharing_equally_often(bit):
    class Counting(random.Random):
        def __init__(self, word):
            self.word = word

        def getrandbits(self, k):
            assert k == 4
            return self.word

    sharings = [tuple(split(bit, 4, Counting(word))) for word in range(16)]
    assert {sharings.count(sharing) for sharing in sharings} == {2}
    assert len(set(sharings)) == 8
