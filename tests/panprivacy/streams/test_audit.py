"""Randomized bits and the result, audited together: ε holds, and leaky variants are caught.

What is seen in a run is each look, bits (and counters), and the noisy numbers of ones of which the estimate
is made (see `audit`).
"""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from panprivacy import discrete_laplace
from panprivacy.streams import draws
from panprivacy.streams.announced import BitDistributions
from panprivacy.streams.cropped_mean import CroppedMean
from panprivacy.streams.density import Density
from panprivacy.streams.heavy_hitters import HeavyHitters
from tests.panprivacy.streams.audit import (
    Event,
    epsilon_shown,
    probability_of_acceptance,
    require_caught,
    require_private,
)
from tests.panprivacy.streams.test_cropped_mean import parameters as cropped_mean_parameters
from tests.panprivacy.streams.test_density import parameters as density_parameters
from tests.panprivacy.streams.test_heavy_hitters import heavy_hitters

pytestmark = pytest.mark.statistical

RUNS = 16_000
EPSILON = 0.5
CELLS = {"epsilon": EPSILON, "universe_size": RUNS, "table_size": RUNS, "announced_intrusions": 1}
HALF = 0.5
PRESENT = HALF + EPSILON / 4
"""Probability of a 1 for an item that appeared."""


def noise_at_least_zero(epsilon=EPSILON):
    """Of discrete Laplace noise of scale 1/ε: 1/(1 + a)."""
    return 1 / (1 + math.exp(-epsilon))


def noise_at_least_one(epsilon=EPSILON):
    return 1 - noise_at_least_zero(epsilon)


def high(one, epsilon=EPSILON):
    """That a bit, 1 with probability `one`, and noise are at least 1 together."""
    return one * noise_at_least_zero(epsilon) + (1 - one) * noise_at_least_one(epsilon)


def density():
    return density_parameters(**CELLS)


def zero(looks):
    return looks[-1]["bits"] == 0


def at_least_one(looks, noisy):
    return (noisy >= 1).all(axis=1)


LIKELY, UNLIKELY = (0, 1), (1, 0)
"""The streams with the largest loss: the item appears only after the look, or only before it."""

ZERO_AND_THEN_HIGH = Event(LIKELY, UNLIKELY, zero, at_least_one)


class CertainDensity(Density):
    """Leaky: an appearance sets the bit to 1."""

    def process_batch(self, state, cells, random_source):
        state.arrays["bits"][cells] = 1


class StickyDensity(Density):
    """Leaky: an appearance draws a 0 anew, and leaves a 1 as it is."""

    def process_batch(self, state, cells, random_source):
        bits = state.arrays["bits"]
        for _ in range(0, cells.size, RUNS):
            bits |= draws.bits(RUNS, int(PRESENT * draws.WORD), random_source)


class NoiselessDensity(Density):
    """Leaky: the result has no noise."""

    def noisy_counts(self, state, random_source):
        return state.arrays["bits"].astype(np.int64)


class PrintedDensity(Density):
    """As printed: f′ = 4(θ − 1/2)/ε + Lap(1/(εm)), with noise after scaling, in whole numbers.

    One bit moves the result by 4/ε = 8, and the noise has the scale 1/ε = 2: the price is 4.
    """

    def noisy_counts(self, state, random_source):
        noise = discrete_laplace.sample(1 / Fraction(EPSILON), random_source)
        return 8 * (state.arrays["bits"] - HALF) + noise


def test_density_is_as_private_as_its_guarantee_and_no_more():
    claimed = Density(density()).guarantee(0).epsilon
    # The event is as telling as can be: its probabilities have the ratio that the guarantee states.
    likely, unlikely = HALF * high(PRESENT), (1 - PRESENT) * noise_at_least_one()
    assert math.log(likely / unlikely) == pytest.approx(claimed)
    require_private(Density(density()), ZERO_AND_THEN_HIGH, (likely, unlikely), 0.4)


@pytest.mark.parametrize(("likely", "unlikely"), [((0, 0, 1), (1, 1, 0)), ((0, 1, 1), (1, 0, 0))])
def test_density_after_an_announced_intrusion_is_as_private_as_its_guarantee(likely, unlikely):
    statistic = Density(density())
    event = Event(likely, unlikely, lambda looks: zero(looks[:1]) & zero(looks), at_least_one)
    assert event.epsilon(statistic) <= statistic.guarantee(1).epsilon


def test_cropped_mean_is_as_private_as_its_guarantee_with_its_counter_seen():
    # Two appearances wrap a counter modulo 2 once, and leave it where it was: at 0 in half of all runs.
    event = Event(
        (0, 2), (2, 0), lambda looks: zero(looks) & (looks[-1]["counters"] == 0), at_least_one
    )  # fmt: skip
    probabilities = HALF * HALF * high(PRESENT), HALF * (1 - PRESENT) * noise_at_least_one()
    require_private(CroppedMean(cropped_mean_parameters(**CELLS, t=2)), event, probabilities, 0.2)


class NoiselessCroppedMean(CroppedMean):
    """Leaky: the result has no noise."""

    def noisy_counts(self, state, random_source):
        return state.arrays["bits"].astype(np.int64)


def test_audit_of_a_cropped_mean_without_noise_in_its_result_rejects_its_claim():
    leaky = NoiselessCroppedMean(cropped_mean_parameters(**CELLS, t=2))
    require_caught(leaky, Event((0, 2), (2, 0), zero, at_least_one), (HALF * PRESENT, 0.0))


