"""Looks at the state and the result, audited together: ε holds, and leaky variants are caught.

The universe is one item with one cell, so that nothing else blurs the result: the audit is as strict as can
be. What is seen in a run is each look, a bit (and a counter), and the noisy number of ones of which the
estimate is made.
"""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from panprivacy import discrete_laplace
from panprivacy.streams import draws
from panprivacy.streams.cropped_mean import CroppedMean
from panprivacy.streams.density import Density
from tests.panprivacy.streams.audit import epsilon_shown, probability_of_acceptance
from tests.panprivacy.streams.test_cropped_mean import parameters as cropped_mean_parameters
from tests.panprivacy.streams.test_density import parameters as density_parameters

pytestmark = pytest.mark.statistical

RUNS = 16_000
EPSILON = 0.5
ONE_CELL = {"epsilon": EPSILON, "universe_size": 1, "table_size": 1, "announced_intrusions": 1}
HALF = 0.5
PRESENT = HALF + EPSILON / 4
"""Probability of a 1 for an item that appeared."""


def noise_at_least_zero(epsilon=EPSILON):
    """Of discrete Laplace noise of scale 1/ε: 1/(1 + a)."""
    return 1 / (1 + math.exp(-epsilon))


def noise_at_least_one(epsilon=EPSILON):
    return 1 - noise_at_least_zero(epsilon)


class Runs:
    """Independent runs side by side, as if each were a table of its own, with all of ε."""

    tables = RUNS
    table_epsilon = Fraction(EPSILON)


class DensityRuns(Runs, Density):
    """Right."""


class CroppedMeanRuns(Runs, CroppedMean):
    """Right."""

    def _fresh_counters(self, random_source):
        return draws.below(RUNS, self.parameters.t, random_source).astype(np.uint32)


class CertainDensity(DensityRuns):
    """Leaky: an appearance sets the bit to 1."""

    def process_batch(self, state, cells, random_source):
        state.arrays["bits"][cells] = 1


class StickyDensity(DensityRuns):
    """Leaky: an appearance draws a 0 anew, and leaves a 1 as it is."""

    def process_batch(self, state, cells, random_source):
        bits = state.arrays["bits"]
        bits[cells] |= draws.bits(cells.size, int(PRESENT * draws.WORD), random_source)


class NoiselessDensity(DensityRuns):
    """Leaky: the result has no noise."""

    def noisy_shares(self, state, random_source):
        return list((state.arrays["bits"] - HALF) / (EPSILON / 4))


class PrintedDensity(DensityRuns):
    """As printed: f′ = 4(θ − 1/2)/ε + Lap(1/(εm)), with noise after scaling, in whole numbers.

    One bit moves the result by 4/ε = 8, and the noise has the scale 1/ε = 2: the price is 4.
    """

    def noisy_shares(self, state, random_source):
        return [
            8 * (int(bit) - HALF) + discrete_laplace.sample(1 / Fraction(EPSILON), random_source)
            for bit in state.arrays["bits"]
        ]


def seen_in(statistic, appearances):
    """What is seen in RUNS runs.

    Args:
        appearances: how often the item appears before each look, and after the last. All looks but the last
            one are announced.

    Returns:
        One row for each run: bit and counter, if there is one, of each look, then the noisy number of ones.
    """
    source = random.Random(f"{type(statistic).__name__} {appearances}")
    items = np.arange(RUNS)
    state = statistic.start(source)
    columns = []
    for look, count in enumerate(appearances[:-1]):
        statistic.process_batch(state, np.tile(items, count), source)
        columns.extend(array.astype(float) for array in state.arrays.values())
        if look < len(appearances) - 2:
            statistic.announce_intrusion(state, source)
    statistic.process_batch(state, np.tile(items, appearances[-1]), source)
    distributions = statistic.distributions(state.announced_intrusions)
    shares = np.array(statistic.noisy_shares(state, source))
    columns.append(np.round(shares * distributions.distance + float(distributions.absent), 6))
    return np.column_stack(columns)


def audited(statistic, likely, unlikely, event):
    """What the audit shows of ε.

    Args:
        likely, unlikely: appearances in the streams with which the event is likelier and less likely.
        event: from rows to truth values.
    """
    counts = [int(event(seen_in(statistic, appearances)).sum()) for appearances in (likely, unlikely)]
    return epsilon_shown(*counts, RUNS)


