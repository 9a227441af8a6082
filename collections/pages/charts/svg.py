"""A chart as SVG: small, without scripts and style attributes, so that any policy, mail and printer takes it.

Colours are presentation attributes, which the style sheet of a page overrides by class: the same picture is
dark on dark pages and is complete elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from xml.etree import ElementTree as ET

from pages.charts.description import Chart, Link, Panel, Scale, Series, Value
from pages.charts.marks import STROKES, is_filled, mark_path, rounded
from pages.charts.scales import Place, Scaled, scaled, values_along

COLOURS = {
    "words": "#1a1a1a",
    "faint": "#595959",
    "grid": "#d8dce0",
    "zero": "#767d85",
    "estimate": "#0072b2",
    "truth": "#d55e00",
    "third": "#009e73",
    "fourth": "#cc79a7",
    "fifth": "#595959",
    "own": "#1a1a1a",
}
"""Class → colour unless a style sheet sets another: Okabe and Ito's on white, as site.css has them."""

ROLES = {
    "estimate": "estimate",
    "interval-66": "estimate",
    "interval-95": "estimate",
    "truth": "truth",
    "baseline": "fourth",
    "baseline-targeted": "third",
    "aggregated": "truth",
    "sampled": "estimate",
    "measured": "own",
    "line-1": "estimate",
    "line-2": "truth",
    "line-3": "third",
    "line-4": "fourth",
    "line-5": "fifth",
    "current": "own",
    "spent": "estimate",
    "budget": "truth",
}
"""Role of a series → class."""

DASHES = {"solid": "", "dash": "8 5", "dot": "2 4", "dashdot": "9 4 2 4"}

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"
SHADE = "0.25"
"""Opacity of a filled area: lines show through it."""

TEXT, LETTER, LINE = 13, 7.1, 20
"""Size of letters, about how wide one is, and the height of a line, in pixels."""

SWATCH, ENTRY_GAP = 34, 18
EDGE, TICK = 12, 5
MOST_LABEL = 22
"""Letters of a category's label; of more, the first."""

MOST_LINES = 2
"""Lines of a category's label, before labels are slanted."""

SLANT = 35
SLANTED = 0.6
"""How far a slanted label reaches down, as a share of its length."""


@dataclass(frozen=True)
class Frame:
    """How large a drawing is, and what it leaves out.

    Attributes:
        width: in pixels.
        columns: most panels side by side.
        small: whether legend and titles are left out, and the plot is `height` high.
        height: of a panel's plot; None for the chart's own.
    """

    width: int
    columns: int = 9
    small: bool = False
    height: int | None = None


WIDE, NARROW, SMALL = Frame(720), Frame(360, columns=1), Frame(320, small=True, height=96)


def svg(chart: Chart, frame: Frame, key: str) -> ET.Element:
    """The drawing as an element; `key` makes the identifiers of its words unique on a page."""
    # Nothing inside an image can be followed.
    role = "group" if any(series.links for panel in chart.panels for series in panel.series) else "img"
    root = ET.Element("svg", {"role": role, "aria-labelledby": f"{key}-title {key}-words"})
    ET.SubElement(root, "title", {"id": f"{key}-title"}).text = printable(chart.title)
    ET.SubElement(root, "desc", {"id": f"{key}-words"}).text = printable(chart.description)
    height = draw(root, chart, frame, top=0)
    size = {"width": str(frame.width), "height": rounded(height)}
    root.attrib |= {"viewBox": f"0 0 {size['width']} {size['height']}", **size}
    root.attrib |= {"font-family": FONT, "font-size": str(TEXT), "class": "drawing"}
    return root


def text_of(element: ET.Element) -> str:
    """An element as text for a page or a file."""
    return ET.tostring(element, encoding="unicode")


def draw(root: ET.Element, chart: Chart, frame: Frame, top: float) -> float:
    """Draw legend and panels below `top`; returns the lower end of the drawing."""
    if not frame.small:
        top = _legend(root, chart.legend(), frame.width, top)
    columns = min(frame.columns, chart.columns)
    plot = frame.height or chart.height
    scaled_y = scaled(chart.panels[0].y, values_along(chart.panels, "y"), plot, 0)
    left = _left_room(chart, frame, scaled_y)
    across = (frame.width - EDGE) / columns if columns == 1 else (frame.width - EDGE - left) / columns
    for first in range(0, len(chart.panels), columns):
        row = chart.panels[first : first + columns]
        top += LINE if any(panel.title for panel in row) else TICK
        is_last = first + columns >= len(chart.panels)
        bottom = top + plot
        for at, panel in enumerate(row):
            start = left + at * across
            end = start + across - (left if columns == 1 else 2 * EDGE)
            x = scaled(panel.x, values_along(chart.panels, "x"), start, end)
            y = scaled(panel.y, _values_of_height(chart, panel), bottom, top)
            below = _panel(root, panel, x, y, frame, is_bottom=is_last, is_left=at == 0)
            if at == 0:
                under = below
        top = under
    return top + TICK


