import math

import pytest

from pages.recipe.charts import MOST_DRAWN, release_figure
from pages.recipe.details import details_of
from pages.recipe.presentation import error_sentence, estimate_rows, headline, says_nothing
from releases.excerpt import MOST_SHOWN, excerpt_made
from releases.models import NUMBERS, Release
from releases.selectors import bounds_of, excerpt_of, interval_of
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
    made = Release(**members)
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


def test_interval_is_none_where_no_standard_error_is_known_and_bounds_keep_their_confidence() -> None:
    bounded = release(error_bounds=[0.2], confidence=0.9)
    assert interval_of(bounded) is None
    bounds = bounds_of(excerpt_of(bounded))
    assert bounds is not None
    assert bounds.level == 0.9
    assert (bounds.low, bounds.high) == (pytest.approx([0.3]), pytest.approx([0.7]))
    assert bounds_of(excerpt_of(release(standard_errors=[0.1]))) is None


def test_headline_has_the_margin_of_the_interval_or_else_of_the_bound_or_none() -> None:
    recipe = open_stream()
    both = release(standard_errors=[0.1], error_bounds=[0.4], confidence=0.9)
    assert headline(recipe, both).text.startswith("0.50 ± 0.20 of all items")
    assert headline(recipe, both).level == "95%"
    bounded = headline(recipe, release(error_bounds=[0.4], confidence=0.9))
    assert (bounded.text, bounded.level) == ("0.50 ± 0.40 of all items", "at least 90%")
    bare = headline(recipe, release())
    assert (bare.text, bare.level) == ("0.5000 of all items", "")


def test_error_sentence_states_the_confidence_of_the_bound_and_reads_on_from_the_note() -> None:
    sentence = error_sentence(open_stream(), release(error_bounds=[0.4], confidence=0.9))
    assert "at least 90%, the estimate lies within ± 0.40 of the truth, as parts of all items" in sentence
    assert "Standard error: none is stated here." in sentence


def test_result_of_a_test_is_its_verdict_without_an_interval_around_the_statistic() -> None:
    recipe = open_stream()
    assert headline(recipe, TEST).text == "Verdict: no difference found"
    assert interval_of(TEST) is None
    (row,) = estimate_rows(recipe, TEST, None)
    assert (row.interval_95, row.note) == ("", "")
    assert "50 if the values are uniform." in error_sentence(recipe, TEST)


def test_verdicts_that_differ_are_both_in_the_headline() -> None:
    differing = release(
        values=[300.0],
        standard_errors=[50.0],
        details={**TEST.details, "calibrated_verdict": "not_uniform"},
    )
    said = headline(open_stream(), differing).text
    assert (
        said == "Verdict: not uniform by the calibrated threshold, no difference found by that of the paper"
    )


def test_verdict_of_an_earlier_release_is_shown_in_the_same_words() -> None:
    earlier = release(details={**TEST.details, "verdict": "uniform", "calibrated_verdict": "not uniform"})
    said = headline(open_stream(), earlier).text
    assert (
        said == "Verdict: not uniform by the calibrated threshold, no difference found by that of the paper"
    )


def test_chart_of_a_test_shows_both_thresholds_within_its_range() -> None:
    figure = release_figure(open_stream(), TEST, None)
    named = {trace["name"]: trace for trace in figure["data"]}
    assert named["threshold of the paper"]["x"] == [500.0]
    assert named["calibrated threshold"]["x"] == [120.0]
    assert figure["layout"]["xaxis"]["range"][1] > 500


def test_every_detail_is_shown_and_an_unknown_one_under_its_name() -> None:
    details = details_of(
        release(
            details={
                **TEST.details,
                "far_off": [1, 0.12341],
                "expected_shift_at_alpha": 71.0,
                "saturated": True,
            }
        )
    )
    shown = {detail.label: detail.value for detail in details}
    assert shown["Verdict"] == "no difference found"
    assert shown["Threshold of the paper (τ)"] == "500"
    assert shown["Rise of the test statistic (Z′) at distance (α)"] == "71"
    assert shown["Far off"] == "1, 0.1234"
    assert shown["Saturated"] == "yes"


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
    assert (excerpt.least_standard_error, excerpt.least_error_bound) == (2.0, 400.0)
    said = error_sentence(recipe, smallest_last)
    assert "chosen beforehand, is 7.0" in said
    assert "± 900 elements" in said
    assert headline(recipe, smallest_last).text.startswith("Largest: “item 0”")


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


def test_headline_of_several_estimates_has_the_margin_for_all_together() -> None:
    recipe = open_stream(**ITEMS)
    said = headline(recipe, many_items())
    assert said.text == "Largest: “item 0” with 260 ± 300 elements: consistent with zero"
    assert said.level == "at least 95%, all together"
    alone = headline(recipe, many_items(error_bounds=[], confidence=None))
    assert alone.text == "Largest: “item 0” with 260 ± 120 elements"


def test_row_and_chart_of_several_estimates_have_the_margin_for_all_together() -> None:
    recipe, items = open_stream(**ITEMS), many_items()
    first = estimate_rows(recipe, items, None)[0]
    assert (first.note, first.within_bound) == ("consistent with zero", "−43 to 563")
    assert (first.interval_66, first.interval_95) == ("", "")
    traces = release_figure(recipe, items, None)["data"]
    assert [trace["name"] for trace in traces] == [
        "error bound for all together (at least 95%)",
        "estimate",
    ]
    assert traces[0]["y"][:2] == [pytest.approx(-43), pytest.approx(563)]
    assert "partly large by chance" in error_sentence(recipe, items)


def test_chart_draws_the_largest_and_the_table_shows_more() -> None:
    recipe, items = open_stream(**ITEMS), many_items()
    (dots,) = [trace for trace in release_figure(recipe, items, None)["data"] if trace["name"] == "estimate"]
    assert len(dots["x"]) == MOST_DRAWN < len(estimate_rows(recipe, items, None)) == 40
    assert min(dots["y"]) >= sorted(items.values)[-MOST_DRAWN]


@pytest.mark.parametrize("bound", [0.5, 1.0, 26.0])
def test_margin_of_half_the_range_of_answers_is_said_to_say_nothing(bound: float) -> None:
    recipe, useless = open_stream(), release(error_bounds=[bound], confidence=0.95)
    assert headline(recipe, useless).text.endswith(" of all items: says nothing")
    assert estimate_rows(recipe, useless, None)[0].note == "says nothing"
    assert says_nothing(recipe, useless)


def test_margin_below_half_the_range_of_answers_says_something() -> None:
    recipe, useful = open_stream(), release(values=[0.4], error_bounds=[0.49], confidence=0.95)
    assert headline(recipe, useful).text.endswith(": consistent with zero")
    assert not says_nothing(recipe, useful)
    assert not says_nothing(recipe, TEST)


def test_result_of_a_test_explains_its_statistic_and_never_claims_equality() -> None:
    said = error_sentence(open_stream(), TEST)
    assert "Z′ adds up" in said
    assert "never prove that there is none" in said
    assert "uniform" not in headline(open_stream(), TEST).text
