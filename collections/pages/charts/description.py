"""What a chart shows, without colours or pixels: the one description from which every drawing is made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

Value = float | str | datetime | None
"""A place on an axis: a number, a category's name, a time. None breaks a line and places no mark."""


class Scale(Enum):
    """How an axis places values."""

    LINEAR = "linear"
    LOG = "log"
    CATEGORY = "category"
    TIME = "date"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis.

    Attributes:
        title: empty for none.
        scale: how values are placed.
        low, high: its ends; None to take those of the values, with room around them.
        categories: of a category axis, in their order.
        ticks: places with their labels; empty to choose round ones.
        labelled: whether the ticks have labels.
        brush: whether the interactive chart has a slider that picks a part of the axis.
    """

    title: str = ""
    scale: Scale = Scale.LINEAR
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    labelled: bool = True
    brush: bool = False


@dataclass(frozen=True)
class Link:
    """The link of a mark.

    Attributes:
        address: on this site.
        words: what is there; shown next to the mark under the pointer.
    """

    address: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one name: a line through them, marks at them, or both.

    Attributes:
        name: in the legend.
        role: what it is; the style sheet knows the colours of roles.
        x, y: the points, equally many of both.
        width: of the line in pixels; 0 for none.
        dash: `solid`, `dash`, `dot` or `dashdot`.
        filled: whether the line is the outline of an area, which is filled; None begins another area.
        steps: whether the line stays at a value until the next one.
        symbol: of the marks; empty for none. `line-ns` and `line-ew` are strokes up and across.
        size: of the marks in pixels, of all or of each; 0 for none.
        words: the text left of each point; empty for none.
        in_legend: whether the legend names it.
        links: the address of each mark; None for no link, empty for none.
    """

    name: str
    role: str
    x: Sequence[Value]
    y: Sequence[Value]
    width: float = 0
    dash: str = "solid"
    filled: bool = False
    steps: bool = False
    symbol: str = ""
    size: float | Sequence[float] = 0
    words: Sequence[str] = ()
    in_legend: bool = True
    links: Sequence[Link | None] = ()

    def sizes(self) -> Sequence[float]:
        """The size of each point's mark."""
        return [self.size] * len(self.x) if isinstance(self.size, int | float) else self.size


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Two axes with what is drawn between them; `title` is empty if there is but one panel."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One chart.

    Attributes:
        title, description: in words, for readers who do not see it.
        panels: at least one, by rows. All have the same scales.
        height: of one panel's plot, in pixels.
        columns: how many panels stand side by side if there is room.
    """

    title: str
    description: str
    panels: tuple[Panel, ...]
    height: int
    columns: int = 1

    def legend(self) -> list[Series]:
        """One series of each name that the legend shows, in order."""
        named: dict[str, Series] = {}
        for panel in self.panels:
            for series in panel.series:
                if series.in_legend:
                    named.setdefault(series.name, series)
        return list(named.values())
