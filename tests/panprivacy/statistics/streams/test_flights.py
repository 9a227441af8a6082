"""Real input: the aircraft of 336,776 flights from New York in 2013, by their tail numbers."""

import random
from collections import Counter

import numpy as np
import pytest

from devices_sim.workloads.flights import MISSING, columns
from panprivacy.statistics.streams.cropped_mean import CroppedMean
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.heavy_hitters import HeavyHitters, HeavyHittersParameters
from panprivacy.statistics.streams.sample import Sample
from tests.panprivacy.statistics.streams.scene import cropped_mean_parameters, density_parameters

pytestmark = pytest.mark.statistical

CONFIDENCE = 1 - 4e-7
BATCH = 50_000


@pytest.fixture(scope="module")
def tail_numbers():
    flights = [number for (number,) in columns("tailnum")]
    found = [number for number in flights if number not in MISSING]
    assert (len(flights), len(found), len(set(found))) == (336_776, 334_264, 4_043)
    return found


def require_truth_within_bound(statistic, universe, items, between=None):
    # Fails with probability at most 1 − CONFIDENCE = 4e-7, whatever the randomness, and 5e-7 by the search.
    source = random.SystemRandom()
    sample = Sample.draw(statistic.parameters, universe, source)
    state = statistic.start(source)
    for first in range(0, len(items), BATCH):
        statistic.process_batch(state, sample.cells_of(items[first : first + BATCH]), source)
    (truth,) = statistic.truth(Counter(items))
    low, high = between or (truth, truth)
    assert low <= truth <= high
    estimate = statistic.estimate(state, source, CONFIDENCE)
    (value,), (bound,) = estimate.values, estimate.error_bounds
    assert low - bound <= value <= high + bound
    if between is None:
        encoded = state.to_bytes() + sample.to_bytes()
        # At most 8·4,043 + 16 bytes are random; 6 bytes or more are found there by chance with probability
        # 4,043·32,360/256^6 < 5e-7. Shorter numbers could be, and any in the larger state of heavy hitters.
        assert not any(item.encode() in encoded for item in set(items) if len(item) >= 6)
    return truth, estimate


def test_density_of_hashed_tail_numbers_lies_within_its_bound(tail_numbers):
    statistic = Density(density_parameters(items="hashed", universe_size=40_000, table_size=40_000))
    truth, estimate = require_truth_within_bound(statistic, None, tail_numbers)
    assert truth == 4_043 / 40_000
    # 0.112 for the share of touched places, and more for the items the more are touched: if the share is
    # within its bound, at most 0.153.
    assert estimate.error_bounds[0] < 0.153


def test_cropped_mean_of_listed_tail_numbers_lies_within_its_bound(tail_numbers):
    universe = sorted(set(tail_numbers))
    statistic = CroppedMean(
        cropped_mean_parameters(items="listed", universe_size=4_043, table_size=4_043, t=20)
    )
    truth, estimate = require_truth_within_bound(statistic, universe, tail_numbers)
    assert truth == pytest.approx(np.minimum(list(Counter(tail_numbers).values()), 20).mean())
    assert estimate.error_bounds[0] < 8


def test_aircraft_with_many_flights_are_estimated_for_a_close_stream(tail_numbers):
    parameters = {"universe_size": 4_043, "table_size": 4_043, "items": "listed"}
    statistic = HeavyHitters(HeavyHittersParameters(**parameters, epsilon=0.5, k=50, rho=1.0, n_max=600))
    flights = np.array(list(Counter(tail_numbers).values()))
    # The value is about a fraction between those above and below which items count for certain.
    between = float(np.mean(flights >= 49.5 * 2)), float(np.mean(flights > 49.5 / 2))
    require_truth_within_bound(statistic, sorted(set(tail_numbers)), tail_numbers, between)
