"""The stored document: complete, and what is computed again here of it."""

from importlib.metadata import version

import numpy as np
import pytest

from panprivacy.shuffle.uniformity import FINAL, PRELIMINARY
from research import stored_document
from research.statements import Basis
from research.theory import (
    DEMONSTRATIONS,
    announced_intrusions,
    distinct_and_uniform,
    results,
    square_root_of_t,
    two_intrusions,
    uniformity_users,
)

SEED = results.SEED

BY_KEY = {entry["key"]: entry for entry in results.committed()["demonstrations"]}

WRITE = "run `manage.py theory --write`"


def stored(chart_key, name, standing):
    """x → y of one curve."""
    charts = [chart for entry in BY_KEY.values() for chart in entry["charts"] if chart["key"] == chart_key]
    curves = [
        curve for curve in charts[0]["curves"] if (curve["name"], curve["standing"]) == (name, standing)
    ]
    assert len(charts) == len(curves) == 1
    return dict(zip(charts[0]["x"], curves[0]["y"], strict=True))


def test_stored_document_has_every_demonstration_in_order_with_one_seed():
    assert list(BY_KEY) == list(DEMONSTRATIONS)
    assert {entry["seed"] for entry in BY_KEY.values()} == {SEED}


def test_stored_document_is_written_as_it_would_be_again():
    assert stored_document.text_of(results.committed()) == results.FILE.read_text(encoding="utf-8")


def test_stored_document_names_the_libraries_that_are_installed():
    assert results.committed()["libraries"] == {name: version(name) for name in results.LIBRARIES}


def test_charts_have_values_for_every_place_and_none_that_a_logarithmic_axis_cannot_show():
    keys = []
    for entry in BY_KEY.values():
        for chart in entry["charts"]:
            keys.append(chart["key"])
            for curve in chart["curves"]:
                assert curve["standing"] in set(Basis)
                assert len(curve["y"]) == len(chart["x"])
                shown = [y for y in curve["y"] if y is not None]
                assert shown
                assert not chart["logarithmic_y"] or min(shown) > 0
            assert not chart["logarithmic_x"] or min(chart["x"]) > 0
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("chart", "name", "standing", "function"),
    [
        (
            "square-root-of-t-errors",
            "randomized state",
            "computed",
            lambda steps: square_root_of_t.standard_error(
                square_root_of_t.DEVICES, steps, square_root_of_t.EPSILON
            ),
        ),
        (
            "square-root-of-t-errors",
            "any such state",
            "bound",
            lambda steps: square_root_of_t.error_bound(
                square_root_of_t.DEVICES, steps, square_root_of_t.EPSILON
            ),
        ),
        (
            "square-root-of-t-distance",
            "largest possible",
            "computed",
            lambda steps: square_root_of_t.total_variation(steps, square_root_of_t.EPSILON),
        ),
        (
            "two-intrusions-advantage",
            "looks by surprise",
            "computed",
            lambda count: two_intrusions.advantage(count, announced=False),
        ),
        (
            "two-intrusions-advantage",
            "announced looks",
            "computed",
            lambda count: two_intrusions.advantage(count, announced=True),
        ),
        (
            "announced-intrusions-errors",
            "100,000 cells",
            "computed",
            lambda count: announced_intrusions.standard_error(100_000, count),
        ),
        ("announced-intrusions-cells", "density", "computed", announced_intrusions.required_table_size),
        (
            "distinct-and-uniform-distinct",
            "shuffle, at most, 95%",
            "bound",
            distinct_and_uniform.shuffle_error_bound,
        ),
    ],
)
def test_stored_curve_that_needs_no_simulation_is_what_is_computed(chart, name, standing, function):
    for x, y in stored(chart, name, standing).items():
        assert y == pytest.approx(function(x), rel=1e-4), WRITE


@pytest.mark.parametrize(
    ("chart", "name", "x", "function"),
    [
        (
            "square-root-of-t-errors",
            "randomized state",
            1024,
            lambda steps: square_root_of_t.measured_randomized(steps, SEED),
        ),
        (
            "square-root-of-t-errors",
            "encrypted state",
            1024,
            lambda steps: square_root_of_t.measured_encrypted(steps, SEED),
        ),
        (
            "two-intrusions-advantage",
            "looks by surprise",
            2,
            lambda count: -np.diff(two_intrusions.measured(count, False, SEED))[0],
        ),
        pytest.param(
            "announced-intrusions-errors",
            "10,000 cells",
            2,
            lambda count: announced_intrusions.measured_error(10_000, count, SEED),
            marks=pytest.mark.long,
        ),
        pytest.param(
            "distinct-and-uniform-distinct",
            "shuffle protocol",
            256,
            lambda k: distinct_and_uniform.measured_shuffle(k, SEED),
            marks=pytest.mark.long,
        ),
        pytest.param(
            "distinct-and-uniform-distinct",
            "pan-private density",
            256,
            lambda k: distinct_and_uniform.measured_pan(k, SEED),
            marks=pytest.mark.long,
        ),
        (
            "distinct-and-uniform-uniform",
            "preliminary test",
            256,
            lambda k: uniformity_users.smallest_users(k, PRELIMINARY, SEED),
        ),
        (
            "distinct-and-uniform-uniform",
            "final test",
            1024,
            lambda k: uniformity_users.smallest_users(k, FINAL, SEED),
        ),
    ],
)
def test_stored_measurement_is_what_its_seed_gives_again(chart, name, x, function):
    assert stored(chart, name, "measured")[x] == pytest.approx(function(x), rel=1e-4), WRITE


def test_measured_errors_are_close_to_the_computed_ones():
    # Root mean squares of 200 errors: a relative standard error of 5%.
    for chart, name in (
        ("square-root-of-t-errors", "randomized state"),
        ("announced-intrusions-errors", "10,000 cells"),
        ("announced-intrusions-errors", "100,000 cells"),
    ):
        measured = stored(chart, name, "measured")
        for x, computed in stored(chart, name, "computed").items():
            assert measured[x] == pytest.approx(computed, rel=0.2)


def test_stored_curves_show_what_the_theorems_say():
    randomized = stored("square-root-of-t-errors", "randomized state", "measured")
    encrypted = stored("square-root-of-t-errors", "encrypted state", "measured")
    bound = stored("square-root-of-t-errors", "any such state", "bound")
    # √T against T⁰, and nothing below the bound of Theorem 9 that it holds for.
    assert square_root_of_t.growth(tuple(randomized.values())) == pytest.approx(0.5, abs=0.05)
    assert square_root_of_t.growth(tuple(encrypted.values())) == pytest.approx(0, abs=0.05)
    assert all(randomized[steps] > bound[steps] for steps in randomized)
    assert encrypted[4096] < bound[4096]
    preliminary = stored("distinct-and-uniform-uniform", "preliminary test", "measured")
    final = stored("distinct-and-uniform-uniform", "final test", "measured")
    ks = tuple(preliminary)
    assert distinct_and_uniform.growth(ks, tuple(preliminary.values())) == pytest.approx(3 / 4, abs=0.05)
    assert distinct_and_uniform.growth(ks, tuple(final.values())) == pytest.approx(2 / 3, abs=0.05)
    for name in ("shuffle protocol", "pan-private density"):
        curve = stored("distinct-and-uniform-distinct", name, "measured")
        assert distinct_and_uniform.growth(tuple(curve), tuple(curve.values())) == pytest.approx(0.5, abs=0.1)
