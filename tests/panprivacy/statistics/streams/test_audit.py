"""Looks and the result, audited together: randomized bits, and counters that start at noise."""

import math

import numpy as np
import pytest

from panprivacy.statistics.streams.cropped_mean import CroppedMean
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.incidence import PrimePool
from tests.panprivacy.statistics.streams.audit import Event, require_private
from tests.panprivacy.statistics.streams.scene import (
    cropped_mean_parameters,
    density_parameters,
    heavy_hitters,
    incidence,
    mod_incidence,
)

pytestmark = pytest.mark.statistical

RUNS = 16_000
EPSILON = 0.5
CELLS = {"epsilon": EPSILON, "universe_size": RUNS, "table_size": RUNS, "announced_intrusions": 1}
HALF = 0.5
PRESENT = HALF + EPSILON / 4
"""Probability of a 1 for an item that appeared."""


def right(epsilon):
    """Of discrete Laplace noise of scale 1/ε: that it is at least 0, or at most 0."""
    return 1 / (1 + math.exp(-epsilon))


def high(one, epsilon=EPSILON):
    """That a bit, 1 with probability `one`, and noise are at least 1 together."""
    return one * right(epsilon) + (1 - one) * (1 - right(epsilon))


def start_noise(modulus, epsilon):
    """Probability of each start of a counter, by the definition."""
    weights = np.exp(-epsilon * np.arange(modulus) / (modulus - 1))
    return weights / weights.sum()


def zero(intrusions):
    return intrusions[-1]["bits"] == 0


def at_least_one(intrusions, noisy):
    return (noisy >= 1).all(axis=1)


def test_density_is_as_private_as_its_guarantee_and_no_more():
    # The streams with the largest loss: the item appears only after the intrusion, or only before it. The
    # event is as telling as can be: its probabilities have the ratio that the guarantee states.
    statistic, event = Density(density_parameters(**CELLS)), Event((0, 1), (1, 0), zero, at_least_one)
    likely, unlikely = HALF * high(PRESENT), (1 - PRESENT) * high(0)
    assert math.log(likely / unlikely) == pytest.approx(statistic.guarantee(0).epsilon)
    require_private(statistic, event, (likely, unlikely), 0.4)


def test_cropped_mean_is_as_private_as_its_guarantee_with_its_counter_seen():
    # Two appearances wrap a counter modulo 2 once, and leave it where it was: at 0 in half of all runs.
    event = Event(
        (0, 2), (2, 0), lambda intrusions: zero(intrusions) & (intrusions[-1]["counters"] == 0), at_least_one
    )  # fmt: skip
    probabilities = HALF * HALF * high(PRESENT), HALF * (1 - PRESENT) * high(0)
    require_private(CroppedMean(cropped_mean_parameters(**CELLS, t=2)), event, probabilities, 0.2)


def test_heavy_hitters_are_as_private_as_their_guarantee():
    # For k = 1, ρ = 1 and at most 1 appearance. As r_x is at least 1/2 and the last threshold 2, every
    # counter wraps in 4 appearances.
    statistic = heavy_hitters(k=1, n_max=1, size=5 * RUNS, epsilon=EPSILON, announced=1)
    tables = statistic.tables
    assert tables == 3

    def all_zero(intrusions):
        return zero(intrusions).all(axis=0)

    probabilities = HALF**tables, (1 - PRESENT) ** tables
    require_private(statistic, Event((0, 0), (4, 0), all_zero), probabilities, 0.4)
    # The noise of the result is shared by the tables.
    share = EPSILON / tables
    likely, unlikely = HALF * high(PRESENT, share), (1 - PRESENT) * high(0, share)
    assert math.log(likely / unlikely) * tables == pytest.approx(statistic.guarantee(0).epsilon)
    event = Event((0, 4), (4, 0), all_zero, at_least_one)
    require_private(statistic, event, (likely**tables, unlikely**tables), 0.3)


def test_mod_incidence_is_as_private_as_its_guarantee():
    """k = 3. Seen: the counter at 2, and in the end more than none of value 2, none of value 1.

    The item appears twice before the intrusion, or twice after it: then it started at 0, or at 2.
    """
    statistic = mod_incidence(k=3, size=RUNS, epsilon=EPSILON, announced=1)
    event = Event(
        (2, 0), (0, 2),
        lambda intrusions: intrusions[-1]["counters"] == 2,
        lambda intrusions, noisy: (noisy[:, 2] >= 1) & (noisy[:, 1] <= 0),
    )  # fmt: skip
    start, kept = start_noise(3, EPSILON), right(EPSILON / 2)
    probabilities = start[0] * kept**2, start[2] * (1 - kept) ** 2
    assert math.log(probabilities[0] / probabilities[1]) == pytest.approx(2 * EPSILON)  # all that it costs
    require_private(statistic, event, probabilities, 0.4)
    # The counter is where it was, for an item that came in between two intrusions or did not.
    between = Event(
        (0, 0, 0), (0, 1, 0), lambda intrusions: intrusions[0]["counters"] == intrusions[1]["counters"]
    )
    require_private(statistic, between, (start[0], start[2]), 0.15)


def test_incidence_is_as_private_as_its_guarantee(monkeypatch):
    """t = 2. The primes are 2 and 3, and counted are the values 0, 1 of the one, 2, 1 of the other counter.

    The item appears 5 times before the intrusion, or 5 times after it, which is 1 modulo 2 and 2 modulo 3.
    """
    monkeypatch.setattr("panprivacy.statistics.streams.incidence.best_pool", lambda *_: (PrimePool(2, 2), 2))
    statistic = incidence(t=2, n_max=4, size=2 * RUNS, epsilon=EPSILON, announced=1)
    event = Event(
        (5, 0), (0, 5),
        lambda intrusions: (intrusions[-1]["counters"] == [[1], [2]]).all(axis=0),
        lambda intrusions, noisy: (noisy[:, 1:3] >= 1).all(axis=1),
    )  # fmt: skip
    two, three, kept = start_noise(2, EPSILON / 2), start_noise(3, EPSILON / 2), right(EPSILON / 4)
    seen = two[0] * three[0], two[1] * three[2]
    # Each of the four counts that the item moves is right with `kept`.
    assert math.log(seen[0] / seen[1]) + 4 * math.log(kept / (1 - kept)) == pytest.approx(2 * EPSILON)
    require_private(statistic, event, (seen[0] * kept**2, seen[1] * (1 - kept) ** 2), 0.15)
