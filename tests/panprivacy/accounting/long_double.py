"""Rounds of the sampled Gaussian a second way: one plain transform in extended precision, without tilting.

Each interval of losses is replaced by its two ends, such that both probabilities are kept, which lies above.
Eleven more bits are enough to see a δ of 1e-12 after a million rounds.
"""

import math

import numpy as np
import scipy


def _probabilities(edges, mean, sigma):
    """Of N(mean, σ²) between the edges, from the tail on whose side they are."""
    below, above = scipy.special.ndtr((edges - mean) / sigma), scipy.special.ndtr((mean - edges) / sigma)
    return np.where(edges[1:] <= mean, np.diff(below), -np.diff(above))


def lattice_of_round(sigma, rate, spacing, *, removed, negligible):
    """Lowest index and masses on the lattice; of outcomes beyond it at most 2·`negligible`."""
    x = np.array([-1.0, 1.0]) * -float(scipy.special.ndtri(negligible)) * sigma + np.array([0.0, 1.0])
    ends = np.log1p(rate * np.expm1((x - 0.5) / sigma**2))
    low, high = math.floor(ends[0] / spacing), math.ceil(ends[1] / spacing)
    losses = np.arange(low, high + 1) * spacing  # of the mixture against N(0, σ²)
    with np.errstate(invalid="ignore", divide="ignore"):
        growth = np.expm1(losses) / rate
        edges = np.where(growth > -1, 0.5 + sigma**2 * np.log1p(growth), -np.inf)
    without, moved = _probabilities(edges, 0.0, sigma), _probabilities(edges, 1.0, sigma)
    mixed = (1 - rate) * without + rate * moved
    p, q = (mixed, without) if removed else (without, mixed)
    outer = losses[1:] if removed else -losses[:-1]  # the larger loss of each interval, as p sees it
    # a + b = p at the smaller and the larger loss; a·e^{−smaller} + b·e^{−larger} = q
    larger = np.clip((p * np.exp(spacing) - q * np.exp(outer)) / math.expm1(spacing), 0.0, p)
    masses = np.zeros(losses.size)
    if removed:
        masses[1:] += larger
        masses[:-1] += p - larger
        return low, masses
    masses[:-1] += larger
    masses[1:] += p - larger
    return -high, masses[::-1]


def epsilon_of_rounds(sigma, rate, rounds, delta, spacing):
    """ε, from above but for the rounding of extended precision."""
    return max(
        _epsilon(*lattice_of_round(sigma, rate, spacing, removed=removed, negligible=1e-6 * delta / rounds),
                 rounds, delta, spacing)
        for removed in (True, False)
    )  # fmt: skip


def _epsilon(low, masses, rounds, delta, spacing):
    losses = (low + np.arange(masses.size)) * spacing
    mean = float(masses @ losses)
    deviation = math.sqrt(rounds * float(masses @ (losses - mean) ** 2))
    reach = 4 * max(abs(float(losses[0])), abs(float(losses[-1]))) + 30 * deviation + abs(rounds * mean)
    size = 2 ** math.ceil(math.log2(2 * reach / spacing))
    assert size <= 2**23, "a coarser lattice is needed"
    dense = np.zeros(size, dtype=np.longdouble)
    dense[np.arange(low, low + masses.size) % size] = masses
    total = scipy.fft.irfft(scipy.fft.rfft(dense) ** rounds, size)
    index = np.arange(size // 2)
    beyond_zero = total[: size // 2].astype(float)

    def curve(epsilon):
        beyond = index * spacing - epsilon
        return 2e-6 * delta + float((beyond_zero * -np.expm1(-np.maximum(0.0, beyond))).sum())

    low_end, high_end = 0.0, float(index[-1]) * spacing
    for _ in range(60):
        middle = (low_end + high_end) / 2
        low_end, high_end = (middle, high_end) if curve(middle) > delta else (low_end, middle)
    return high_end