def zero_and_then_high(rows):
    """The look shows a 0, and the result is at least 1."""
    return (rows[:, 0] == 0) & (rows[:, -1] >= 1)


LIKELY, UNLIKELY = (0, 1), (1, 0)
"""The streams with the largest loss: the item appears only after the look, or only before it."""


def test_density_is_as_private_as_its_guarantee_and_no_more():
    claimed = Density(density_parameters(**ONE_CELL)).guarantee(0).epsilon
    # The event is as telling as can be: its probabilities have the ratio that the guarantee states.
    high = PRESENT * noise_at_least_zero() + (1 - PRESENT) * noise_at_least_one()
    likely, unlikely = HALF * high, (1 - PRESENT) * noise_at_least_one()
    assert math.log(likely / unlikely) == pytest.approx(claimed)
    statistic = DensityRuns(density_parameters(**ONE_CELL))
    shown = audited(statistic, LIKELY, UNLIKELY, zero_and_then_high)
    assert shown <= claimed
    # So a claim of two fifths is rejected, but for a probability computed to be at most 1e-6.
    assert probability_of_acceptance(likely, unlikely, RUNS, 0.4 * claimed) <= 1e-6
    assert shown > 0.4 * claimed


def test_density_after_an_announced_intrusion_is_as_private_as_its_guarantee():
    claimed = Density(density_parameters(**ONE_CELL)).guarantee(1).epsilon
    statistic = DensityRuns(density_parameters(**ONE_CELL))

    def zero_and_zero_and_then_high(rows):
        return (rows[:, 0] == 0) & zero_and_then_high(rows[:, 1:])

    for likely, unlikely in (((0, 0, 1), (1, 1, 0)), ((0, 1, 1), (1, 0, 0))):
        assert audited(statistic, likely, unlikely, zero_and_zero_and_then_high) <= claimed


@pytest.mark.parametrize("counter", [0, 1])
def test_cropped_mean_is_as_private_as_its_guarantee_with_its_counter_seen(counter):
    claimed = CroppedMean(cropped_mean_parameters(**ONE_CELL, t=2)).guarantee(0).epsilon
    statistic = CroppedMeanRuns(cropped_mean_parameters(**ONE_CELL, t=2))

    def event(rows):
        return zero_and_then_high(rows) & (rows[:, 1] == counter)

    for likely, unlikely in (((0, 2), (2, 0)), ((0, 1), (1, 0))):
        assert audited(statistic, likely, unlikely, event) <= claimed


@pytest.mark.parametrize(
    ("leaky", "likely", "unlikely", "event", "probabilities"),
    [
        pytest.param(
            CertainDensity, (0, 0), (1, 0), lambda rows: rows[:, 0] == 0, (HALF, 0.0),
            id="bit set with certainty",
        ),
        pytest.param(
            StickyDensity, (0, 0), (3, 0), lambda rows: rows[:, 0] == 0, (HALF, HALF * (1 - PRESENT) ** 3),
            id="bits that are 1 kept",
        ),
        pytest.param(
            NoiselessDensity, (0, 1), (1, 0), zero_and_then_high, (HALF * PRESENT, 0.0),
            id="noise left out",
        ),
        pytest.param(
            PrintedDensity, (0, 1), (1, 0), lambda rows: (rows[:, 0] == 0) & (rows[:, -1] > HALF),
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
def test_audit_of_a_leaky_variant_rejects_its_claim(leaky, likely, unlikely, event, probabilities):
    claimed = Density(density_parameters(**ONE_CELL)).guarantee(0).epsilon
    assert probability_of_acceptance(*probabilities, RUNS, claimed) <= 1e-6
    assert audited(leaky(density_parameters(**ONE_CELL)), likely, unlikely, event) > claimed


def test_audit_of_a_look_by_surprise_before_an_announced_one_rejects_the_guarantee_of_both():
    """PPS Corollary 6.2: the guarantee takes the surprise to come last, and has to."""
    claimed = Density(density_parameters(**ONE_CELL)).guarantee(1).epsilon
    statistic = DensityRuns(density_parameters(**ONE_CELL))
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
