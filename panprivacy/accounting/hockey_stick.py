"""The hockey stick between two mixtures of a sum and the same sum plus one.

To hide one bit in a sum S of other bits, S + Ber(a) or S + Ber(b) is released. The release is at most x
with probability Pr[S ≤ x − 1] + (1 − a)·Pr[S = x], so that for every threshold t

    Pr[S + Ber(a) ≥ t] − e^ε·Pr[S + Ber(b) ≥ t] = (a − e^ε·b)·Pr[S = t − 1] − (e^ε − 1)·Pr[S ≥ t],

and the divergence is the maximum over t wherever the likelihood ratio is monotone: for every log-concave
S, so for every sum of independent bits. The two tails on the left would cancel almost entirely. The two
terms on the right lose a factor of about z² to cancellation (Mills' ratio), z being the threshold in
standard deviations.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial import Numbers


def binomial_divergence(
    n: ArrayLike, p: float, q: float, excess: ArrayLike, deficit: ArrayLike, epsilon: float
) -> Numbers:
    """max over t of excess·Pr[S = t − 1] − (e^ε − 1)·Pr[S ≥ t] for S ~ Bin(n, p), rounded up.

    Args:
        n: numbers of trials, ≥ 0.
        p, q: probability of success and of failure.
        excess: a − e^ε·b; if it is not above 0, so is not the result.
        deficit: e^ε·(1 − b) − (1 − a), for ε ≥ 0 and a ≥ b at least 0. The likelihood ratio exceeds e^ε
            if excess·Pr[S = x − 1] > deficit·Pr[S = x].
        epsilon: ε ≥ 0.

    Returns:
        For each n an upper bound, at most a relative 1e-12·(1 + z²) above the exact value for n ≤ 10⁶,
        z being the threshold in standard deviations.
    """
    n, excess, deficit = np.broadcast_arrays(
        np.asarray(n, dtype=float), np.asarray(excess, dtype=float), np.asarray(deficit, dtype=float)
    )
    positive = excess > 0
    safe = np.where(positive, excess, 1.0)
    # Pr[S = x − 1]/Pr[S = x] = x·q/((n − x + 1)·p)
    with np.errstate(over="ignore"):
        ratio = deficit / safe * (p / q) if q > 0 else np.full(n.shape, math.inf)
    share = np.where(np.isinf(ratio), 1.0, ratio / (1 + np.minimum(ratio, 1e300)))
    t = np.minimum(np.floor(share * (n + 1)) + 1, n + 1)
    at, tail = binomial.probability(t - 1, n, p, q), binomial.upper_tail(t, n, p, q)
    growth = math.expm1(epsilon)
    error = binomial.relative_error(t, n, p)
    found = safe * at * (1 + error) - growth * tail * (1 - error) + 1e-300
    return np.where(positive, np.clip(found, 0.0, 1.0), 0.0)
