"""Items as one run of bytes: UTF-8 of the text, not normalized."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ITEM_LENGTH = 200
"""Most characters of an item."""

NO_ITEM = f"must be a text of 1 to {ITEM_LENGTH} characters"
"""The error's text for an invalid item."""


class ItemError(ValueError):
    """An invalid item.

    Attributes:
        index: its place among those given, from 0. The message names it, and does not repeat the item.
        message: the fault, without the place.
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
        ItemError: an item is empty or longer than ITEM_LENGTH, or has surrogates, which UTF-8 cannot encode.
        TypeError: something is no text.
    """
    text = "".join(items)
    lengths = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
    refused = (lengths < 1) | (lengths > ITEM_LENGTH)
    if refused.any():
        raise ItemError(int(refused.argmax()), NO_ITEM)
    if text.isascii():
        joined = text.encode("ascii")
    else:
        encoded = [_encoded(index, item) for index, item in enumerate(items)]
        joined = b"".join(encoded)
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(items))
    return ItemBytes(joined, lengths)


def _encoded(index: int, item: str) -> bytes:
    try:
        return item.encode()
    except UnicodeEncodeError as error:
        raise ItemError(
            index, f"must be text that UTF-8 can encode; it has the surrogate U+{ord(item[error.start]):04X}"
        ) from None
