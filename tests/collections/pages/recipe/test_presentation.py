import math
from collections.abc import Sequence
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from pages.charts.plotly import plotly_figure
from pages.recipe.charts import release_chart
from pages.recipe.details import details_of
from pages.recipe.drawn import PERCENT
from pages.recipe.presentation import (
    Headline,
    ShownInterval,
    error_sentence,
    estimate_rows,
    headline,
    uninformative,
)
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.streams import STREAM_STATISTICS
from recipes.models import Recipe
from results.excerpt import MOST_SHOWN, excerpt_made, excerpt_of, interval_of
from results.models import NUMBERS, Release
from tests.scenes import open_stream
from tests.statistic_members import small_members

pytestmark = pytest.mark.django_db

REPORTS = 60


def release(*, intervals: Sequence[Interval] = (), **changes: object) -> Release:
    members = {
        "outcome": "released",
        "values": [0.5],
        "standard_errors": [],
        "standard_error_note": "None is stated here.",
        "projection": [0.5],
        **changes,
    }
    made = Release(**members)
    estimate = Estimate(
        **{name: tuple(getattr(made, name) or ()) for name in NUMBERS[:-1]},
        standard_error_note=made.standard_error_note,
        confidence=made.confidence,
        intervals=tuple(intervals),
        details=made.details or {},
    )
    made.intervals = [asdict(interval) for interval in estimate.stated_intervals()]
    made.excerpt = excerpt_made(**{name: getattr(made, name) for name in NUMBERS})
    return made


TEST = release(
    values=[70.0],
    standard_errors=[50.0],
    standard_error_note="If the values are uniform.",
    details={
        "verdict": "no_difference_found",
        "threshold": 500.0,
        "calibrated_verdict": "no_difference_found",
        "calibrated_threshold": 120.0,
    },
)


def test_interval_of_error_bounds_keeps_their_confidence() -> None:
    interval = interval_of(release(error_bounds=[0.2], confidence=0.9))
    assert interval is not None
    assert interval.level == 0.9
    assert (interval.low, interval.high) == (pytest.approx((0.3,)), pytest.approx((0.7,)))
    assert interval_of(release()) is None


def test_interval_without_an_upper_end_is_said_to_be_at_least_so_much() -> None:
    recipe = open_stream()
    full = release(values=[7.0], intervals=[Interval(0.95, (2.5,), (None,)), Interval(0.66, (2.9,), (None,))])
    assert headline(recipe, full) == Headline("At least 2.5 of all items", "95%")
    (row,) = estimate_rows(recipe, full, None)
    assert [interval.ends for interval in row.intervals] == ["at least 2.900", "at least 2.500"]
    assert row.note == ""
    assert "Nothing bounds the truth from above" in error_sentence(recipe, full)
    (thin, *_) = plotly_figure(release_chart(recipe, full, None))["data"]
    assert thin["x"] == [2.5, 7.0, None]
    assert not uninformative(recipe, full)
    anything = release(values=[7.0], intervals=[Interval(0.95, (0.0,), (None,))])
    assert headline(recipe, anything).text == "At least 0 of all items: says nothing"
    assert uninformative(recipe, anything)


def test_headline_has_the_margin_of_the_interval_or_the_bound() -> None:
    recipe, bound = open_stream(), {"error_bounds": [0.4], "confidence": 0.9}
    for made, text, level in (
        (release(standard_errors=[0.1]), "0.50 ± 0.20 of all items", "95%"),
        (release(standard_errors=[0.1], **bound), "0.50 ± 0.40 of all items", "90%"),
        (release(**bound), "0.50 ± 0.40 of all items", "90%"),
        (release(), "0.5000 of all items", ""),
    ):
        assert headline(recipe, made) == Headline(text, level)
    below = release(values=[-0.04], intervals=[Interval(0.95, (0.0,), (0.01,))])
    assert headline(recipe, below).text == "−0.040 ± 0.050 of all items: consistent with zero"


