"""Charts as the server draws them."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import pages
from pages.charts.description import Axis, Chart, Panel, Scale, Series
from pages.charts.plotly import plotly_figure
from pages.charts.shown import shown_chart, small_chart
from pages.charts.svg import NARROW, ROLES, WIDE, svg
from pages.charts.ticks import linear_ticks, log_ticks, time_ticks

LINES = Series(name="line", role="line-1", width=2, x=[1.0, 2.0, None, 3.0], y=[1.0, 4.0, None, 9.0])


def chart_of(*series: Series, **axes: Any) -> Chart:
    panel = Panel(**{"x": Axis(), "y": Axis(), **axes}, series=series)
    return Chart(title="A title", description="Some words.", panels=(panel,), height=200)


def paths(element: ET.Element, name: str) -> list[str]:
    """Of the groups of this class: the paths, those of the legend first."""
    return [path.attrib["d"] for group in element.iter("g") if group.get("class") == name for path in group]


def test_drawing_says_in_words_what_it_is_under_identifiers_of_its_own() -> None:
    drawing = svg(chart_of(LINES), WIDE, "key")
    assert drawing.attrib["role"] == "img"
    named = drawing.attrib["aria-labelledby"].split()
    assert [element.attrib["id"] for element in drawing[:2]] == named
    assert [element.text for element in drawing[:2]] == ["A title", "Some words."]
    shown = shown_chart(chart_of(LINES), "key")
    identifiers = re.findall(r' id="(.*?)"', shown.wide + shown.narrow + small_chart(chart_of(LINES), "key"))
    assert len(identifiers) == len(set(identifiers)) == 6


def test_line_is_broken_where_a_value_is_missing_or_has_no_place() -> None:
    (_, path) = paths(svg(chart_of(LINES), WIDE, "key"), "estimate")
    assert re.fullmatch(r"M[\d. ]+L[\d. ]+M[\d. ]+", path)
    marks = Series(name="marks", role="estimate", symbol="circle", size=8, x=[1.0, 2.0], y=[0.0, 5.0])
    (*_, path) = paths(svg(chart_of(marks, y=Axis(scale=Scale.LOG)), WIDE, "key"), "estimate")
    assert path.count("M") == 1
    empty = Series(name="nothing", role="estimate", width=2, x=[], y=[])
    assert math.isfinite(float(svg(chart_of(empty), WIDE, "key").attrib["height"]))


@pytest.mark.parametrize("frame", [WIDE, NARROW])
@pytest.mark.parametrize("scale", [Scale.LINEAR, Scale.LOG])
def test_every_mark_lies_within_the_drawing_and_in_the_order_of_its_value(scale: Scale, frame: Any) -> None:
    values = [0.001, 0.5, 3.0, 70_000.0]
    marks = Series(name="marks", role="estimate", symbol="circle", size=8, x=values, y=values)
    drawing = svg(chart_of(marks, x=Axis(scale=scale), y=Axis(scale=scale)), frame, "key")
    (*_, path) = paths(drawing, "estimate")
    places = [tuple(map(float, place)) for place in re.findall(r"M([\d.]+) ([\d.]+)", path)]
    assert len(places) == len(values)
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [-y for _, y in places] == sorted(-y for _, y in places)
    for x, y in places:
        assert 0 <= x <= frame.width
        assert 0 <= y <= float(drawing.attrib["height"])


def test_words_of_others_are_escaped_and_nothing_stands_in_a_style() -> None:
    hostile = "</svg><script>alert(1)</script>\x00"
    series = Series(name=hostile, role="estimate", symbol="circle", size=8, x=[hostile], y=[1.0])
    categories = Axis(scale=Scale.CATEGORY, categories=(hostile,), title=hostile)
    shown = shown_chart(chart_of(series, x=categories), "key")
    for drawing in (shown.wide, shown.narrow, small_chart(chart_of(series, x=categories), "key")):
        assert "<script" not in drawing
        assert "style=" not in drawing
        assert "\x00" not in drawing
        ET.fromstring(drawing)  # noqa: S314  # our own drawing


def test_chart_is_drawn_again_only_where_something_of_it_is_another() -> None:
    first = shown_chart(chart_of(LINES), "key")
    assert shown_chart(chart_of(replace(LINES, y=list(LINES.y))), "key").wide is first.wide
    moved = shown_chart(chart_of(replace(LINES, y=[1.0, 4.0, None, 9.000000000000002])), "key")
    assert moved.wide is not first.wide
    titled = shown_chart(replace(chart_of(LINES), title="Another title"), "key")
    assert "Another title" in titled.wide


def test_series_of_one_name_is_in_the_legend_once() -> None:
    panel = Panel(x=Axis(), y=Axis(), series=(LINES,))
    chart = Chart(title="", description="", panels=(panel, panel), height=100)
    assert len(chart.legend()) == 1
    assert [trace["showlegend"] for trace in plotly_figure(chart)["data"]] == [True, False]
    texts = [text.text for text in svg(chart, WIDE, "key").iter("text")]
    assert texts.count("line") == 1


def test_script_knows_a_colour_for_every_role() -> None:
    script = (Path(pages.__file__).parent / "static" / "chart.js").read_text()
    assert set(re.findall(r'"([a-z0-9-]+)": "--', script)) == set(ROLES)


def test_axes_have_round_numbers_or_powers_of_ten() -> None:
    for low, high, shown in (
        (0, 1_100, ["0", "200", "400", "600", "800", "1,000"]),
        (-0.1, 0.1, ["−0.1", "−0.05", "0", "0.05", "0.1"]),
        (5, 5, ["5"]),
    ):
        assert [text for _, text in linear_ticks(low, high, 6)] == shown
    assert [text for _, text in log_ticks(1, 10_000)] == ["1", "10", "100", "1,000", "10,000"]
    assert [text for _, text in log_ticks(1, 10)][:4] == ["1", "2", "5", "10"]
    assert [text for _, text in log_ticks(1e-8, 1)] == ["10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01", "1"]


def test_axis_of_time_has_few_marks_whatever_its_length() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for span in (timedelta(seconds=3), timedelta(hours=5), timedelta(days=3), timedelta(days=4000)):
        ticks = time_ticks(begin.timestamp(), (begin + span).timestamp(), 6)
        assert 1 <= len(ticks) <= 7
        assert len({text for _, text in ticks}) == len(ticks)
    rounds = [datetime(2026, 10, 12, 9, tzinfo=UTC) + timedelta(weeks=week) for week in range(5)]
    weekly = time_ticks(rounds[0].timestamp(), rounds[-1].timestamp(), 6)
    assert [at for at, _ in weekly] == [one.timestamp() for one in rounds], "marks lie at the rounds"
    assert [text for _, text in weekly][:2] == ["12 Oct", "19 Oct"]
    # Of two years, marks a year apart may be one only.
    begin, end = datetime(2025, 1, 2, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    assert len(time_ticks(begin.timestamp(), end.timestamp(), 2)) >= 2
