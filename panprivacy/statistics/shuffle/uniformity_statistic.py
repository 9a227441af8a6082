"""Whether noisy counts look uniform: the statistic Z′ and its thresholds (RSP Algorithm 5, Theorem 4.2).

Of k values, c_j users have value j; the analyzer knows c_j + E_j with E_j ~ Bin(ℓ_j, 1/2) − ℓ_j/2, and
ℓ_j. The paper's analysis draws the number of samples from a Poisson distribution, so that the c_j are
independent. Here exactly n users take part, so their counts are multinomial. The calibrated threshold and
the standard error are those of multinomial counts.
"""

import math
from dataclasses import dataclass

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

CALIBRATED_LEVEL = 0.1
"""How often uniform values exceed the calibrated threshold; the paper's proof has 1/10 too."""

Counts = NDArray[np.float64]


def chi_squared_statistic(counts: NDArray[np.floating], samples: int) -> NDArray[np.float64]:
    """Z′ = (k/m)·Σ_j (c_j − m/k)² − c_j, along the last axis, of length k; m is the number of samples."""
    k = counts.shape[-1]
    return np.asarray(k / samples * np.sum((counts - samples / k) ** 2 - counts, axis=-1))


def printed_threshold(noise_trials: Counts, samples: int, alpha: float) -> float:
    """τ of RSP equation (8), from the noise scales ℓ_j that were observed.

    Uniform values stay below it with probability 9/10 at least, and values at a distance above α
    exceed it with 21/50, if m is large enough: from 1000·√k/α² on the first summand covers Z.
    """
    k = len(noise_trials)
    total, squares = float(np.sum(noise_trials)), float(np.sum(noise_trials**2))
    signal = alpha**2 * samples / 500 + math.sqrt(50 * alpha**4 * samples**2 / 500_000)
    a = k * total / (4 * samples) + math.sqrt(50 * k**2 * squares / (8 * samples**2))
    b = math.sqrt(50 * k * total / samples)
    c = math.sqrt(50 * k**2 * total / (4 * samples**2))
    return signal + a + b + c


@dataclass(frozen=True)
class UniformMoments:
    """Mean, variance and third central moment of Z′ for uniform values, given the ℓ_j: exact."""

    mean: float
    variance: float
    third: float

    @classmethod
    def of(cls, noise_trials: Counts, samples: int) -> "UniformMoments":
        """Args: ℓ_j ≥ 0 of the k values, and m ≥ 1.

        With d_j = c_j − m/k and a = k/m, Z′ = a·Σ(d_j² + E_j² + (2d_j − 1)·E_j) − k. Each of the moments is
        that over the d_j of what is expected given these, plus what is left: the law of total cumulance.

        Σd_j² is twice the number of pairs of users with the same value, plus a constant. Any two pairs
        are independent, and of three only those among three users are not.
        """
        k, m = len(noise_trials), samples
        a, same = k / m, 1 / k
        # Central moments of one d_j, and of the number of pairs.
        spread = m * same * (1 - same)
        pairs = m * (m - 1) / 2 * same * (1 - same)
        pairs_third = pairs * (1 - 2 * same) + m * (m - 1) * (m - 2) * same**2 * (1 - same)
        # Of each E_j, and of its square.
        second = noise_trials / 4
        fourth = second * (3 * second - 0.5)
        sixth = second * (15 * second**2 - 7.5 * second + 1)
        square_variance = fourth - second**2
        square_third = sixth - 3 * second * fourth + 2 * second**3

        left = np.sum(square_variance + (4 * spread + 1) * second)
        left_third = np.sum(square_third + 3 * (4 * spread + 1) * square_variance)
        together = 4 * float(np.mean(second)) * 4 * pairs  # of Σd_j² with the variance that is left
        return cls(
            mean=a * float(np.sum(second)) - 1,
            variance=a**2 * (4 * pairs + float(left)),
            third=a**3 * (8 * pairs_third + float(left_third) + 3 * together),
        )


def calibrated_threshold(noise_trials: Counts, samples: int) -> float:
    """The threshold that Z′ of uniform values exceeds with a probability close to `CALIBRATED_LEVEL`, given
    the ℓ_j.

    The quantile of the gamma distribution, moved and scaled (Pearson's type III), that has the mean, variance
    and skewness of Z′. It is that of Z′ in the limit of many users, and in that of much noise; with the
    least noise that parameters allow the probability is between 0.095 and 0.105, for all k and m, by
    simulations. All users are taken to follow the protocol.
    """
    moments = UniformMoments.of(noise_trials, samples)
    if moments.third == 0:  # at most two users, and hardly any noise: Cantelli's inequality
        return moments.mean + math.sqrt(moments.variance * (1 / CALIBRATED_LEVEL - 1))
    shape = 4 * moments.variance**3 / moments.third**2
    scale = moments.third / (2 * moments.variance)
    return moments.mean + scale * (float(scipy.special.gammainccinv(shape, CALIBRATED_LEVEL)) - shape)


def uniform_standard_error(noise_trials: Counts, samples: int) -> float:
    """The standard deviation of Z′ for `samples` uniform values, given the ℓ_j: exact."""
    return math.sqrt(UniformMoments.of(noise_trials, samples).variance)