def printable(text: str) -> str:
    """Without what no XML may hold."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")


def coloured(parent: ET.Element, name: str, **attributes: str) -> ET.Element:
    """A group of one colour's class, with that colour as a fallback without a style sheet."""
    return ET.SubElement(parent, "g", {"class": name, "color": COLOURS[name], **attributes})


def words(
    parent: ET.Element, text: str, x: float, y: float, anchor: str = "start", **more: str
) -> ET.Element:
    """Text in its group's colour."""
    attributes = {"x": rounded(x), "y": rounded(y), **more}
    if anchor != "start":
        attributes["text-anchor"] = anchor
    element = ET.SubElement(parent, "text", attributes)
    element.text = printable(text)
    return element


def _values_of_height(chart: Chart, panel: Panel) -> list[Value]:
    """Panels with one title have one scale, to be compared."""
    return values_along([other for other in chart.panels if other.y.title == panel.y.title], "y")


def _left_room(chart: Chart, frame: Frame, y: Scaled) -> float:
    labels = [
        text
        for panel in chart.panels
        if panel.y.labelled
        for _, text in scaled(panel.y, _values_of_height(chart, panel), y.start, y.end).ticks(5)
    ]
    room = LETTER * max(map(len, labels)) + 2 * TICK if labels else float(EDGE)
    if labels and chart.panels[0].y.scale is Scale.CATEGORY:
        room += EDGE  # words are wider than numbers
    titled = not frame.small and any(panel.y.title for panel in chart.panels)
    return room + (LINE if titled else 0)


def _legend(root: ET.Element, series: Sequence[Series], width: int, top: float) -> float:
    x, y = 0.0, top + LINE / 2
    for one in series:
        wide = SWATCH + LETTER * len(one.name)
        if x and x + wide > width:
            x, y = 0.0, y + LINE
        group = coloured(root, ROLES[one.role])
        if one.width:
            _stroke(group, f"M{rounded(x)} {rounded(y)}h26", one)
        if one.symbol:
            size = min(12.0, max(one.sizes(), default=0))
            if one.width and one.symbol in STROKES:
                # An interval is horizontal in the legend, with a cap at both ends.
                marks = mark_path("line-ns", x + 1, y, size) + mark_path("line-ns", x + 25, y, size)
            else:
                marks = mark_path(one.symbol, x + 13, y, size)
            _mark(group, marks, one)
        words(coloured(root, "words", fill="currentColor"), one.name, x + SWATCH, y + TEXT / 3)
        x += wide + ENTRY_GAP
    return y + LINE / 2


def _panel(
    root: ET.Element, panel: Panel, x: Scaled, y: Scaled, frame: Frame, *, is_bottom: bool, is_left: bool
) -> float:
    """Draw one panel; returns the lower end of the text below its horizontal axis."""
    if panel.title:
        group = coloured(root, "words", fill="currentColor")
        words(group, panel.title, (x.start + x.end) / 2, y.end - TICK, "middle", **{"font-weight": "600"})
    _grid(root, x, y, frame, is_left=is_left)
    below = _below(root, x, y, frame) if is_bottom else y.start + TICK
    if is_left and panel.y.title and not frame.small:
        middle = (y.start + y.end) / 2
        group = coloured(root, "faint", fill="currentColor")
        turned = f"rotate(-90 {TEXT} {rounded(middle)})"
        words(group, panel.y.title, TEXT, middle, "middle", transform=turned)
    for series in panel.series:
        _series(root, series, x, y)
    return below


def _grid(root: ET.Element, x: Scaled, y: Scaled, frame: Frame, *, is_left: bool) -> None:
    lines = []
    faint = coloured(root, "faint", fill="currentColor")
    for at, text in y.ticks(3 if frame.small else 5):
        if y.axis.scale is not Scale.CATEGORY:
            lines.append(f"M{rounded(x.start)} {rounded(at)}H{rounded(x.end)}")
        if is_left and y.axis.labelled:
            # Marks are on the lines of categories, up to their very beginning.
            gap = EDGE if y.axis.scale is Scale.CATEGORY else TICK
            words(faint, text, x.start - gap, at + TEXT / 3, "end")
    if x.axis.scale is not Scale.CATEGORY:
        lines += [f"M{rounded(at)} {rounded(y.end)}V{rounded(y.start)}" for at, _ in _across(x, frame)]
    ET.SubElement(coloured(root, "grid"), "path", {"d": "".join(lines), "stroke": "currentColor"})
    zero = []
    if y.axis.scale is Scale.LINEAR and y.low <= 0 <= y.high:
        zero.append(f"M{rounded(x.start)} {rounded(y.place_of_zero)}H{rounded(x.end)}")
    if x.axis.scale is Scale.LINEAR and x.low <= 0 <= x.high:
        zero.append(f"M{rounded(x.place_of_zero)} {rounded(y.end)}V{rounded(y.start)}")
    if zero:
        ET.SubElement(coloured(root, "zero"), "path", {"d": "".join(zero), "stroke": "currentColor"})


