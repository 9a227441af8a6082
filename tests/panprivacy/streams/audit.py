"""An auditor of pan-privacy, who sees what an intruder sees and the result, for two adjacent streams.

It counts how often an event fixed beforehand happens in independent runs with either stream. Clopper &
Pearson's intervals for both probabilities, each with failure probability FAILURE on its one side, give a
lower bound on ε that is wrong with probability at most 2·FAILURE = 1e-7. So a right claim is rejected with
probability 1e-7 at most. That a wrong one is rejected is no luck either: `probability_of_acceptance` bounds
the probability that it is not, from the exact probabilities of the event.
"""

import math

from scipy.stats import beta, binom

FAILURE = 5e-8


def epsilon_shown(likely: int, unlikely: int, runs: int) -> float:
    """A lower bound on ε.

    Args:
        likely, unlikely: how often the event happened with the one and the other stream.
    """
    lower = beta.ppf(FAILURE, likely, runs - likely + 1) if likely else 0.0
    upper = beta.isf(FAILURE, unlikely + 1, runs - unlikely) if unlikely < runs else 1.0
    return math.log(lower / upper) if lower else -math.inf


def probability_of_acceptance(likely: float, unlikely: float, runs: int, epsilon: float) -> float:
    """A bound on the probability that `epsilon_shown` does not exceed `epsilon`.

    It grows with the one count and falls with the other; each stays on its side of a quantile but with
    probability 2.5e-7, and at both quantiles the claim is rejected. Else 1.

    Args:
        likely, unlikely: the event's exact probabilities.
    """
    low = int(binom.ppf(2.5e-7, runs, likely))
    high = int(binom.isf(2.5e-7, runs, unlikely))
    return 5e-7 if epsilon_shown(low, high, runs) > epsilon else 1.0
