"""What the number of odd places shows: how many places are touched, or how likely a place is to be odd.

A place is odd with probability ½ if it is touched, and with a smaller one if it is empty. Both
functions return the answers that agree with the observed number: any other would give that number of odd
places, or a more extreme one, with half of a failure probability at most. So the truth is left out with no
more than this probability, whatever it is.
"""

import math

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy

from panprivacy.intervals.exact import bounds
from panprivacy.intervals.randomized_bits import RandomizedBits


def touched_places(
    odd: int, places: int, empty: float, most: int, failure_probability: float
) -> tuple[int, int]:
    """The fewest and the most touched places, from 1 to `most`, that agree with this number of odd ones.

    By exact tails of the sum of two binomial counts, which grows with the number of touched places.

    Args:
        empty: the probability with which an empty place is odd, from 0 to ½.
        most: from 1 to `places`.
    """
    (fewest,), (largest,) = bounds(RandomizedBits(places, empty, 0.5), [odd], most, failure_probability)
    return max(1, int(fewest)), max(1, int(largest))


def odd_probability(odd: int, places: int, failure_probability: float) -> tuple[float, float]:
    """The lowest and the highest mean probability of being odd that agrees with this number of odd places.

    By Chernoff's bound for binomial counts. The bound also holds for every count whose moment generating
    function is at most as large, such as one over independent places of different probabilities (Hoeffding
    1963).
    """
    allowed = math.log(2 / failure_probability) / places
    return _lowest(odd / places, allowed), 1 - _lowest(1 - odd / places, allowed)


def _lowest(share: float, allowed: float) -> float:
    """The lowest probability from which a share diverges by at most `allowed`."""
    if share <= 0:
        return 0.0

    def excess(probability: float) -> float:
        first = scipy.special.rel_entr(share, probability)
        second = scipy.special.rel_entr(1 - share, 1 - probability)
        return float(first + second) - allowed

    # One odd place of a probability of 1e-300 is rarer than any failure probability that is asked for.
    return float(scipy.optimize.brentq(excess, 1e-300, share, xtol=1e-300, rtol=1e-12))