def _across(x: Scaled, frame: Frame) -> list[tuple[float, str]]:
    """Marks of the horizontal axis whose labels do not touch each other."""
    width = x.end - x.start
    ticks = x.ticks(max(2, int(width / (90 if x.axis.scale is Scale.TIME else 70))))
    kept: list[tuple[float, str]] = []
    for at, text in ticks:
        half = LETTER * len(text) / 2
        if not kept or at - half > kept[-1][0] + LETTER * (len(kept[-1][1]) / 2 + 1):
            kept.append((at, text))
    return kept


def _below(root: ET.Element, x: Scaled, y: Scaled, frame: Frame) -> float:
    """Labels and title of the horizontal axis; returns their lower end."""
    group = coloured(root, "faint", fill="currentColor")
    bottom = y.start + LINE
    if x.axis.scale is Scale.CATEGORY:
        bottom = _categories(group, x, y.start, frame)
    else:
        for at, text in _across(x, frame):
            words(group, text, min(at, frame.width - LETTER * len(text) / 2), y.start + LINE - TICK, "middle")
    if x.axis.title and not frame.small:
        words(group, x.axis.title, (x.start + x.end) / 2, bottom + LINE - TICK, "middle")
        bottom += LINE
    return bottom


def _categories(group: ET.Element, x: Scaled, baseline: float, frame: Frame) -> float:
    labels = [(at, _shortened(text)) for at, text in x.ticks(0)]
    slot = (x.end - x.start) / max(1, len(labels))
    longest = max((len(text) for _, text in labels), default=0)
    letters = max(1, int((slot - TICK) / LETTER))
    wrapped = [(at, wrap(text, letters, break_long_words=False)) for at, text in labels]
    lines = max((len(text) for _, text in wrapped), default=1)
    if lines <= MOST_LINES and all(len(line) <= letters for _, text in wrapped for line in text):
        for at, rows in wrapped:
            for row, line in enumerate(rows):
                words(group, line, at, baseline + LINE - TICK + row * (TEXT + 2), "middle")
        return baseline + LINE + (lines - 1) * (TEXT + 2)
    if frame.small:
        # As many as have room.
        step = -(-int(LETTER * longest + TICK) // max(1, int(slot)))
        for at, label in labels[::step] if step < len(labels) else ():
            words(group, label, at, baseline + LINE - TICK, "middle")
        return baseline + LINE
    step = max(1, round(LINE / slot))
    for at, label in labels[::step]:
        place = f"rotate(-{SLANT} {rounded(at)} {rounded(baseline + LINE - TICK)})"
        words(group, label, at, baseline + LINE - TICK, "end", transform=place)
    return baseline + LINE + SLANTED * LETTER * longest


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_LABEL else f"{text[: MOST_LABEL - 1]}…"


def _series(root: ET.Element, series: Series, x: Scaled, y: Scaled) -> None:
    places = [_place(x.place(one), y.place(other)) for one, other in zip(series.x, series.y, strict=True)]
    group = coloured(root, ROLES[series.role])
    if series.width:
        _stroke(group, _line_path(places, steps=series.steps), series)
    if series.symbol:
        links = series.links or [None] * len(places)
        sized = zip(places, series.sizes(), links, strict=True)
        marks = [
            (mark_path(series.symbol, *place, size), link) for place, size, link in sized if size and place
        ]
        _mark(group, "".join(path for path, link in marks if link is None), series)
        for path, link in marks:
            if link is not None:
                _mark(_linked(group, link), path, series)
    for place, text in zip_longest(places, series.words):
        if text and place:
            words(group, text, place[0] - LETTER * 2, place[1] + TEXT / 3, "end", fill="currentColor")


def _place(x: float | None, y: float | None) -> Place | None:
    return None if x is None or y is None else (x, y)


def _line_path(places: Sequence[Place | None], *, steps: bool) -> str:
    path, is_begun = [], False
    for place in places:
        if place:
            x, y = map(rounded, place)
            path.append(f"M{x} {y}" if not is_begun else f"H{x}V{y}" if steps else f"L{x} {y}")
        is_begun = place is not None
    return "".join(path)


def _stroke(group: ET.Element, path: str, series: Series) -> None:
    attributes = {"d": path, "fill": "none", "stroke": "currentColor", "stroke-width": rounded(series.width)}
    if series.filled:
        attributes |= {"fill": "currentColor", "opacity": SHADE}
    if DASHES[series.dash]:
        attributes["stroke-dasharray"] = DASHES[series.dash]
    ET.SubElement(group, "path", attributes)


def _linked(group: ET.Element, link: Link) -> ET.Element:
    """What leads there by the mouse. Keyboard users have the table next to the chart, which takes fewer
    steps.
    """
    anchor = ET.SubElement(group, "a", {"href": link.address, "tabindex": "-1"})
    ET.SubElement(anchor, "title").text = printable(link.words)
    return anchor


def _mark(group: ET.Element, path: str, series: Series) -> None:
    if not path:
        return
    attributes = {"d": path, "stroke": "currentColor", "stroke-width": "2"}
    attributes["fill"] = "currentColor" if is_filled(series.symbol) else "none"
    ET.SubElement(group, "path", attributes)
