"""What changed from one result to another, in words."""

from typing import Any

from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.difference import Difference
from results.changes import Change
from web.numbers import at_place, place_of

POINTS = "points"
"""Percentage points of the devices that were asked."""

UNKNOWN = "How much it changed is not known."


def change_in_words(statistic: Statistic[Any], change: Change) -> str:
    """One sentence; of several values, how many changed. Shares are stated in points, if there are any."""
    found = change.told
    if not statistic.scalar:
        changed, values = sum(found.more_than_noise), len(found.values)
        what = "values" if change.shares is None else "shares"
        which = f"{changed} of" if changed else "None of the"
        return f"{which} {values} {what} changed by more than noise."
    shown = difference_texts(statistic, change, 0)
    if shown is None:
        return UNKNOWN
    size, ends = shown
    if not found.more_than_noise[0]:
        return f"No change beyond noise ({ends} {unit_of(statistic, change)})."
    return f"{'Up' if found.values[0] > 0 else 'Down'} by {size} ({ends}): more than noise."


def difference_texts(statistic: Statistic[Any], change: Change, row: int) -> tuple[str, str] | None:
    """One of the values' differences without its sign, with its unit, and the ends of its interval; None if
    it has no end on one side."""
    found, scale = scaled(change)
    value, low, high = found.values[row], found.interval.low[row], found.interval.high[row]
    if low is None or high is None:
        return None
    value, low, high = scale * value, scale * low, scale * high
    place = place_of(max(value - low, high - value)) if high > low else 0
    ends = f"{at_place(low, place)} to {at_place(high, place)}"
    return f"{at_place(abs(value), place)} {unit_of(statistic, change)}", ends


def unit_of(statistic: Statistic[Any], change: Change) -> str:
    """The unit of a change."""
    return statistic.unit if change.shares is None else POINTS


def scaled(change: Change) -> tuple[Difference, float]:
    """What is shown, and its factor: shares are in points."""
    return change.told, 1.0 if change.shares is None else 100.0
