"""Whatever hides an item is really drawn, at the scale that the guarantee is computed for, and really used.

An estimate without its noise, or a state with bits drawn for another ε, would pass every test of accuracy. So
these tests watch the draws themselves, and compare them with what the guarantee's formula needs.
"""

import random
from fractions import Fraction

import numpy as np
import pytest

from panprivacy import discrete_laplace
from panprivacy.streams import draws
from panprivacy.streams.announced import BitDistributions
from panprivacy.streams.counter import BinaryNoise
from tests.panprivacy.streams.test_counter import pan_private_counter
from tests.panprivacy.streams.test_cropped_mean import CroppedMean
from tests.panprivacy.streams.test_cropped_mean import parameters as cropped_mean_parameters
from tests.panprivacy.streams.test_density import Density
from tests.panprivacy.streams.test_density import parameters as density_parameters
from tests.panprivacy.streams.test_heavy_hitters import heavy_hitters
from tests.panprivacy.streams.test_incidence import incidence
from tests.panprivacy.streams.test_mod_incidence import mod_incidence
from tests.panprivacy.streams.test_pan_histogram import pan_histogram

EPSILON = Fraction(1, 2)
HALF = draws.WORD // 2

RELEASED = {
    # statistic → (it, scale of the noise on each count that is released)
    "density": (Density(density_parameters()), 1 / EPSILON),
    "cropped_mean": (CroppedMean(cropped_mean_parameters()), 1 / EPSILON),
    "heavy_hitters": (heavy_hitters(size=50), None),
    "mod_incidence": (mod_incidence(k=3), 2 / EPSILON),
    "incidence": (incidence(size=200), None),
}


def scale_of(name):
    """As the guarantee needs it: ε shared by all counts that one item moves, times how far it moves them."""
    statistic, scale = RELEASED[name]
    if name == "heavy_hitters":
        return statistic.tables / EPSILON  # one count in each table
    if name == "incidence":
        return 2 * statistic.drawn / EPSILON  # two counts for each prime
    return scale


@pytest.fixture
def started(request):
    statistic, _ = RELEASED[request.param]
    source = random.Random(1)
    state = statistic.start(source)
    statistic.process_batch(state, np.arange(20, dtype=np.int64), source)
    return request.param, statistic, state


@pytest.mark.parametrize("started", RELEASED, indirect=True)
def test_every_released_count_has_noise_of_the_scale_that_the_guarantee_needs(started, monkeypatch):
    name, statistic, state = started
    scales = []

    def noise(scale, random_source):
        scales.append(scale)
        return 0

    monkeypatch.setattr(discrete_laplace, "sample", noise)
    without = statistic.estimate(state, random.Random(2)).values
    assert set(scales) == {scale_of(name)}
    moved = 0
    for place in range(len(scales)):
        drawn = iter(range(len(scales)))
        monkeypatch.setattr(
            discrete_laplace,
            "sample",
            lambda scale, random_source, drawn=drawn, place=place: -(10**6) * (next(drawn) == place),
        )
        moved += statistic.estimate(state, random.Random(2)).values != without
    # Of several primes only the smallest estimate shows; everywhere else each count does.
    assert moved == len(scales) or (name == "incidence" and moved > 0)


def test_every_count_of_a_histogram_is_released_with_binomial_noise_and_each_look_is_followed_by_more(
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


def test_a_counter_of_bits_has_noise_before_the_stream_after_each_look_and_in_the_result(monkeypatch):
    monkeypatch.setattr(
        BinaryNoise, "draw", lambda noise, count, random_source: np.full(count, 7, dtype=np.int64)
    )
    algorithm, source = pan_private_counter(), random.Random(1)
    state = algorithm.start(source)
    assert state.arrays["counter"] == 7
    algorithm.process(state, 1)
    algorithm.announce_intrusion(state, source)
    assert state.arrays["counter"] == 15
    assert algorithm.estimate(state, source).values == (22 - algorithm.noise.mean(1),)


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


@pytest.mark.parametrize("name", ["density", "cropped_mean", "heavy_hitters"])
def test_bits_are_drawn_from_the_distributions_of_the_stated_epsilon(name, thresholds):
    statistic, source = RELEASED[name][0], random.Random(1)
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


def test_an_announced_look_draws_every_counter_of_heavy_hitters_anew():
    # A fresh counter is the old one by chance with probability 2^-30 at most: 4 of 2,500 are with at most
    # C(2500, 4)·2^-120 < 1e-23.
    statistic, source = heavy_hitters(size=500), random.Random(1)
    state = statistic.start(source)
    before = state.arrays["counters"].copy()
    statistic.announce_intrusion(state, source)
    assert int((state.arrays["counters"] == before).sum()) < 4
