"""A state as it was seen at an announced intrusion, as an intruder would read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams.state import StreamState
from web.numbers import number, significant

ROWS = 16
"""Most rows of a table of values: beyond this many values they are put into ranges of equal width."""

ACROSS, DOWN = 64, 24
"""Places of the picture of bits."""


@dataclass(frozen=True)
class ValueRow:
    """How many places hold a value, or one of a range."""

    values: str
    places: str
    percent: str


@dataclass(frozen=True)
class Picture:
    """The first bits as squares: those that are 1, as an SVG path of unit squares."""

    path: str
    across: int
    down: int
    shown: int


@dataclass(frozen=True)
class ArraySeen:
    """One array of a state that was seen.

    Attributes:
        first: its first values, unchanged.
        picture: of bits; None of other arrays.
        scale: how many of the whole numbers that are kept make one appearance; rows are in appearances.
    """

    name: str
    places: int
    rows: list[ValueRow]
    first: str
    picture: Picture | None
    scale: int


def arrays_seen(state: StreamState, fixed_point: Mapping[str, int]) -> list[ArraySeen]:
    """Every array with the distribution of its values. Nothing else is computed from a state: no estimate.

    Args:
        fixed_point: of the statistic.
    """
    return [_seen(name, array.reshape(-1), fixed_point.get(name, 1)) for name, array in state.arrays.items()]


def _seen(name: str, values: NDArray[Any], scale: int) -> ArraySeen:
    return ArraySeen(
        name=name,
        places=values.size,
        rows=_rows(values, scale),
        first=" ".join(str(value) for value in values[:40].tolist()) + (" …" if values.size > 40 else ""),
        picture=_picture(values) if values.dtype == np.uint8 else None,
        scale=scale,
    )


def _rows(values: NDArray[Any], scale: int) -> list[ValueRow]:
    low, high = int(values.min()), int(values.max())
    if high - low < ROWS:
        counts = np.bincount((values - low).astype(np.int64), minlength=high - low + 1)
        return _counted([number(low + place) for place in range(len(counts))], counts.tolist(), values.size)
    counts, edges = np.histogram(values, bins=ROWS, range=(low, high + 1))
    bounds = np.ceil(edges).astype(np.int64).tolist()
    labels = [_range(start, end, scale) for start, end in pairwise(bounds)]
    return _counted(labels, counts.tolist(), values.size)


def _range(start: int, end: int, scale: int) -> str:
    """The whole numbers from `start` to below `end`, in appearances."""
    if scale == 1:
        return f"{number(start)} to {number(end - 1)}"
    return f"{significant(start / scale, 4)} to below {significant(end / scale, 4)}"


def _counted(labels: Sequence[str], counts: Sequence[int], total: int) -> list[ValueRow]:
    return [
        ValueRow(label, number(count), f"{significant(100 * count / total, 3)}%")
        for label, count in zip(labels, counts, strict=True)
    ]


def _picture(bits: NDArray[np.uint8]) -> Picture:
    shown = min(bits.size, ACROSS * DOWN)
    ones = np.flatnonzero(bits[:shown]).tolist()
    squares = "".join(f"M{place % ACROSS} {place // ACROSS}h1v1h-1z" for place in ones)
    return Picture(squares, min(ACROSS, shown), -(-shown // ACROSS), shown)
