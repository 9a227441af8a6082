"""Whatever hides an item is really drawn, from the distribution that the guarantee is computed for."""

import random
from fractions import Fraction

import numpy as np
import pytest

from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.cropped_mean import CroppedMean
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.item_bits import BitDistributions
from panprivacy.statistics.streams.pan_histogram import BinaryNoise
from tests.panprivacy.statistics.streams.scene import (
    cropped_mean_parameters,
    density_parameters,
    heavy_hitters,
)
from tests.panprivacy.statistics.streams.test_pan_histogram import pan_histogram

EPSILON = Fraction(1, 2)
HALF = draws.WORD // 2

RANDOMIZED = {
    "density": Density(density_parameters()),
    "cropped_mean": CroppedMean(cropped_mean_parameters()),
    "heavy_hitters": heavy_hitters(size=50),
}


def test_every_count_of_a_histogram_has_binomial_noise_at_each_look(
    monkeypatch,
):
    statistic, source = pan_histogram(size=6), random.Random(1)
    state = statistic.start(source)
    draw, drawn = BinaryNoise.draw, []

    def noting(noise, count, random_source):
        drawn.append((noise.bits, draw(noise, count, random_source)))
        return drawn[-1][1]

    monkeypatch.setattr(BinaryNoise, "draw", noting)
    before = state.arrays["counters"].copy()
    values = statistic.estimate(state, source).values
    ((bits, noise),) = drawn
    assert bits == statistic.parameters.noise.bits
    assert np.allclose(np.array(values), before + noise - statistic.parameters.noise.mean(0))
    statistic.announce_intrusion(state, source)
    assert drawn[1][0] == bits
    assert np.array_equal(state.arrays["counters"], before + drawn[1][1])
    fresh = statistic.start(source)
    assert np.array_equal(fresh.arrays["counters"], drawn[2][1])


@pytest.fixture
def thresholds(monkeypatch):
    """Thresholds of all bits that are drawn, each out of 2^64."""
    drawn, bits = [], draws.bits

    def noting(count, threshold, random_source):
        if count:
            drawn.append(threshold)
        return bits(count, threshold, random_source)

    monkeypatch.setattr(draws, "bits", noting)
    return drawn


def threshold(probability):
    return int(probability * draws.WORD)


@pytest.mark.parametrize("name", RANDOMIZED)
def test_bits_are_drawn_from_the_distributions_of_the_stated_epsilon(name, thresholds):
    statistic, source = RANDOMIZED[name], random.Random(1)
    state = statistic.start(source)
    assert set(thresholds) == {HALF}
    thresholds.clear()
    # Often enough that every counter turns over.
    statistic.process_batch(state, np.repeat(np.arange(20, dtype=np.int64), 100), source)
    present = threshold(Fraction(1, 2) + EPSILON / 4)
    assert set(thresholds) == {present}
    thresholds.clear()
    statistic.announce_intrusion(state, source)
    assert set(thresholds) == {HALF, present}  # by the bit's value, from the first D₀ and D₁
    thresholds.clear()
    statistic.process_batch(state, np.repeat(np.arange(20, dtype=np.int64), 100), source)
    # PPS section 3: D₁' gives 1 with probability 1/2 + ε/8 + ε²/16.
    (after,) = set(thresholds)
    assert abs(after - threshold(Fraction(1, 2) + EPSILON / 8 + EPSILON**2 / 16)) <= 4
    assert after == BitDistributions.after(EPSILON, 1).present_threshold
