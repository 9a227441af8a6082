"""The noise that a budget asks for, by exact accounting and by the accountant that the paper names."""

import math
from functools import lru_cache

import scipy

from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.interface import require_delta

_STEP = 1.05


@lru_cache(maxsize=256)
def noise_multiplier(sampling_rate: float, rounds: int, epsilon: float, delta: float) -> float:
    """The smallest σ with which `rounds` sums over Poisson samples are (ε, δ)-private (add/remove, PLD).

    Takes up to a few seconds. The search begins at the σ of the central limit theorem, which is
    close if there are many rounds, and takes steps of 5% until the answer lies between two of them.

    Args:
        sampling_rate: from 0, exclusive, to 1.
        rounds: at least 1.
        epsilon, delta: of all rounds together.

    Returns:
        σ in units of the sensitivity, to a relative 1e-6.
    """
    single = _unsampled(epsilon, delta)
    if sampling_rate == 1:
        # T sums with noise σ are one with noise σ/√T.
        return single * math.sqrt(rounds)

    def excess(log_sigma: float) -> float:
        event = Gaussian(sigma=math.exp(log_sigma), sampling_rate=sampling_rate, rounds=rounds)
        return math.log(max(event.delta(epsilon), 1e-300)) - math.log(delta)

    # q·√(T·(exp(1/σ²) − 1)) = 1/single
    limit = 1 / math.sqrt(math.log1p(1 / (rounds * (sampling_rate * single) ** 2)))
    low = high = math.log(limit)
    step = math.log(_STEP)
    if excess(high) > 0:
        while excess(high) > 0:
            low, high, step = high, high + step, 2 * step
    else:
        while excess(low) <= 0:
            low, high, step = low - step, low, 2 * step
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-6, rtol=1e-9)))


def _unsampled(epsilon: float, delta: float) -> float:
    def excess(log_sigma: float) -> float:
        return math.log(max(Gaussian(sigma=math.exp(log_sigma)).delta(epsilon), 1e-300)) - math.log(delta)

    return math.exp(float(scipy.optimize.brentq(excess, math.log(0.1) + 1e-9, math.log(1e4), rtol=1e-12)))


def moments_accountant_noise(sampling_rate: float, rounds: int, epsilon: float, delta: float) -> float:
    """The σ for ε by Rényi divergences (the "moments accountant"): what a reader of the paper would use."""

    def excess(sigma: float) -> float:
        event = Gaussian(sigma=sigma, sampling_rate=sampling_rate, rounds=rounds)
        return renyi_epsilon(event, delta) - epsilon

    return float(scipy.optimize.brentq(excess, 0.5, 200.0, rtol=1e-9))


def renyi_epsilon(event: Gaussian, delta: float) -> float:
    """ε by Rényi accounting: an upper bound, some percent above the tight one.

    Args:
        delta: between 0 and 1, both excluded.
    """
    require_delta(delta)
    # Imported here because pages load this module, and production does not have the package.
    from dp_accounting import dp_event, rdp

    accountant = rdp.RdpAccountant()
    one = dp_event.PoissonSampledDpEvent(event.sampling_rate, dp_event.GaussianDpEvent(event.sigma))
    accountant.compose(one, event.rounds)
    return float(accountant.get_epsilon(delta))


def renyi_divergence_of_order_2(sigma: float, sampling_rate: float) -> float:
    """D² of one sampled Gaussian sum from the sum without the user: ln(1 + q²·(exp(1/σ²) − 1)), exact.

    With P = N(0, σ²) and Q = N(1, σ²), E_P (1 − q + q·Q/P)² = 1 + q²·(E_P (Q/P)² − 1).
    """
    return math.log1p(sampling_rate**2 * math.expm1(1 / sigma**2))