def test_result_of_a_test_is_its_verdict_without_an_interval() -> None:
    recipe = open_stream()
    assert headline(recipe, TEST).text == "Verdict: no difference found"
    assert interval_of(TEST) is None
    (row,) = estimate_rows(recipe, TEST, None)
    assert (row.intervals, row.note) == ([], "")
    for said in ("50 if the values are uniform.", "Z′ adds up", "never prove that there is none"):
        assert said in error_sentence(recipe, TEST)
    assert not uninformative(recipe, TEST)
    figure = plotly_figure(release_chart(recipe, TEST, None))
    named = {trace["name"]: trace["x"] for trace in figure["data"]}
    assert named["threshold of the paper"] == [500.0]
    assert named["calibrated threshold"] == [120.0]
    assert figure["layout"]["xaxis"]["range"][1] > 500
    details = {**TEST.details, "calibrated_verdict": "not_uniform"}
    differing = release(values=[300.0], standard_errors=[50.0], details=details)
    assert headline(recipe, differing).text == (
        "Verdict: not uniform by the calibrated threshold, no difference found by that of the paper"
    )


def test_every_detail_is_shown_and_an_unknown_one_under_its_name() -> None:
    more = {"far_off": [1, 0.12341], "expected_shift_at_alpha": 71.0, "saturated": True}
    details = details_of(Recipe(statistic="uniformity"), release(details={**TEST.details, **more}))
    shown = {detail.label: detail.value for detail in details}
    assert shown["Verdict"] == "no difference found"
    assert shown["Threshold of the paper (τ)"] == "500"
    assert shown["Rise of the test statistic (Z′) at distance (α)"] == "71"
    assert (shown["Far off"], shown["Saturated"]) == ("1, 0.1234", "yes")


def test_of_very_many_estimates_the_largest_are_shown_in_their_order() -> None:
    size = 3 * MOST_SHOWN
    many = release(values=[math.sin(place) for place in range(size)], projection=[0.0] * size)
    excerpt = excerpt_of(many)
    assert len(excerpt.positions) == MOST_SHOWN
    assert excerpt.positions == sorted(excerpt.positions)
    assert excerpt.values == [many.values[position] for position in excerpt.positions]
    left_out = set(range(size)) - set(excerpt.positions)
    assert max(many.values[place] for place in left_out) <= min(excerpt.values)
    assert excerpt_of(release(values=[3.0, 1.0], projection=[3.0, 1.0])).positions == [0, 1]


def test_what_is_said_of_all_estimates_counts_those_that_are_not_shown() -> None:
    size = 2 * MOST_SHOWN
    recipe = open_stream(**{**ITEMS, "universe_size": size})
    smallest_last = release(
        values=[*(float(size - place) for place in range(size - 1)), -1.0],
        standard_errors=[2.0] * (size - 1) + [7.0],
        projection=[0.0] * size,
        error_bounds=[500.0] * (size - 2) + [400.0, 900.0],
        confidence=0.95,
    )
    excerpt = excerpt_of(smallest_last)
    assert (excerpt.count, excerpt.any_below_zero) == (size, True)
    assert (excerpt.least_margin, excerpt.largest_margin) == (400.0, 900.0)
    said = error_sentence(recipe, smallest_last)
    assert "chosen beforehand, is at most 7.0" in said
    alike = release(values=[1.0, 2.0], standard_errors=[7.0, 7.0], projection=[1.0, 2.0])
    assert "chosen beforehand, is 7.0" in error_sentence(recipe, alike)
    assert "± 900 elements" in said
    # One that is not shown may be the largest: its margin is not among those that are.
    assert headline(recipe, smallest_last).text == (
        "item 0: 400 ± 500 elements, not surely more than the other 399"
    )


ITEMS = {"statistic": "pan_histogram", "delta": 1e-7, "universe_size": 40, "table_size": None}


