"""Whether noisy counts look uniform: the statistic Z′ and its thresholds (RSP Algorithm 5, Theorem 4.2).

Of k values, c_j users have value j; the analyzer knows c_j + E_j with E_j ~ Bin(ℓ_j, 1/2) − ℓ_j/2, and ℓ_j.
The paper's analysis draws the number of samples from a Poisson distribution, so that the c_j are independent.
Here n users take part, no more and no fewer: their counts are multinomial, of which the threshold calibrated
by simulation and the standard error take account.
"""

import math

import numpy as np
from numpy.typing import NDArray

CALIBRATED_LEVEL = 0.1
"""How often uniform values exceed the calibrated threshold; the paper's proof has 1/10 too."""

_DRAWS = 499  # (_DRAWS + 1)·CALIBRATED_LEVEL is a whole number
_SEED = 20200813
_BLOCK = 1 << 20

Counts = NDArray[np.float64]


def chi_squared_statistic(counts: NDArray[np.floating], samples: int) -> NDArray[np.float64]:
    """Z′ = (k/m)·Σ_j (c_j − m/k)² − c_j, along the last axis, of length k; m is the number of samples."""
    k = counts.shape[-1]
    return np.asarray(k / samples * np.sum((counts - samples / k) ** 2 - counts, axis=-1))


def printed_threshold(noise_trials: Counts, samples: int, alpha: float) -> float:
    """τ of RSP equation (8), from the noise scales ℓ_j that were observed.

    Uniform values stay below it with probability 9/10 at least, and values at a distance above α
    exceed it with 21/50, where m is large enough: from 1000·√k/α² on the first summand covers Z.
    """
    k = len(noise_trials)
    total, squares = float(np.sum(noise_trials)), float(np.sum(noise_trials**2))
    signal = alpha**2 * samples / 500 + math.sqrt(50 * alpha**4 * samples**2 / 500_000)
    a = k * total / (4 * samples) + math.sqrt(50 * k**2 * squares / (8 * samples**2))
    b = math.sqrt(50 * k * total / samples)
    c = math.sqrt(50 * k**2 * total / (4 * samples**2))
    return signal + a + b + c


def calibrated_threshold(noise_trials: Counts, samples: int) -> float:
    """What Z′ of uniform values exceeds with probability `CALIBRATED_LEVEL`, given the ℓ_j, by simulation.

    The 450th of 499 simulated values, drawn with a fixed seed: over seeds, another one exceeds it with
    exactly this probability. The simulated users all follow the protocol.
    """
    generator = np.random.default_rng(_SEED)
    k = len(noise_trials)
    trials = noise_trials.astype(np.int64)
    uniform = np.full(k, 1 / k)
    rows = max(1, min(_DRAWS, _BLOCK // k))
    drawn: list[float] = []
    while len(drawn) < _DRAWS:
        counts = generator.multinomial(samples, uniform, size=rows)
        noise = generator.binomial(trials, 0.5, size=(rows, k)) - trials / 2
        drawn += chi_squared_statistic(counts + noise, samples).tolist()
    return sorted(drawn[:_DRAWS])[round((_DRAWS + 1) * (1 - CALIBRATED_LEVEL)) - 1]


def uniform_standard_error(noise_trials: Counts, samples: int) -> float:
    """The standard deviation of Z′ for `samples` uniform values, given the ℓ_j: exact.

    Z′ = Z + A + B − C as in the proof of Theorem 4.2, uncorrelated. Z is Pearson's statistic less k; A sums
    E_j², C sums E_j, and B sums E_j·(c_j − m/k), where c_j has variance m/k·(1 − 1/k).
    """
    k = len(noise_trials)
    total, squares = float(np.sum(noise_trials)), float(np.sum(noise_trials**2))
    z = 2 * (k - 1) * (1 - 1 / samples)
    a = k**2 / (8 * samples**2) * (squares - total)
    b = (k - 1) / samples * total
    c = k**2 / (4 * samples**2) * total
    return math.sqrt(z + a + b + c)