@pytest.mark.parametrize(
    ("leaky", "event", "probabilities"),
    [
        pytest.param(
            CertainDensity, Event((0, 0), (1, 0), zero), (HALF, 0.0),
            id="bit set with certainty",
        ),
        pytest.param(
            StickyDensity, Event((0, 0), (3, 0), zero), (HALF, HALF * (1 - PRESENT) ** 3),
            id="bits that are 1 kept",
        ),
        pytest.param(
            NoiselessDensity, ZERO_AND_THEN_HIGH, (HALF * PRESENT, 0.0),
            id="noise left out",
        ),
        pytest.param(
            PrintedDensity, Event(LIKELY, UNLIKELY, zero, lambda looks, noisy: noisy[:, 0] > HALF),
            (
                # Above the middle: noise of at least −3 from a 1, and of at least 5 from a 0.
                HALF * (PRESENT * (1 - math.exp(-4 / 2) * noise_at_least_zero())
                        + (1 - PRESENT) * math.exp(-5 / 2) * noise_at_least_zero()),
                (1 - PRESENT) * math.exp(-5 / 2) * noise_at_least_zero(),
            ),
            id="noise after scaling, as printed",
        ),
    ],
)  # fmt: skip
def test_audit_of_a_leaky_variant_rejects_its_claim(leaky, event, probabilities):
    require_caught(leaky(density()), event, probabilities)


def test_audit_of_a_look_by_surprise_before_an_announced_one_rejects_the_guarantee_of_both():
    """PPS Corollary 6.2: the guarantee takes the surprise to come last, and has to."""
    statistic = Density(density())
    claimed = statistic.guarantee(1).epsilon
    counts = []
    for appears in (True, False):
        source = random.Random(6)
        state = statistic.start(source)
        by_surprise = state.arrays["bits"].copy()
        statistic.process_batch(state, np.arange(RUNS * appears), source)
        announced = state.arrays["bits"]
        counts.append(int((by_surprise < announced).sum()))
    assert probability_of_acceptance(HALF * PRESENT, 0.0, RUNS, claimed) <= 1e-6
    assert epsilon_shown(*counts, RUNS) > claimed


TABLES = 3
"""Of heavy hitters for k = 1, ρ = 1 and at most 1 appearance. As r_x is at least 1/2 and the last threshold
2, every counter wraps in 4 appearances, and none stays where it is in one."""


def heavy(kind=HeavyHitters):
    statistic = kind(heavy_hitters(k=1, n_max=1, size=5 * RUNS, epsilon=EPSILON, announced=1).parameters)
    assert statistic.tables == TABLES
    return statistic


def all_zero(looks):
    return (looks[-1]["bits"] == 0).all(axis=0)


def counters_stay(looks):
    return (looks[0]["counters"] == looks[1]["counters"]).all(axis=0)


ALL_ZERO = Event((0, 0), (4, 0), all_zero)
ALL_ZERO_AND_THEN_HIGH = Event((0, 4), (4, 0), all_zero, at_least_one)
COUNTERS_STAY = Event((0, 0, 0), (0, 1, 0), counters_stay)


def test_heavy_hitters_are_as_private_as_their_guarantee():
    statistic = heavy()
    require_private(statistic, ALL_ZERO, (HALF**TABLES, (1 - PRESENT) ** TABLES), 0.4)
    # The noise of the result is shared by the tables.
    share = EPSILON / TABLES
    likely, unlikely = HALF * high(PRESENT, share), (1 - PRESENT) * noise_at_least_one(share)
    assert math.log(likely / unlikely) * TABLES == pytest.approx(statistic.guarantee(0).epsilon)
    require_private(statistic, ALL_ZERO_AND_THEN_HIGH, (likely**TABLES, unlikely**TABLES), 0.3)


def test_heavy_hitters_after_an_announced_intrusion_do_not_show_what_came_between_in_their_counters():
    statistic = heavy()
    for event in (COUNTERS_STAY, Event((0, 0, 4), (4, 4, 0), all_zero, at_least_one)):
        assert event.epsilon(statistic) <= statistic.guarantee(1).epsilon


class NoiselessHeavyHitters(HeavyHitters):
    """Leaky: the result has no noise."""

    def noisy_counts(self, state, random_source):
        return state.arrays["bits"].sum(axis=1, dtype=np.int64)


class LoudHeavyHitters(HeavyHitters):
    """Leaky: bits are drawn for twice the ε."""

    def _distributions(self, announced_intrusions):
        return BitDistributions.after(2 * EPSILON, announced_intrusions)


class StaleHeavyHitters(HeavyHitters):
    """Leaky: the counters stay as they are after an announced intrusion."""

    def announce_intrusion(self, state, random_source):
        before = state.arrays["counters"].copy()
        super().announce_intrusion(state, random_source)
        state.arrays["counters"][:] = before


@pytest.mark.parametrize(
    ("leaky", "event", "probabilities"),
    [
        (NoiselessHeavyHitters, ALL_ZERO_AND_THEN_HIGH, ((HALF * PRESENT) ** TABLES, 0.0)),
        (LoudHeavyHitters, ALL_ZERO, (HALF**TABLES, (HALF - EPSILON / 2) ** TABLES)),
        (StaleHeavyHitters, COUNTERS_STAY, (1.0, 0.0)),
    ],
)
def test_audit_of_leaky_heavy_hitters_rejects_their_claim(leaky, event, probabilities):
    require_caught(heavy(leaky), event, probabilities)
