import random
from fractions import Fraction

import pytest
from scipy.stats import binom
from scipy.stats import poisson as poisson_distribution

from panprivacy.statistics.shuffle.coins import coin, poisson

FAILURE = 1e-7


class Bits(random.Random):
    """Gives one word, and says how many bits were asked for."""

    def __init__(self, word):
        self.word, self.asked = word, 0

    def getrandbits(self, k):
        self.asked = k
        return self.word


@pytest.mark.parametrize("probability", [0.5, 0.25, 2 / 9, 1e-18, 5e-324, 0.0, 1.0])
def test_coin_has_exactly_the_probability_of_the_float(probability):
    # It is 1 for the words below a limit, which is this part of all words.
    counting = Bits(0)
    coin(probability, counting)
    limit = Fraction(probability) * 2**counting.asked
    assert limit.denominator == 1
    assert coin(probability, Bits(int(limit))) == 0 or probability == 1
    assert probability == 0 or coin(probability, Bits(int(limit) - 1)) == 1


@pytest.mark.statistical
@pytest.mark.parametrize("mean", [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(7, 3)])
def test_poisson_values_have_exactly_their_probabilities(mean):
    # 12 exact two-sided comparisons at FAILURE/12 each: fails with probability at most FAILURE.
    source, draws = random.Random(str(mean)), 20_000
    found = [poisson(mean, source) for _ in range(draws)]
    for value in range(12):
        probability = poisson_distribution.pmf(value, float(mean))
        count = found.count(value)
        tail = min(binom.cdf(count, draws, probability), binom.sf(count - 1, draws, probability))
        assert 2 * tail > FAILURE / 12


def test_poisson_of_a_negative_mean_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        poisson(Fraction(-1, 2), random.Random(1))
