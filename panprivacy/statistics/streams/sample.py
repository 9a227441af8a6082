"""Which items have a cell of the state, and which one: a table over a random sample of the universe.

Items are identified by their hashes under a random key. No item is stored, neither in the sample nor in the
state.
"""

import json
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.registry import Registry
from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.item_bytes import ItemBytes, encode_items
from panprivacy.statistics.streams.parameters import HASHED, LISTED, MULTI_SCALE, NUMBERED, StreamParameters

FORMAT = "panapp-stream-sample-1"
"""Version of the serialized form."""

Numbers = NDArray[np.uint64]


class SampleFormatError(ValueError):
    """Bytes that are no sample of this version."""


class Sample(ABC):
    """The cells of a stream's items, drawn once when the stream begins.

    Attributes:
        key: of the hash. Secret from those who send items, lest they choose some that fall together.
        universe_size: number of items, or of places that they are hashed to.
    """

    kind: ClassVar[str]
    """Name in SAMPLES and in the serialized form."""

    def __init__(self, key: bytes, universe_size: int) -> None:
        self.key = key
        self.universe_size = universe_size

    @staticmethod
    def draw(
        parameters: StreamParameters, universe: Sequence[str] | None, random_source: random.Random
    ) -> "Sample":
        """A sample for these parameters, uniformly at random.

        Args:
            universe: every item of it, if items are listed; else None.

        Raises:
            FieldError: `universe` is missing, of another size, lists an item twice or an invalid one; or is
                not needed.
        """
        sample_class = SAMPLES[parameters.sample_kind]
        if universe is not None and sample_class.kind != LISTED:
            raise FieldError("universe", f"is for listed items only, and items are {parameters.items}")
        return sample_class._draw(parameters, universe, random_source)

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
            return SAMPLES[content["kind"]]._read(base64_text.decode(content["key"]), content)
        except (KeyError, TypeError, ValueError) as error:
            raise SampleFormatError(f"not a stream sample: {error}") from error

    def to_bytes(self) -> bytes:
        """All of it; `from_bytes` is the inverse."""
        content = {
            "format": FORMAT,
            "kind": self.kind,
            "key": base64_text.encode(self.key),
            "universe_size": self.universe_size,
            **self._members(),
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
    def _draw(
        cls, parameters: StreamParameters, universe: Sequence[str] | None, random_source: random.Random
    ) -> Self:
        """As in `draw`."""

    @classmethod
    @abstractmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        """The inverse of `to_bytes`, of the unpacked fields; `key` is decoded."""

    @abstractmethod
    def _members(self) -> dict[str, Any]:
        """The fields that this class adds to the serialized form."""

    @abstractmethod
    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        """The cells of the items, −1 for those that have none."""


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


SAMPLES: Registry[type[Sample]] = Registry(
    "panprivacy.statistics.streams",
    {
        LISTED: "known_sample:ListedSample",
        NUMBERED: "known_sample:NumberedSample",
        HASHED: "hashed_sample:HashedSample",
        MULTI_SCALE: "multi_scale_sample:MultiScaleSample",
    },
)
"""Kind → class."""
