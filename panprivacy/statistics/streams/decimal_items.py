"""Items that are whole numbers, read from their decimal digits, many at once."""

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams.item_bytes import ItemBytes, ItemError


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
