"""Density with a multiplicative error: ε over all tables, and the set of the right size."""

import math
import random

import numpy as np
import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.item_bits import BitDistributions, total_epsilon
from panprivacy.statistics.streams.sample import Sample
from tests.panprivacy.statistics.streams.contract import StreamContract
from tests.panprivacy.statistics.streams.scene import density_parameters, no_noise
from tests.panprivacy.statistics.streams.test_density import HashedStream


def multiplicative(**changes):
    members = {"items": "hashed", "accuracy": "multiplicative", "universe_size": 60_000, "table_size": 30_000}
    return density_parameters(**(members | changes))


class TestMultiplicativeDensity(HashedStream, StreamContract):
    @pytest.fixture
    def statistic(self):
        return Density(multiplicative(announced_intrusions=1))

    @pytest.fixture
    def tiny(self):
        return Density(multiplicative(universe_size=4, table_size=2))

    def guaranteed(self, statistic, announced):
        return 2 * total_epsilon(0.25, announced, 0.25), 0.0


@pytest.mark.parametrize(
    ("universe_size", "table_size", "sizes"),
    [
        (1_000, 1_000, [1024]),
        (1_024, 1_000, [1024]),
        (60_000, 1_024, [1024 << doublings for doublings in range(7)]),
        (3, 1, [2, 4]),
    ],
)
def test_sets_have_every_size_from_that_of_a_table_to_that_of_the_universe(universe_size, table_size, sizes):
    statistic = Density(multiplicative(universe_size=universe_size, table_size=table_size))
    assert [places.places for places in statistic._reading.sets] == sizes
    assert statistic.tables == len(sizes)
    assert statistic.start(random.Random(1)).arrays["bits"].size == len(sizes) * table_size


def test_item_has_at_most_one_cell_in_every_table():
    p = multiplicative(universe_size=60_000, table_size=8_192)
    sample = Sample.draw(p, None, random.Random(1))
    tables = len(sample.bits)
    assert tables == 4
    items = [f"item {number}" for number in range(300)]
    seen = np.zeros(tables, dtype=int)
    for item in items:
        places = sample.cells_of([item]) // p.table_size
        assert len(set(places.tolist())) == len(places)
        np.add.at(seen, places, 1)
    assert seen[0] == 300  # the smallest set fills its table
    # Of a set of 2^i places 2^13 have a cell: 150, 75 and 37.5 items, each within 6 standard deviations.
    for count, expected in zip(seen[1:], (150, 75, 37.5), strict=True):
        assert abs(count - expected) < 6 * math.sqrt(expected)


def test_bits_with_epsilon_in_every_table_as_printed_cost_more():
    """Ruling on section 3: the paper divides ε for the noise of the results, and not for the bits."""
    statistic = Density(multiplicative(universe_size=60_000, table_size=1_024))
    tables = statistic.tables
    assert tables == 7

    def intrusion(epsilon):
        """What one intrusion into one bit costs (Claim 3.1)."""
        original = BitDistributions.original(epsilon)
        return math.log((1 - original.absent) / (1 - original.present))

    # An item that is in all the tables has a bit in each; intrusions into independent bits add up.
    assert tables * intrusion(statistic.table_epsilon) <= 0.5
    assert tables * intrusion(0.5) > 4 * 0.5
    assert statistic.guarantee(0).epsilon < 2 * 0.5
    as_printed = tables * total_epsilon(0.5, 0, 0.5 / tables)
    assert as_printed > 2 * 2 * 0.5


def test_noise_of_every_table_has_the_scale_of_all_tables(monkeypatch):
    scales = no_noise(monkeypatch)
    statistic = Density(multiplicative(universe_size=60_000, table_size=1_024))
    statistic.estimate(statistic.start(random.Random(1)), random.Random(2))
    assert scales == [7 / 0.5] * 7


def test_largest_set_that_is_dense_enough_is_read():
    reading = Density(multiplicative(universe_size=10**9, table_size=10**6))._reading
    dense = math.sqrt(reading.share_bound(0, 0.95))
    assert dense < 0.5
    for items in (800_000, 3_000_000, 200_000_000):
        shares = [places.touched(items) for places in reading.sets]
        estimate = reading.read(shares, 0, 0.95)
        chosen = [places.places for places in reading.sets].index(estimate.details["set_size"])
        assert estimate.details["set_density"] == shares[chosen] >= dense
        assert all(share < dense for share in shares[chosen + 1 :])
        assert estimate.values[0] * 10**9 == pytest.approx(items, rel=1e-6)


def test_set_read_where_none_is_dense_enough_is_the_smallest():
    reading = Density(multiplicative())._reading
    assert reading.read([0.001, 0.002], 0, 0.95).details["set_size"] == 32_768


def test_few_items_of_a_large_universe_err_less_than_additively():
    changes = {"universe_size": 10**9, "table_size": 10**6, "items": "hashed"}
    additive = Density(density_parameters(**changes))._reading
    several = Density(multiplicative(**changes))._reading
    for items in (10**6, 10**7):
        bound = several.read([places.touched(items) for places in several.sets], 0, 0.95).error_bounds[0]
        # Less than the result; the additive one is larger than it.
        assert bound < 0.6 * items / 10**9
        assert additive.read([items / 10**9], 0, 0.95).error_bounds[0] > items / 10**9


def test_multiplicative_accuracy_of_listed_items_is_refused():
    with pytest.raises(FieldError, match="items: must be hashed"):
        multiplicative(items="listed")
