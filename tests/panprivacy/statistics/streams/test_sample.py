"""Which items have a cell: of a list, of numbers, of hashed places; and nothing of the items is kept."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.streams.density import DensityParameters
from panprivacy.statistics.streams.item_bytes import ItemError
from panprivacy.statistics.streams.sample import CellLookup, Sample, SampleFormatError
from panprivacy.statistics.streams.state import StateFormatError, StreamState
from tests.panprivacy.statistics.streams.siphash_by_definition import siphash
from tests.refusals import field_refused

FAILURE = 1e-7
HASHED = {
    "format": "panapp-stream-sample-1",
    "kind": "hashed",
    "key": base64_text.encode(bytes(16)),
    "universe_size": 5,
    "places": "",
}
UNIVERSE = [f"tail {number}" for number in range(50)]


def parameters(**changes):
    members = {"epsilon": 0.5, "universe_size": 50, "table_size": 50}
    return DensityParameters(**(members | changes))


def draw(universe=None, seed=1, **changes):
    return Sample.draw(parameters(**changes), universe, random.Random(seed))


SAMPLES = {
    "listed": lambda: draw(UNIVERSE, items="listed", table_size=20),
    "listed, all": lambda: draw(UNIVERSE, items="listed"),
    "numbered": lambda: draw(items="numbered", table_size=20),
    "numbered, all": lambda: draw(items="numbered"),
    "hashed": lambda: draw(table_size=20),
    "hashed, all": lambda: draw(),
    "many sizes": lambda: draw(accuracy="multiplicative", table_size=10),
}
ITEMS = {name: [str(number) for number in range(50)] if "numbered" in name else UNIVERSE for name in SAMPLES}


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_read_back_gives_each_item_its_cells_and_holds_none(name):
    sample = SAMPLES[name]()
    encoded = sample.to_bytes()
    again = Sample.from_bytes(encoded)
    assert (type(again), again.to_bytes()) == (type(sample), encoded)
    items = ITEMS[name] + ITEMS[name][::-1]
    cells = again.cells_of(items)
    assert cells.dtype == np.int64
    assert cells.size
    assert cells.tolist() == [cell for item in items for cell in sample.cells_of([item]).tolist()]
    assert sample.cells_of([]).tolist() == []
    assert b"tail" not in encoded
    assert "tail" not in repr(sample)
    assert set(json.loads(encoded)) <= {
        "format", "kind", "key", "universe_size", "hashes", "places", "table_size", "bits", "polynomials",
    }  # fmt: skip


def test_list_with_a_cell_for_every_item_has_them_in_its_order():
    sample = draw(UNIVERSE, items="listed")
    assert sample.cells_of(UNIVERSE).tolist() == list(range(50))
    assert sample.cells_of(["somebody else", UNIVERSE[3]]).tolist() == [3]


@pytest.mark.parametrize("name", ["listed", "numbered"])
def test_sample_of_a_part_gives_each_of_its_items_a_cell_of_its_own(name):
    cells = SAMPLES[name]().cells_of(ITEMS[name])
    assert sorted(cells.tolist()) == list(range(20))


def test_hashed_places_are_spread_evenly_and_have_a_cell_each():
    sample = draw(universe_size=10, table_size=10)
    counts = np.bincount(sample.cells_of([f"item {number}" for number in range(20_000)]), minlength=10)
    for count in counts:
        two_sided = 2 * min(binom.cdf(count, 20_000, 0.1), binom.sf(count - 1, 20_000, 0.1))
        assert two_sided > FAILURE / 10


def test_hashed_place_is_the_hash_scaled_to_the_universe():
    for universe_size in (3, 50, 999_999_999, 1_000_000_000):
        sample = draw(universe_size=universe_size, table_size=1)
        sample.places = np.empty(0, dtype=np.uint64)  # as if all had a cell
        expected = [siphash(sample.key, item.encode()) * universe_size // 2**64 for item in UNIVERSE]
        assert sample.cells_of(UNIVERSE).tolist() == expected


@given(st.lists(st.integers(0, 49)))
def test_numbers_below_the_universe_are_taken(numbers):
    assert draw(items="numbered").cells_of([str(number) for number in numbers]).tolist() == numbers


@pytest.mark.parametrize(
    "item",
    ["50", "007", "00", "-1", "+1", "1.0", "1e1", " 1", "1 ", "x", "٣", "²", "9" * 30, "1\n", "_1"],
)
@pytest.mark.parametrize("table_size", [20, 50])
def test_item_that_is_no_number_of_the_universe_is_refused_by_its_index(item, table_size):
    sample = draw(items="numbered", table_size=table_size)
    with pytest.raises(ItemError, match=r"^item 2: must be a whole number from 0 to 49") as caught:
        sample.cells_of(["1", "2", item, "nor this"])
    assert caught.value.index == 2


def test_numbers_of_a_universe_of_one_are_taken():
    sample = draw(items="numbered", universe_size=1, table_size=1)
    assert sample.cells_of(["0", "0"]).tolist() == [0, 0]
    with pytest.raises(ItemError):
        sample.cells_of(["1"])


@pytest.mark.parametrize(
    ("universe", "message"),
    [
        (None, "is missing"),
        (UNIVERSE[:-1], "must list 50 items, not 49"),
        (UNIVERSE[:-1] + UNIVERSE[:1], "must not list an item twice"),
        ([*UNIVERSE[:-1], "x" * 201], "item 49: must be a text of 1 to 200 characters"),
        ([*UNIVERSE[:-1], ""], "item 49: must be a text of 1 to 200 characters"),
        ([*UNIVERSE[:-1], "\ud800"], "item 49: must be text"),
    ],
)
def test_list_that_is_not_of_the_universe_is_refused(universe, message):
    with field_refused("universe", match=message):
        draw(universe, items="listed", table_size=10)


@pytest.mark.parametrize("items", ["numbered", "hashed"])
def test_list_of_a_universe_that_needs_none_is_refused(items):
    with pytest.raises(FieldError, match="universe: is for listed items only"):
        draw(UNIVERSE, items=items)


def test_key_under_which_two_items_fall_together_is_not_taken(monkeypatch):
    from panprivacy.statistics.streams import sample as module

    hashed = iter([[5, 7, 5], [1, 1, 1], [3, 1, 2]])
    monkeypatch.setattr(module, "siphash_items", lambda *_: np.array(next(hashed), dtype=np.uint64))
    sample = draw(["a", "b", "c"], items="listed", universe_size=3, table_size=3)
    assert sample.hashes.tolist() == [3, 1, 2]


def test_samples_drawn_twice_have_different_keys():
    assert draw().key != draw(seed=2).key
    assert len(draw().key) == 16


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\xc1",
        5,
        HASHED | {"format": "panapp-stream-sample-0"},
        HASHED | {"kind": "other"},
        HASHED | {"key": "no base64!"},
        HASHED | {"places": "MQ=="},
        HASHED | {"places": 1},
        HASHED | {"universe_size": "1000"},
        b"[" * 100_000,
        {name: value for name, value in HASHED.items() if name != "places"},
    ],
)
def test_bytes_that_are_no_sample_are_refused(encoded):
    assert Sample.from_bytes(json.dumps(HASHED).encode()).cells_of(["a"]).size == 1
    with pytest.raises(SampleFormatError):
        Sample.from_bytes(encoded if isinstance(encoded, bytes) else json.dumps(encoded).encode())


def test_state_of_an_array_of_no_type_is_refused():
    encoded = StreamState("density", 0, {"bits": np.zeros(3, dtype=np.uint8)}).to_bytes()
    with pytest.raises(StateFormatError):
        StreamState.from_bytes(encoded.replace(b"|u1", b"|,1"))


NUMBERS = st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60)


@given(NUMBERS, st.lists(st.integers(0, 2**64 - 1)))
def test_cells_of_numbers_are_their_places_and_of_others_none(numbers, others):
    lookup = CellLookup(np.array(numbers, dtype=np.uint64))
    asked = numbers[::-1] + others + numbers
    expected = [numbers.index(number) if number in numbers else -1 for number in asked]
    assert lookup.cells_of(np.array(asked, dtype=np.uint64)).tolist() == expected


@pytest.mark.parametrize("step", [1, 2**20, 2**44, 2**45 + 1])
def test_cells_of_numbers_in_a_regular_order_are_found(step):
    numbers = np.arange(2**16, dtype=np.uint64) * np.uint64(step)
    lookup = CellLookup(numbers)
    assert np.array_equal(lookup.cells_of(numbers), np.arange(2**16))
    assert (lookup.cells_of(numbers + np.uint64(2**63 + 1)) == -1).all()
