"""An auditor who only sees sums: it may not reject the exact ε, and must reject one that is too small.

The auditor runs the released sum many times for each of two neighbouring data sets, with the devices'
own flip probability, and counts how often it falls in a set fixed beforehand. Clopper & Pearson's
intervals for both probabilities, each with failure probability FAILURE on its one side, give a lower bound
on δ at any ε that is wrong with probability at most 2·FAILURE = 1e-7. So a right claim is rejected with
probability 1e-7 at most; that a wrong one is rejected is no luck either: each case computes the
probability that it is not, from the exact probabilities, and asserts that it is below 1e-6.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import beta, binom

from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.statistics.events.randomized_response import RandomizedResponse

pytestmark = pytest.mark.statistical

FAILURE = 5e-8
MANY, MOST = 1_000_000, 10_000_000
"""Repetitions: as few as find an ε that is 5% or 10% too small here; the tests compute which."""


@functools.cache
def probabilities_of_sums(n, epsilon0, ones):
    """Of every sum, with so many ones among all n bits."""
    flip = RandomizedResponse(epsilon0).flip_probability
    of_ones = binom.pmf(np.arange(ones + 1), ones, 1 - flip)
    return np.convolve(of_ones, binom.pmf(np.arange(n - ones + 1), n - ones, flip))


@dataclass(frozen=True)
class Audit:
    """n devices, `ones` of the others with bit 1; the set is {sum ≥ threshold}, likelier with 1."""

    n: int
    epsilon0: float
    ones: int
    threshold: int
    repetitions: int = MANY

    def sums(self, bit, source):
        """So many sums of n randomized bits: binomial, as equal bits are exchangeable."""
        flip = RandomizedResponse(self.epsilon0).flip_probability
        ones, zeros = self.ones + bit, self.n - self.ones - bit
        runs = self.repetitions
        return source.binomial(ones, 1 - flip, runs) + source.binomial(zeros, flip, runs)

    def lower_bound(self, epsilon, source):
        """Below δ at ε, but for a probability of 2·FAILURE."""
        likely, unlikely = (int((self.sums(bit, source) >= self.threshold).sum()) for bit in (1, 0))
        return bound(likely, unlikely, epsilon, self.repetitions)

    def probabilities(self):
        """Pr[the set] for bit 1 and bit 0, from SciPy's binomials and a plain convolution."""
        return [
            float(probabilities_of_sums(self.n, self.epsilon0, self.ones + bit)[self.threshold :].sum())
            for bit in (1, 0)
        ]

    def probability_of_acceptance(self, epsilon, delta):
        """A bound on the probability that the auditor does not reject the claim (ε, δ).

        The bound grows with the one count and falls with the other; each stays on its side of a quantile
        but with probability 2.5e-7, and at both quantiles the claim is rejected.
        """
        likely, unlikely = self.probabilities()
        low = int(binom.ppf(2.5e-7, self.repetitions, likely))
        high = int(binom.isf(2.5e-7, self.repetitions, unlikely))
        return 5e-7 if bound(low, high, epsilon, self.repetitions) > delta else 1.0


def bound(likely, unlikely, epsilon, repetitions):
    """Clopper & Pearson's lower bound for the one probability and upper bound for the other."""
    lower = beta.ppf(FAILURE, likely, repetitions - likely + 1) if likely else 0.0
    upper = beta.isf(FAILURE, unlikely + 1, repetitions - unlikely)
    return lower - math.exp(epsilon) * upper


def best_audit(n, epsilon0, epsilon, repetitions):
    """The assignment and the threshold with the largest δ at ε, by trying all."""
    audits = [Audit(n, epsilon0, ones, t, repetitions) for ones in range(n) for t in range(n + 1)]

    def excess(audit):
        likely, unlikely = audit.probabilities()
        return likely - math.exp(epsilon) * unlikely

    return max(audits, key=excess)


CASES = [(20, 2.0, 1e-2), (30, 2.0, 3e-3), (60, 3.0, 1e-2)]


@pytest.mark.parametrize(("n", "epsilon0", "delta"), CASES)
def test_audit_of_the_exact_epsilon_does_not_reject_it(n, epsilon0, delta):
    epsilon = RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta)
    audit = best_audit(n, epsilon0, epsilon, MANY)
    likely, unlikely = audit.probabilities()
    assert likely - math.exp(epsilon) * unlikely == pytest.approx(delta, rel=1e-6)  # nobody audits harder
    assert audit.lower_bound(epsilon, np.random.default_rng(n)) <= delta


@pytest.mark.parametrize(("n", "epsilon0", "delta", "share", "repetitions"), [
    (*CASES[0], 0.9, MANY),
    (*CASES[2], 0.9, MANY),
    pytest.param(*CASES[1], 0.95, MOST, marks=pytest.mark.long),
])  # fmt: skip
def test_audit_of_an_epsilon_a_tenth_or_a_twentieth_too_small_rejects_it(
    n, epsilon0, delta, share, repetitions
):
    epsilon = share * RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta)
    audit = best_audit(n, epsilon0, epsilon, repetitions)
    assert audit.probability_of_acceptance(epsilon, delta) <= 1e-6
    assert audit.lower_bound(epsilon, np.random.default_rng(n)) > delta
