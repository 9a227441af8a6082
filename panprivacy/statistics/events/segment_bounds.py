"""Simultaneous intervals for the numbers of devices in all segments, by exact tests and a union bound."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panprivacy.intervals.estimate import LEVELS
from panprivacy.intervals.randomized_bits import RandomizedBits, ends
from panprivacy.intervals.release_rule import ReleaseRule
from panprivacy.intervals.segment_estimates import Ends, SegmentBounds
from panprivacy.statistics.events.randomized_response import RandomizedResponse


@dataclass(frozen=True)
class Ones:
    """The intervals from the sum of all reports.

    Attributes:
        cells: ones by segment (row) and number of events (column, at least 2).
        reports, sampling_rate, rule: as in RandomizedBits.
    """

    cells: NDArray[np.int64]
    reports: int
    sampling_rate: float
    rule: ReleaseRule

    @staticmethod
    def quantities(segments: int, numbers: int) -> int:
        """How many numbers are bounded at once: of each segment its size, and with and without each."""
        return segments * (1 + numbers * (1 if numbers == 2 else 2))


def segment_bounds(response: RandomizedResponse, ones: Ones) -> list[tuple[SegmentBounds, ...]]:
    """Of each segment, at each of `LEVELS`, the widest first."""
    found = [_at_level(response, ones, level) for level in LEVELS]
    return list(zip(*found, strict=True))


def _at_level(response: RandomizedResponse, ones: Ones, level: float) -> list[SegmentBounds]:
    segments, numbers = ones.cells.shape
    each = (1 - level) / Ones.quantities(segments, numbers)
    sizes = ones.cells.sum(axis=1, keepdims=True)
    devices = _ends(response, ones, sizes, numbers, each)
    answers = _ends(response, ones, ones.cells, 1, each)
    if numbers == 2:  # then those without one answer have the other
        others = [row[::-1] for row in answers]
    else:
        others = _ends(response, ones, sizes - ones.cells, numbers - 1, each)
    return [
        SegmentBounds(level=level, devices=size, answers=tuple(having), others=tuple(lacking))
        for (size,), having, lacking in zip(devices, answers, others, strict=True)
    ]


def _ends(
    response: RandomizedResponse, ones: Ones, counted: NDArray[np.int64], coins: int, failure: float
) -> list[list[Ends]]:
    """The interval of the number of devices with one of `coins` bits, from the ones of all of them.

    Args:
        counted: any shape of two dimensions; the result has the same.
        coins: how many bits are counted together.
        failure: probability with which one interval does not hold.
    """
    flip, rate = response.flip_probability, ones.sampling_rate
    family = RandomizedBits(ones.reports, flip, 1 - flip, rate, coins, ones.rule)
    lows, highs = ends(family, counted.ravel().tolist(), failure)
    # As in bits_intervals: an estimate between two possible truths can lie outside of both.
    estimates = [response.debiased(int(seen), ones.reports * coins) / rate for seen in counted.ravel()]
    possible = np.clip(estimates, 0.0, ones.reports / rate)
    lows, highs = np.minimum(lows, possible), np.maximum(highs, possible)
    flat = list(zip(lows.tolist(), highs.tolist(), strict=True))
    width = counted.shape[1]
    return [flat[first : first + width] for first in range(0, len(flat), width)]
