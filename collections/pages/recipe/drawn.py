"""Results of one number each, on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from results.parts import Part
from storage.columns import stored

PERCENT = "% of the devices asked"
PERCENT_OF_SEGMENT = "% of the segment"


@dataclass(frozen=True)
class Drawn:
    """One result on the axis; an end is None if nothing bounds it."""

    value: float
    low: float | None
    high: float | None

    @property
    def reach(self) -> tuple[float, float]:
        """The ends between which its interval is drawn."""
        return (
            self.value if self.low is None else self.low,
            self.value if self.high is None else self.high,
        )


def drawn_together(parts: Sequence[Part], unit: str, segment: str = "") -> tuple[list[Drawn], str]:
    """Each result with its interval, and the title of the axis: shares if each of them has one with an
    interval, else what was estimated.

    Args:
        parts: at least one; each has one value, with an interval.
        unit: of the estimates.
        segment: what the parts are of; empty for the whole population.
    """
    drawn = [_share(part) for part in parts]
    if None not in drawn:
        return [one for one in drawn if one is not None], PERCENT_OF_SEGMENT if segment else PERCENT
    ends = [stored(part.interval) for part in parts]
    return [
        Drawn(part.values[0], end.low[0], end.high[0]) for part, end in zip(parts, ends, strict=True)
    ], unit


def _share(part: Part) -> Drawn | None:
    if part.shares is None:
        return None
    interval = part.shares.interval
    low, high = (None if end is None else 100 * end for end in (interval.low[0], interval.high[0]))
    return Drawn(100 * part.shares.values[0], low, high)
