"""Which items have a cell of the state, and which one: a table over a random sample M of the universe (PPS
section 3, and Init of every figure).

Items are identified by their hashes under a random key. No item is stored, neither in the sample nor in the
state.
"""

import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.formats.registry import Registry
from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.item_bytes import ItemBytes, ItemError, encode_items
from panprivacy.statistics.streams.parameters import (
    HASHED,
    ITEM_LIST,
    MULTI_SCALE,
    NUMBERED,
    StreamParameters,
)
from panprivacy.statistics.streams.siphash import KEY_BYTES, siphash_items

FORMAT = "panapp-stream-sample-1"
"""Version of the serialized form."""

SLOTS_PER_ENTRY = 4
"""At least: few enough numbers then share a slot that two or three passes find all."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: spreads numbers that lie close together (Fibonacci hashing)."""

Numbers = NDArray[np.uint64]


class SampleFormatError(ValueError):
    """Bytes that are no sample of this version."""


class Sample(ABC):
    """The cells of a stream's items, drawn once when the stream begins.

    Attributes:
        key: of the hash. Secret from senders of items, so that they cannot choose items that fall together.
        universe_size: number of items, or of places that they are hashed to.
    """

    kind: ClassVar[str]
    """Name in the serialized form, and in `StreamParameters.sample_kind`."""

    def __init__(self, key: bytes, universe_size: int) -> None:
        self.key = key
        self.universe_size = universe_size

    @staticmethod
    def draw(
        parameters: StreamParameters, universe: Sequence[str] | None, random_source: random.Random
    ) -> "Sample":
        """A sample for these parameters, uniformly at random.

        Args:
            universe: every item of it, if items are listed; otherwise None.

        Raises:
            FieldError: `universe` is missing, of another size, lists an item twice or an invalid one; or is
                not needed.
        """
        if parameters.sample_kind == ITEM_LIST:
            return ListSample._draw_from_list(parameters, universe, random_source)
        if universe is not None:
            raise FieldError("universe", f"is for listed items only, and items are {parameters.items}")
        return UNLISTED_SAMPLES[parameters.sample_kind]._draw(parameters, random_source)

    @staticmethod
    def from_bytes(encoded: bytes) -> "Sample":
        """Read what `to_bytes` wrote.

        Raises:
            SampleFormatError: something else.
        """
        try:
            content = json.loads(encoded)
            if content["format"] != FORMAT:
                raise SampleFormatError(f"the format must be {FORMAT}, not {content['format']!r}")
            if type(content["universe_size"]) is not int:
                raise SampleFormatError("universe_size must be a whole number")
            return _sample_class(content["kind"])._read(base64_text.decode(content["key"]), content)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise SampleFormatError(f"not a stream sample: {error}") from error

    def to_bytes(self) -> bytes:
        """All of it; `from_bytes` is the inverse."""
        content = {
            "format": FORMAT,
            "kind": self.kind,
            "key": base64_text.encode(self.key),
            "universe_size": self.universe_size,
            **self._fields(),
        }
        return json.dumps(content).encode()

    def cells_of(self, items: Sequence[str]) -> NDArray[np.int64]:
        """The cells of the items in their order; items without one are left out.

        Raises:
            ItemError: one of them cannot be an item of the universe. It is named by its index.
            TypeError: something is no text.
        """
        cells = self._cells(encode_items(items))
        return cells[cells >= 0]

    @classmethod
    @abstractmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        """The inverse of `to_bytes`, of the unpacked fields; `key` is decoded."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """The fields that this class adds to the serialized form."""

    @abstractmethod
    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        """The cells of the items, −1 for those that have none."""


class UnlistedSample(Sample):
    """A sample that is drawn without a list of the items."""

    @classmethod
    @abstractmethod
    def _draw(cls, parameters: StreamParameters, random_source: random.Random) -> Self:
        """As in `Sample.draw`."""


class CellLookup:
    """From numbers to cells: a hash table in NumPy, asked for many numbers at once."""

    def __init__(self, numbers: NDArray[np.uint64]) -> None:
        """
        Args:
            numbers: all different; the one at index c has cell c.
        """
        bits = max(1, int(SLOTS_PER_ENTRY * max(1, numbers.size) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._mask = np.int64(2**bits - 1)
        self._numbers = numbers
        self._slots = np.full(2**bits, -1, dtype=np.int32)
        cells = np.arange(numbers.size, dtype=np.int32)
        slots = self._first_slots(numbers)
        while cells.size:
            free = self._slots[slots] < 0
            self._slots[slots[free]] = cells[free]  # if several want one, one of them gets it
            placed = self._slots[slots] == cells
            cells, slots = cells[~placed], (slots[~placed] + 1) & self._mask

    def cells_of(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The cell of each number in order; -1 for those that have none."""
        slots = self._first_slots(numbers)
        cells = self._slots[slots].astype(np.int64)
        if not self._numbers.size:
            return cells
        wrong = np.flatnonzero((cells >= 0) & (self._numbers[cells] != numbers))
        while wrong.size:
            slots[wrong] = (slots[wrong] + 1) & self._mask
            cells[wrong] = self._slots[slots[wrong]]
            wrong = wrong[(cells[wrong] >= 0) & (self._numbers[cells[wrong]] != numbers[wrong])]
        return cells

    def _first_slots(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        return ((numbers * MULTIPLIER) >> self._shift).astype(np.int64)


class KnownItemSample(Sample):
    """Some items of those that are known one by one.

    Attributes:
        hashes: of the items that have a cell; the one at place c has cell c.
    """

    def __init__(self, key: bytes, universe_size: int, hashes: Numbers) -> None:
        super().__init__(key, universe_size)
        self.hashes = hashes

    @cached_property
    def _lookup(self) -> CellLookup:
        return CellLookup(self.hashes)

    @classmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        return cls(key, content["universe_size"], unpacked_numbers(content["hashes"]))

    def _fields(self) -> dict[str, Any]:
        return {"hashes": packed_numbers(self.hashes)}

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        return self._lookup.cells_of(siphash_items(self.key, items))


class ListSample(KnownItemSample):
    """Some items of a list, or all in its order."""

    kind = ITEM_LIST

    @classmethod
    def _draw_from_list(
        cls, parameters: StreamParameters, universe: Sequence[str] | None, random_source: random.Random
    ) -> Self:
        if universe is None:
            raise FieldError("universe", "is missing; listed items need the list")
        if len(universe) != parameters.universe_size:
            raise FieldError(
                "universe", f"must list {parameters.universe_size:,} items, not {len(universe):,}"
            )
        if len(set(universe)) != len(universe):
            repeated, _ = Counter(universe).most_common(1)[0]
            raise FieldError("universe", f"must not list an item twice: {as_typed(repeated)}")
        try:
            encode_items(universe)
        except ItemError as error:
            raise FieldError("universe", str(error)) from None
        chosen = draws.distinct_below(parameters.table_size, len(universe), random_source)
        key, hashes = _hashed_apart(encode_items([universe[place] for place in chosen]), random_source)
        return cls(key, parameters.universe_size, hashes)


class NumberedSample(KnownItemSample, UnlistedSample):
    """Some of the whole numbers below the universe's size, or all: then a number is its own cell.

    Items are written in decimal digits, without leading zeros or signs.
    """

    kind = NUMBERED

    @classmethod
    def _draw(cls, parameters: StreamParameters, random_source: random.Random) -> Self:
        if parameters.table_size == parameters.universe_size:
            return cls(
                random_source.randbytes(KEY_BYTES), parameters.universe_size, np.empty(0, dtype=np.uint64)
            )
        chosen = draws.distinct_below(parameters.table_size, parameters.universe_size, random_source)
        key, hashes = _hashed_apart(encode_items([str(number) for number in chosen]), random_source)
        return cls(key, parameters.universe_size, hashes)

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        numbers = decimal_numbers(items, self.universe_size)
        return super()._cells(items) if self.hashes.size else numbers


class HashedSample(UnlistedSample):
    """Some of the places to which any item is hashed, or all: then a place is its own cell.

    Attributes:
        places: those that have a cell; the one at place c has cell c. Empty if all have.
    """

    kind = HASHED

    def __init__(self, key: bytes, universe_size: int, places: Numbers) -> None:
        super().__init__(key, universe_size)
        self.places = places

    @cached_property
    def _lookup(self) -> CellLookup:
        return CellLookup(self.places)

    @classmethod
    def _draw(cls, parameters: StreamParameters, random_source: random.Random) -> Self:
        places = some_places(parameters.table_size, parameters.universe_size, random_source)
        return cls(random_source.randbytes(KEY_BYTES), parameters.universe_size, places)

    @classmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        return cls(key, content["universe_size"], unpacked_numbers(content["places"]))

    def _fields(self) -> dict[str, Any]:
        return {"places": packed_numbers(self.places)}

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        hashes = siphash_items(self.key, items)
        # ⌊hash·size/2^64⌋ by halves, because the product has more than 64 bits; the size has at most 32.
        size, half = np.uint64(self.universe_size), np.uint64(32)
        low = (hashes & np.uint64(2**32 - 1)) * size >> half
        places = ((hashes >> half) * size + low) >> half
        return self._lookup.cells_of(places) if self.places.size else places.astype(np.int64)


UNLISTED_SAMPLES: Registry[type[UnlistedSample]] = Registry(
    __package__,
    {
        NUMBERED: "sample:NumberedSample",
        HASHED: "sample:HashedSample",
        MULTI_SCALE: "multiplicative_density:MultiScaleSample",
    },
)
"""Type of sample → class, of those that need no list."""


def _sample_class(kind: str) -> type[Sample]:
    return ListSample if kind == ITEM_LIST else UNLISTED_SAMPLES[kind]


def decimal_numbers(items: ItemBytes, universe_size: int) -> NDArray[np.int64]:
    """The items as numbers, written without leading zeros or signs.

    Raises:
        ItemError: for the first that is no number below `universe_size`.
    """
    lengths = items.lengths
    most_digits = len(str(universe_size - 1))
    # One more byte, because an empty item may begin at the end. Other bytes than digits become large.
    digits = np.frombuffer(items.joined + b"0", dtype=np.uint8) - np.uint8(ord("0"))
    starts = np.cumsum(lengths) - lengths
    refused = (lengths == 0) | (lengths > most_digits) | ((lengths > 1) & (digits[starts] == 0))
    numbers = np.zeros(lengths.size, dtype=np.int64)
    for position in range(most_digits):
        longer = lengths > position
        digit = np.where(longer, digits[np.where(longer, starts + position, 0)], 0)
        refused |= digit > 9
        numbers = np.where(longer, 10 * numbers + digit, numbers)
    refused |= numbers >= universe_size
    if refused.any():
        raise ItemError(
            int(refused.argmax()),
            f"must be a whole number from 0 to {universe_size - 1}, in decimal digits without leading zeros",
        )
    return numbers


def packed_numbers(numbers: Numbers) -> str:
    """Whole numbers for a serialized form: 8 bytes each, all in base64."""
    return base64_text.encode(numbers.astype("<u8").tobytes())


def unpacked_numbers(encoded: object) -> Numbers:
    """The inverse of `packed_numbers`; ValueError for anything else."""
    return np.frombuffer(base64_text.decode(encoded), dtype="<u8").astype(np.uint64)


def some_places(count: int, places: int, random_source: random.Random) -> Numbers:
    """`count` of the places 0..places − 1 at random; none if it is all of them."""
    if count == places:
        return np.empty(0, dtype=np.uint64)
    return draws.distinct_below(count, places, random_source)


def _hashed_apart(items: ItemBytes, random_source: random.Random) -> tuple[bytes, Numbers]:
    """A random key under which all these items have different hashes, and the hashes."""
    while True:
        key = random_source.randbytes(KEY_BYTES)
        hashes = siphash_items(key, items)
        if np.unique(hashes).size == hashes.size:
            return key, hashes
