"""Items as one run of bytes: UTF-8 of the text as it is, not normalized."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_ITEM_BYTES = 1_000
"""Length of the longest item, in UTF-8."""


class ItemError(ValueError):
    """An item that cannot be one.

    Attributes:
        index: its place among those given, from 0. The message names it, and does not repeat the item.
        message: what is wrong, without the place.
    """

    def __init__(self, index: int, message: str) -> None:
        super().__init__(f"item {index}: {message}")
        self.index = index
        self.message = message


@dataclass(frozen=True, eq=False)
class ItemBytes:
    """Items one after the other.

    Attributes:
        joined: the bytes of all.
        lengths: int64, number of bytes of each.
    """

    joined: bytes
    lengths: NDArray[np.int64]


def encode_items(items: Sequence[str]) -> ItemBytes:
    """The UTF-8 of every item.

    Raises:
        ItemError: an item is longer than MAX_ITEM_BYTES, or has surrogates, which UTF-8 cannot encode.
        TypeError: something is no text.
    """
    text = "".join(items)
    if text.isascii():
        joined = text.encode("ascii")
        lengths = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
    else:
        encoded = [_encoded(index, item) for index, item in enumerate(items)]
        joined = b"".join(encoded)
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(items))
    if len(items) and lengths.max() > MAX_ITEM_BYTES:
        index = int(lengths.argmax())
        raise ItemError(
            index, f"must have at most {MAX_ITEM_BYTES:,} bytes in UTF-8, not {int(lengths[index]):,}"
        )
    return ItemBytes(joined, lengths)


def _encoded(index: int, item: str) -> bytes:
    try:
        return item.encode()
    except UnicodeEncodeError as error:
        raise ItemError(
            index, f"must be text that UTF-8 can encode; it has the surrogate U+{ord(item[error.start]):04X}"
        ) from None