def many_items(**changes: object) -> Release:
    """Forty items of which none came: noise with a standard error of 61, and 303 for all together."""
    members = {
        "values": [260.0, *(10.0 - place for place in range(39))],
        "standard_errors": [61.0] * 40,
        "projection": [0.0] * 40,
        "error_bounds": [303.0] * 40,
        "confidence": 0.95,
    }
    return release(**{**members, **changes})


def test_several_estimates_have_the_margin_for_all_together() -> None:
    recipe, items = open_stream(**ITEMS), many_items()
    assert headline(recipe, items) == Headline(
        "item 0: 260 ± 300 elements, not surely more than the other 39", "95% for all values together"
    )
    last = headline(recipe, many_items(values=[*reversed(items.values)]))
    assert last.text == "item 39: 260 ± 300 elements, not surely more than the other 39"
    surely = headline(recipe, many_items(values=[617.0, *items.values[1:]]))
    assert surely.text.endswith(" elements, more than the other 39")
    assert "not surely" in headline(recipe, many_items(values=[615.0, *items.values[1:]])).text
    by_standard_errors = headline(recipe, many_items(error_bounds=[], confidence=None))
    assert "± 200 elements" in by_standard_errors.text, "61 times 3.23, for 40 values; one alone has ± 120"
    first = estimate_rows(recipe, items, None)[0]
    assert first.note == "consistent with zero"
    assert first.intervals == [ShownInterval("95% interval for all values together", "−43 to 563")]
    traces = plotly_figure(release_chart(recipe, items, None))["data"]
    assert [trace["name"] for trace in traces] == ["95% interval for all values together", "estimate"]
    assert traces[0]["y"][:2] == [pytest.approx(-43), pytest.approx(563)]
    assert "all 40 intervals contain the truth" in error_sentence(recipe, items)


def test_margin_of_half_the_range_of_answers_is_said_to_say_nothing() -> None:
    recipe = open_stream()
    for bound in (0.5, 1.0, 26.0):
        useless = release(error_bounds=[bound], confidence=0.95)
        assert headline(recipe, useless).text.endswith(" of all items: says nothing")
        assert estimate_rows(recipe, useless, None)[0].note == "says nothing"
        assert uninformative(recipe, useless)
    useful = release(values=[0.4], error_bounds=[0.49], confidence=0.95)
    assert headline(recipe, useful).text.endswith(": consistent with zero")
    assert not uninformative(recipe, useful)


@pytest.mark.parametrize("sampling_rate", [1.0, 0.5])
@pytest.mark.parametrize("hidden_count", [False, True])
@pytest.mark.parametrize("name", STATISTICS)
def test_chart_has_the_unit_of_the_headline(name: str, hidden_count: bool, sampling_rate: float) -> None:
    """Of a few values each: only the unit is compared."""
    given = {"epsilon": 0.5 if name in STREAM_STATISTICS else 2.0, "delta": 1e-6, "k": 4, "steps": 4}
    given |= {"cohort_size": 600, "n_max": 40}
    options = {"hidden_count": hidden_count, "sampling_rate": sampling_rate}
    kind = STATISTICS[name]
    parameters = kind.parameters_class.from_mapping(small_members(kind, **given, **options))
    mechanism = kind(parameters.calibrated())
    recipe = SimpleNamespace(
        question="How many?",
        published=SimpleNamespace(calibrated_statistic=mechanism, label=mechanism.label, segments=None),
    )
    values = [0.25 * (1 + place) for place in range(len(mechanism.labels))]
    made = release(
        values=values, projection=values, standard_errors=[0.01] * len(values), reports=REPORTS, recipe=None
    )
    said, (panel,) = headline(recipe, made).text, release_chart(recipe, made, None).panels
    quantity, place = (panel.x, "x") if mechanism.scalar else (panel.y, "y")
    assert quantity.title == (PERCENT if "%" in said.split("(")[0] else mechanism.unit)
    (dots,) = (series for series in panel.series if series.name == "estimate")
    factor = 100 / REPORTS * mechanism.reporting_rate if quantity.title == PERCENT else 1.0
    assert list(getattr(dots, place))[:1] == pytest.approx([values[0] * factor])
