"""Expected squared errors of a histogram from a sample, with and without privacy (SAA section 3.1).

N users hold a value in [K] each; T such histograms are asked for under one budget, and about M users
report to each. Errors are Σ_i E(p̃_i − p_i)² of the estimated distribution p̃, without unit. "Sampling
error" treats users as draws from a distribution: no correction for a finite population, as in the 1/M of
the paper, even if M = N.

Noise is Gaussian with standard deviation σ (the noise multiplier) on every coordinate of a sum of
one-hot vectors, whose sensitivity is 1 under add/remove. σ comes from the caller.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One setting of section 3.1.

    Attributes:
        population: N ≥ 1.
        reports: M, users who report to one histogram, 1..N.
        buckets: K ≥ 2.
        tasks: T ≥ 1.
        share: γ, the fraction of users with a value other than the default; 1 for the plain histogram.
    """

    population: int
    reports: int
    buckets: int
    tasks: int
    share: float = 1.0

    @property
    def sampling_rate(self) -> float:
        """M/N: every user's rate in the plain histogram."""
        return self.reports / self.population

    @property
    def targeted_rate(self) -> float:
        """min(M/(2γN), 1): the rate of users with a value other than the default.

        Users with the default are sampled at M/(2N), which is never more: privacy depends on this rate alone.
        """
        return min(self.reports / (2 * self.share * self.population), 1.0)

    @property
    def participations(self) -> int:
        """⌈TM/N⌉: histograms that one user reports to if it is known who does."""
        # In integers: 1,000·10,000/1,000,000 is 10, whatever floating point gives.
        return -(-self.tasks * self.reports // self.population)


# The plain histogram: all K coordinates count ------------------------------------


def without_privacy(setting: Setting) -> float:
    """NONPRIV: 1/M, which is (1 − Σp_i²)/M for many small p_i."""
    return 1 / setting.reports


def aggregated(setting: Setting, sigma: float) -> float:
    """AGG and SAMPAGG: 1/M + K·σ²/M²; they differ in the σ that the budget asks for."""
    return 1 / setting.reports + setting.buckets * (sigma / setting.reports) ** 2


# The sparse histogram: the K − 1 values other than the default count -------------


def sparse_uniform(setting: Setting) -> float:
    """NONPRIVUNIF: γ/M, from a uniform sample of M users."""
    return setting.share / setting.reports


def sparse_targeted(setting: Setting) -> float:
    """NONPRIVIMPSAMP: γ/(N·r) at the targeted rate r, which is 2γ²/M up to M = 2γN, and then γ/N."""
    return setting.share / (setting.population * setting.targeted_rate)


def sparse_aggregated(setting: Setting, sigma: float) -> float:
    """AGG: a uniform sample, γ/M + (K − 1)·σ²/M²."""
    return sparse_uniform(setting) + (setting.buckets - 1) * (sigma / setting.reports) ** 2


def sparse_sampled(setting: Setting, sigma: float) -> float:
    """SAMPAGG: importance sampling at the rate r, γ/(N·r) + (K − 1)·(σ/(N·r))²."""
    scale = setting.population * setting.targeted_rate
    return sparse_targeted(setting) + (setting.buckets - 1) * (sigma / scale) ** 2


def privacy_share(error: float, error_without_privacy: float) -> float:
    """The error that privacy adds, as a multiple of the error without it."""
    if not error_without_privacy > 0 or not math.isfinite(error):
        raise ValueError("errors must be finite, and the one without privacy above 0")
    return error / error_without_privacy - 1
