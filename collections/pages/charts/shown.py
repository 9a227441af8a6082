"""A chart for a template: drawn for wide and narrow pages, and as data for plotly.js."""

import functools
import json
from dataclasses import dataclass, field

from django.utils.safestring import SafeString, mark_safe

from pages.charts.description import Chart
from pages.charts.plotly import plotly_figure
from pages.charts.svg import NARROW, SMALL, WIDE, Frame, svg, text_of

KEPT = 256
"""Drawings that a process keeps: results and plans are shown many times, and stay the same."""


@dataclass(frozen=True)
class ShownChart:
    """What `includes/chart.html` needs.

    Attributes:
        key: unique on the page, and fit for identifiers.
        wide, narrow: the drawing in two widths; the style sheet shows the one that fits.
        data: the figure for the script, as JSON.
    """

    key: str
    wide: SafeString
    narrow: SafeString
    data: str


def shown_chart(chart: Chart, key: str) -> ShownChart:
    """The chart in every shape that its page needs."""
    data = json.dumps(plotly_figure(chart), allow_nan=False, separators=(",", ":"))
    return ShownChart(key, _drawn(chart, WIDE, f"{key}-wide"), _drawn(chart, NARROW, f"{key}-narrow"), data)


def small_chart(chart: Chart, key: str) -> SafeString:
    """The drawing for a card: small, and without a legend."""
    return _drawn(chart, SMALL, f"{key}-small")


@dataclass(frozen=True)
class _Described:
    """A chart that equals another of the same content, though sequences in it may be lists.

    Attributes:
        content: all of the chart as text.
    """

    content: str
    chart: Chart = field(compare=False)


def _drawn(chart: Chart, frame: Frame, key: str) -> SafeString:
    return _kept(_Described(repr(chart), chart), frame, key)


@functools.lru_cache(maxsize=KEPT)
def _kept(described: _Described, frame: Frame, key: str) -> SafeString:
    # Every text in it went through the serializer, which escapes.
    return mark_safe(text_of(svg(described.chart, frame, key)))  # noqa: S308  # see above
