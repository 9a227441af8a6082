"""The noisy number of valid reports, which is published: the exact number reveals whether single reports were
valid.

Two servers reject a report that is invalid, and an attacker that copied a device's state can make reports
whose validity reveals its content. One server replaces invalid reports, which needs their plaintexts; two
servers see none, and publish their number with noise instead. The estimate is computed from that number: one
from the exact number would give it away.

The noise is discrete Laplace of scale √B/2 for a cohort of B, so that the published number is
ε = 2/√B differentially private in the validity of one report. Thus it takes some √B reports to read anything
from it, as many as from the sum itself, whose randomized responses have a standard deviation of at most √B/2.

Whether there is a result at all is decided by noise, too. It takes a margin of 0 to 2t valid reports beyond
the cohort size: t plus discrete Laplace noise of scale √B/8, held within −t..t. Never below, since the
guarantees are those of a cohort of B. The decision is (ε, δ)-differentially private in the validity of one
report, with ε = 8/√B and δ = 1e-6. Above 0 and below 2t the noise gives e^ε, and it reaches either end with
at most δ.
"""

import math
import random
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial, discrete_laplace

LARGEST_EXCEEDED = 2**-40
"""With which the noise may exceed what a server takes for possible."""

MARGIN_DELTA = 1e-6
"""δ of the decision whether there is a result."""


def scale(cohort_size: int) -> Fraction:
    """The noise's scale √B/2, in reports, for the cohort size B ≥ 1."""
    return Fraction(math.sqrt(cohort_size)) / 2


def epsilon(cohort_size: int) -> float:
    """ε = 2/√B of the published number, when one report becomes valid or invalid."""
    return 1 / float(scale(cohort_size))


def draw(cohort_size: int, random_source: random.Random) -> int:
    """What is added to the number of valid reports when it is shown; drawn once for a recipe."""
    return discrete_laplace.sample(scale(cohort_size), random_source)


def largest(cohort_size: int) -> int:
    """The least t that the noise exceeds in absolute value with a probability of at most 2^-40.

    Beyond t it lies with 2·q^(t + 1)/(1 + q) for q = exp(−1/scale).
    """
    own = float(scale(cohort_size))
    return math.ceil(own * (math.log(2 / LARGEST_EXCEEDED) - math.log1p(math.exp(-1 / own)))) - 1


def margin_epsilon(cohort_size: int) -> float:
    """ε = 8/√B of the decision whether there is a result, when one report becomes valid or invalid."""
    return 1 / float(_margin_scale(cohort_size))


def usual_margin(cohort_size: int) -> int:
    """t: valid reports that are needed beyond the cohort size in the middle; never more than 2t. The least t
    whose noise is below −t + 1 with at most `MARGIN_DELTA`: exp(−tε)/(1 + exp(−ε))."""
    epsilon = margin_epsilon(cohort_size)
    return math.ceil(-math.log(MARGIN_DELTA * (1 + math.exp(-epsilon))) / epsilon)


def draw_margin(cohort_size: int, random_source: random.Random) -> int:
    """Valid reports beyond the cohort size without which there is no result; drawn once for a recipe."""
    usual = usual_margin(cohort_size)
    noise = discrete_laplace.sample(_margin_scale(cohort_size), random_source)
    return usual + min(max(noise, -usual), usual)


def margin_probabilities(cohort_size: int) -> NDArray[np.float64]:
    """Pr[margin = m] for m = 0..2t, with t = `usual_margin`."""
    usual, rate = usual_margin(cohort_size), margin_epsilon(cohort_size)
    distances = np.abs(np.arange(-usual, usual + 1))
    # An inner value has (1 − q)/(1 + q)·q^|x| for q = exp(−rate); an end has all that lies beyond it too.
    found = -math.expm1(-rate) * np.exp(-rate * distances) / (1 + math.exp(-rate))
    found[[0, -1]] = math.exp(-rate * usual) / (1 + math.exp(-rate))
    return np.asarray(found)


def release_probability(cohort_size: int, population_size: int, reporting_rate: float) -> float:
    """The probability that there is a result: Pr[Bin(N, r) ≥ cohort_size + margin].

    Exact except for rounding: the average over the margin's law. The number of terms grows with √cohort_size.

    Args:
        cohort_size: at least 1.
        population_size: N ≥ 0 devices, each sends a valid report by its own coin.
        reporting_rate: r, from 0 to 1.
    """
    at_most = np.cumsum(margin_probabilities(cohort_size))[:-1]
    surely = cohort_size + len(at_most)
    law = population_size, reporting_rate, 1 - reporting_rate
    # By parts, because one term of a binomial costs far less than one tail: with fewer reports than certainly
    # suffice, the margin must be at most what they are beyond the cohort size.
    perhaps = binomial.probability(np.arange(cohort_size, surely), *law)
    return min(1.0, float(binomial.upper_tail(surely, *law) + np.dot(perhaps, at_most)))


def _margin_scale(cohort_size: int) -> Fraction:
    return scale(cohort_size) / 4
