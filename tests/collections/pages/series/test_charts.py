"""Charts of long trends: a band in place of bars, which would touch each other."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from pages.charts.description import Axis, Chart, Panel, Scale
from pages.charts.plotly import plotly_figure
from pages.charts.shown import shown_chart
from pages.recipe.drawn import Drawn
from pages.series.charts import BANDS_FROM, DOT, _band, segments_chart
from panprivacy.statistics.intervals.estimate import Interval
from results.parts import Part
from series.models import Round
from series.selectors import Point

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def band():
    """Rounds 1 to 5; the third has no result."""
    rounds = [SimpleNamespace(pk=pk, opens_at=START + timedelta(weeks=pk)) for pk in range(1, 6)]
    intervals = {one.pk: Drawn(one.pk, one.pk - 0.5, one.pk + 0.5) for one in rounds if one.pk != 3}
    return _band("intervals", [SimpleNamespace(round=one) for one in rounds], intervals)


def test_a_band_with_a_withheld_round_is_parted_there(band):
    assert band.y == [0.5, 1.5, 2.5, 1.5, None, 3.5, 4.5, 5.5, 4.5, None]
    assert [None if at is None else (at - START).days // 7 for at in band.x] == [
        *(1, 2, 2, 1, None),
        *(4, 5, 5, 4, None),
    ]


@pytest.mark.parametrize(("rounds", "dots"), [(BANDS_FROM - 1, DOT), (BANDS_FROM, 0)])
def test_segments_of_a_long_series_are_lines_without_dots(rounds, dots):
    statistic = SimpleNamespace(unit="devices")
    recipe = SimpleNamespace(published=SimpleNamespace(calibrated_statistic=statistic))
    part = Part((4.0,), Interval(0.95, (3.0,), (5.0,)), None)
    release = SimpleNamespace(recipe=recipe)
    one = [
        SimpleNamespace(
            pk=pk, opens_at=START + timedelta(weeks=pk), state=Round.State.PUBLISHED, State=Round.State
        )
        for pk in range(rounds)
    ]
    points = [Point(each, release, part, None) for each in one]
    (panel,) = segments_chart(SimpleNamespace(name="Crashes"), {"2.0": points}).panels
    assert [line.size for line in panel.series if line.name == "2.0"] == [dots]
    assert panel.x.brush == (dots == 0)


def test_a_band_is_filled_in_both_drawings_and_has_a_brush(band):
    panel = Panel(x=Axis(scale=Scale.TIME, brush=True), y=Axis(), series=(band,))
    chart = Chart(title="Trend", description="", panels=(panel,), height=100)
    figure = plotly_figure(chart)
    assert figure["data"][0]["fill"] == "toself"
    assert figure["layout"]["xaxis"]["rangeslider"] == {"visible": True}
    assert 'opacity="0.25"' in shown_chart(chart, "trend").wide
