"""Exact random draws from integers only: a biased coin, and the Poisson distribution."""

import math
import random
from fractions import Fraction


def coin(probability: float, random_source: random.Random) -> int:
    """1 with exactly the probability that the floating-point number in 0..1 represents, otherwise 0.

    A floating-point number is a fraction with a power of two as its denominator. So the number of random bits
    drawn does not depend on the outcome.
    """
    numerator, denominator = probability.as_integer_ratio()
    return int(random_source.getrandbits(denominator.bit_length()) < 2 * numerator)


def poisson(mean: Fraction, random_source: random.Random) -> int:
    """One draw from the Poisson distribution of this mean ≥ 0.

    A sum of draws of mean at most 1/2. One of these is a geometric X, Pr[X = x] = 2^−(x+1), accepted with
    probability (2·mean)^x/x!, which leaves probabilities in the proportion of mean^x/x!. This is the von
    Neumann schema of Flajolet, Pelletier & Soria, *On Buffon Machines and Numbers* (2011), for the Poisson
    distribution; they draw X with the probability `mean` in place of 1/2. The running time depends on the
    numbers drawn and the mean, on nothing else.

    Raises:
        ValueError: the mean is negative.
    """
    if mean < 0:
        raise ValueError(f"mean must be at least 0, not {mean}")
    # A sum of independent Poisson draws is Poisson; each part has a mean of at most 1/2.
    parts = math.ceil(2 * mean)
    return sum(_poisson_of_at_most_half(mean / parts, random_source) for _ in range(parts))


def _poisson_of_at_most_half(mean: Fraction, random_source: random.Random) -> int:
    doubled = 2 * mean
    while True:
        # X: the number of heads before the first tail of a fair coin.
        count = 0
        while random_source.getrandbits(1):
            count += 1
        # Accept with probability Π (2·mean)/i over i = 1..X, else draw X anew.
        if all(
            random_source.randrange(doubled.denominator * i) < doubled.numerator for i in range(1, count + 1)
        ):
            return count
