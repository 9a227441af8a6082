import math

import pytest

from releases.charts import release_figure
from releases.details import details_of
from releases.models import Release
from releases.presentation import error_sentence, estimate_rows, headline
from releases.selectors import MOST_SHOWN, bounds_of, interval_of, shown_positions
from tests.scenes import open_stream

pytestmark = pytest.mark.django_db


def release(**changes: object) -> Release:
    members = {
        "outcome": "released",
        "values": [0.5],
        "standard_errors": [],
        "standard_error_note": "None is stated here.",
        "projection": [0.5],
        **changes,
    }
    return Release(**members)


TEST = release(
    values=[70.0],
    standard_errors=[50.0],
    standard_error_note="If the values are uniform.",
    details={
        "verdict": "uniform",
        "threshold": 500.0,
        "calibrated_verdict": "uniform",
        "calibrated_threshold": 120.0,
    },
)


def test_interval_is_none_where_no_standard_error_is_known_and_bounds_keep_their_confidence() -> None:
    bounded = release(error_bounds=[0.2], confidence=0.9)
    assert interval_of(bounded) is None
    bounds = bounds_of(bounded)
    assert bounds is not None
    assert bounds.level == 0.9
    assert (bounds.low, bounds.high) == (pytest.approx([0.3]), pytest.approx([0.7]))
    assert bounds_of(release(standard_errors=[0.1])) is None


def test_headline_has_the_margin_of_the_interval_or_else_of_the_bound_or_none() -> None:
    recipe = open_stream()
    both = release(standard_errors=[0.1], error_bounds=[0.4], confidence=0.9)
    assert headline(recipe, both).text.startswith("0.50 ± 0.20 of all items")
    assert headline(recipe, both).level == "95 %"
    bounded = headline(recipe, release(error_bounds=[0.4], confidence=0.9))
    assert (bounded.text, bounded.level) == ("0.50 ± 0.40 of all items", "at least 90 %")
    bare = headline(recipe, release())
    assert (bare.text, bare.level) == ("0.5000 of all items", "")


def test_error_sentence_states_the_confidence_of_the_bound_and_reads_on_from_the_note() -> None:
    sentence = error_sentence(open_stream(), release(error_bounds=[0.4], confidence=0.9))
    assert "at least 90 %, the estimate lies within ± 0.40 of the truth, as parts of all items" in sentence
    assert "Standard error: none is stated here." in sentence


def test_result_of_a_test_is_its_verdict_without_an_interval_around_the_statistic() -> None:
    recipe = open_stream()
    assert headline(recipe, TEST).text == "Verdict: uniform"
    assert interval_of(TEST) is None
    (row,) = estimate_rows(recipe, TEST, None)
    assert (row.interval_95, row.note) == ("", "")
    assert "50 if the values are uniform." in error_sentence(recipe, TEST)


def test_verdicts_that_differ_are_both_in_the_headline() -> None:
    differing = release(
        values=[300.0],
        standard_errors=[50.0],
        details={**TEST.details, "calibrated_verdict": "not uniform"},
    )
    said = headline(open_stream(), differing).text
    assert said == "Verdict: not uniform by the calibrated threshold, uniform by that of the paper"


def test_chart_of_a_test_shows_both_thresholds_within_its_range() -> None:
    figure = release_figure(open_stream(), TEST, None)
    named = {trace["name"]: trace for trace in figure["data"]}
    assert named["threshold of the paper"]["x"] == [500.0]
    assert named["calibrated threshold"]["x"] == [120.0]
    assert figure["layout"]["xaxis"]["range"][1] > 500


def test_every_detail_is_shown_and_an_unknown_one_under_its_name() -> None:
    details = details_of(release(details={**TEST.details, "far_off": [1, 0.12341], "saturated": True}))
    shown = {detail.label: detail.value for detail in details}
    assert shown["Verdict"] == "uniform"
    assert shown["Threshold of the paper (τ)"] == "500"
    assert shown["Far off"] == "1, 0.1234"
    assert shown["Saturated"] == "yes"


def test_of_very_many_estimates_the_largest_are_shown_in_their_order() -> None:
    size = 3 * MOST_SHOWN
    many = release(values=[math.sin(place) for place in range(size)])
    positions = shown_positions(many)
    assert len(positions) == MOST_SHOWN
    assert positions == sorted(positions)
    left_out = set(range(size)) - set(positions)
    assert max(many.values[place] for place in left_out) <= min(many.values[place] for place in positions)
    assert shown_positions(release(values=[3.0, 1.0])) == [0, 1]
