"""An auditor who only sees sums: it may not reject the exact ε, and must reject one that is too small.

The auditor runs the released sum REPETITIONS times for each of two neighbouring data sets, with the devices'
own flip probability, and counts how often it falls in a set fixed beforehand. Clopper & Pearson's
intervals for both probabilities, each with failure probability FAILURE on its one side, give a lower bound
on δ at any ε that is wrong with probability at most 2·FAILURE = 1e-7. So a right claim is rejected with
probability 1e-7 at most; that a wrong one is rejected is no luck either: each case computes the
probability that it is not, from the exact probabilities, and asserts that it is below 1e-6.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, binom, norm

from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.mechanisms.randomized_response import RandomizedResponse

pytestmark = pytest.mark.statistical

FAILURE = 5e-8
REPETITIONS = 10_000_000


@dataclass(frozen=True)
class Audit:
    """n devices, `ones` of the others with bit 1; the set is {sum ≥ threshold}, likelier with 1."""

    n: int
    epsilon0: float
    ones: int
    threshold: int

    def sums(self, bit, source):
        """REPETITIONS sums of n randomized bits: binomial, as equal bits are exchangeable."""
        flip = RandomizedResponse(self.epsilon0).flip_probability
        ones, zeros = self.ones + bit, self.n - self.ones - bit
        return source.binomial(ones, 1 - flip, REPETITIONS) + source.binomial(zeros, flip, REPETITIONS)

    def lower_bound(self, epsilon, source):
        """Below δ at ε, but for a probability of 2·FAILURE."""
        likely, unlikely = (int((self.sums(bit, source) >= self.threshold).sum()) for bit in (1, 0))
        return bound(likely, unlikely, epsilon)

    def probabilities(self):
        """Pr[the set] for bit 1 and bit 0, from SciPy's binomials and a plain convolution."""
        flip = RandomizedResponse(self.epsilon0).flip_probability
        found = []
        for bit in (1, 0):
            ones, zeros = self.ones + bit, self.n - self.ones - bit
            total = np.convolve(
                binom.pmf(np.arange(ones + 1), ones, 1 - flip), binom.pmf(np.arange(zeros + 1), zeros, flip)
            )
            found.append(float(total[self.threshold :].sum()))
        return found

    def probability_of_acceptance(self, epsilon, delta):
        """A bound on the probability that the auditor does not reject the claim (ε, δ).

        The bound grows with the one count and falls with the other; each stays on its side of a quantile
        but with probability 2.5e-7, and at both quantiles the claim is rejected.
        """
        likely, unlikely = self.probabilities()
        low = int(binom.ppf(2.5e-7, REPETITIONS, likely))
        high = int(binom.isf(2.5e-7, REPETITIONS, unlikely))
        return 5e-7 if bound(low, high, epsilon) > delta else 1.0


def bound(likely, unlikely, epsilon):
    """Clopper & Pearson's lower bound for the one probability and upper bound for the other."""
    lower = beta.ppf(FAILURE, likely, REPETITIONS - likely + 1) if likely else 0.0
    upper = beta.isf(FAILURE, unlikely + 1, REPETITIONS - unlikely)
    return lower - math.exp(epsilon) * upper


def best_audit(n, epsilon0, epsilon):
    """The assignment and the threshold with the largest δ at ε, by trying all."""
    audits = [Audit(n, epsilon0, ones, t) for ones in range(n) for t in range(n + 1)]

    def excess(audit):
        likely, unlikely = audit.probabilities()
        return likely - math.exp(epsilon) * unlikely

    return max(audits, key=excess)


def gaussian_epsilon(n, epsilon0, delta):
    """What the Gaussian approximation claims: sensitivity 1 − 2p, variance n·p·(1 − p)."""
    p = 1 / (math.exp(epsilon0) + 1)
    mu = (1 - 2 * p) / math.sqrt(n * p * (1 - p))

    def excess(epsilon):
        return norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2) - delta

    return brentq(excess, 0.0, 50.0)


CASES = [(20, 2.0, 1e-2), (30, 2.0, 3e-3), (60, 3.0, 1e-2)]


@pytest.mark.parametrize(("n", "epsilon0", "delta"), CASES)
def test_audit_of_the_exact_epsilon_does_not_reject_it(n, epsilon0, delta):
    epsilon = RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta)
    audit = best_audit(n, epsilon0, epsilon)
    likely, unlikely = audit.probabilities()
    assert likely - math.exp(epsilon) * unlikely == pytest.approx(delta, rel=1e-6)  # nobody audits harder
    assert audit.lower_bound(epsilon, np.random.default_rng(n)) <= delta


@pytest.mark.parametrize(("n", "epsilon0", "delta"), CASES)
def test_audit_of_the_gaussian_approximation_rejects_it(n, epsilon0, delta):
    epsilon = gaussian_epsilon(n, epsilon0, delta)
    assert epsilon < 0.98 * RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta)
    audit = best_audit(n, epsilon0, epsilon)
    assert audit.probability_of_acceptance(epsilon, delta) <= 1e-6
    assert audit.lower_bound(epsilon, np.random.default_rng(n)) > delta


@pytest.mark.parametrize(("n", "epsilon0", "delta"), CASES)
def test_audit_of_an_epsilon_a_twentieth_too_small_rejects_it(n, epsilon0, delta):
    epsilon = 0.95 * RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta)
    audit = best_audit(n, epsilon0, epsilon)
    assert audit.probability_of_acceptance(epsilon, delta) <= 1e-6
    assert audit.lower_bound(epsilon, np.random.default_rng(n)) > delta
