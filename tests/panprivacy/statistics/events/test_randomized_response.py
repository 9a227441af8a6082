import random
from fractions import Fraction

import pytest
from mpmath import mp

from panprivacy.statistics.events.randomized_response import RandomizedResponse
from tests.panprivacy.statistics.events.transparent import TransparentPublicKey
from tests.refusals import field_refused

EPSILONS = [1e-9, 0.01, 0.5, 1.0, 2.0, 7.3, 20.0]


class Scripted(random.Random):
    """Returns the given integers, and records how many bits each call asked for."""

    def __init__(self, *draws):
        super().__init__(0)
        self.draws, self.asked = list(draws), []

    def getrandbits(self, k):
        self.asked.append(k)
        return self.draws.pop(0) if self.draws else 0


def threshold(epsilon):
    """The number of coin sides, of 2^64, that randomize: found by tossing, by bisection."""
    response, low, high = RandomizedResponse(epsilon), 0, 2**64
    while low < high:
        middle = (low + high) // 2
        # With fair bit 0, a kept 1 stays 1.
        if response.respond(1, Scripted(middle, 0)) == 1:
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_coin_is_as_private_as_stated_and_no_more_than_the_rounding(epsilon):
    randomized = Fraction(threshold(epsilon), 2**64)
    with mp.workdps(60):
        randomized_exact = mp.mpf(randomized.numerator) / randomized.denominator
        effective = mp.log((2 - randomized_exact) / randomized_exact)
        assert effective <= epsilon
        assert epsilon - effective <= ((mp.exp(epsilon) + 1) / 2 + 1) / 2**64


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_probabilities_are_those_of_the_coin(epsilon):
    response, randomized = RandomizedResponse(epsilon), Fraction(threshold(epsilon), 2**64)
    assert response.flip_probability == pytest.approx(float(randomized / 2), rel=1e-15)
    assert response.keep_probability == pytest.approx(float(1 - randomized), rel=1e-15)


def test_debiased_sum_of_expected_responses_is_the_sum_of_bits():
    response = RandomizedResponse(0.7)
    p = Fraction(threshold(0.7), 2**65)
    for ones in (0, 3, 10):
        expected_responses = ones * (1 - p) + (10 - ones) * p
        assert response.debiased(float(expected_responses), 10) == pytest.approx(ones, abs=1e-13)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("place", [0, 2, 6, None])
def test_one_hot_responses_are_those_of_each_bit_drawn_at_once(epsilon, place):
    response, source = RandomizedResponse(epsilon), Scripted()
    coins = [0, threshold(epsilon) - 1, threshold(epsilon), 2**64 - 1, 7, 2**63, 0]
    fair = [1, 1, 1, 0, 0, 1, 0]
    source.draws = [sum((coin | fair[at] << 95) << 96 * at for at, coin in enumerate(coins))]
    assert response.respond_one_hot(7, place, source) == tuple(
        response.respond(int(at == place), Scripted(coins[at], fair[at])) for at in range(7)
    )
    assert source.asked == [96 * 7]


@pytest.mark.parametrize("coin", [0, 2**64 - 1])
@pytest.mark.parametrize("bit", [0, 1])
def test_toss_consumes_the_same_randomness_kept_or_replaced(coin, bit):
    source = Scripted(coin, 1)
    assert RandomizedResponse(1.0).respond(bit, source) == (bit if coin else 1)
    assert source.asked == [64, 1]
    encrypted = Scripted(5, coin, 1)
    public_key = TransparentPublicKey()
    ciphertext = public_key.encrypt(bit, encrypted, rerandomizations=6)
    response = RandomizedResponse(1.0).respond_encrypted(public_key, ciphertext, 7, encrypted)
    assert response.plaintext == (bit if coin else 1)
    assert response.history == (7, ())
    assert encrypted.asked == [64, 64, 1, 64]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf"), 1e-25])
def test_coin_for_an_epsilon_it_cannot_have_is_refused(epsilon):
    with field_refused("epsilon"):
        RandomizedResponse(epsilon)
