"""An auditor of joint views, (state, output): it must not reject the ε stated, and must reject a leak.

It counts how often the view falls into a set fixed beforehand, in independent runs of two neighbouring
streams. Clopper and Pearson's bounds, each wrong with probability FAILURE on its one side, give a lower bound
on ln(Pr[set | one]/Pr[set | other]) that is too high with probability at most 2·FAILURE = 1e-7: with that
probability, at most, a right claim is rejected. That a leak is caught is no luck either:
`probability_of_missing` computes it from the exact probabilities.
"""

import math

from scipy.stats import beta, binom

FAILURE = 5e-8


def lower_bound(likely, unlikely, runs):
    """Below ln of the ratio, but for a probability of 2·FAILURE; −∞ where nothing was seen."""
    if likely == 0:
        return -math.inf
    smallest = beta.ppf(FAILURE, likely, runs - likely + 1)
    largest = beta.isf(FAILURE, unlikely + 1, runs - unlikely)
    return math.log(smallest / largest)


def probability_of_missing(likely, unlikely, runs, epsilon):
    """A bound on the probability that `lower_bound` stays at ε or below, for these probabilities of the set.

    It grows with the one count and falls with the other; each stays on its side of a quantile but with
    probability 5e-7, and at both quantiles the leak is found.
    """
    low, high = int(binom.ppf(5e-7, runs, likely)), int(binom.isf(5e-7, runs, unlikely))
    return 1e-6 if lower_bound(low, high, runs) > epsilon else 1.0
