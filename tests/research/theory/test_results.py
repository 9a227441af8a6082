"""The stored document: complete, and what is computed again here of it."""

from functools import partial

import numpy as np
import pytest

from panprivacy.statistics.shuffle.uniformity import FINAL, PRELIMINARY
from research.statements import Basis
from research.theory import (
    DEMONSTRATIONS,
    one_coin,
    results,
    two_intrusions,
)
from research.theory import announced_intrusions as announced
from research.theory import distinct_and_uniform as distinct
from research.theory import square_root_of_t as root
from research.theory.uniformity_users import smallest_users

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


def test_charts_have_values_that_a_logarithmic_axis_can_show():
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


COMPUTED = {
    ("square-root-of-t-errors", "randomized state", "computed"): lambda steps: root.standard_error(
        root.DEVICES, steps, root.EPSILON
    ),
    ("square-root-of-t-errors", "any such state", "bound"): lambda steps: root.error_bound(
        root.DEVICES, steps, root.EPSILON
    ),
    ("square-root-of-t-distance", "largest possible", "computed"): lambda steps: root.total_variation(
        steps, root.EPSILON
    ),
    ("two-intrusions-advantage", "looks by surprise", "computed"): partial(
        two_intrusions.advantage, announced=False
    ),
    ("two-intrusions-advantage", "announced intrusions", "computed"): partial(
        two_intrusions.advantage, announced=True
    ),
    ("announced-intrusions-errors", "100,000 cells", "computed"): partial(announced.standard_error, 100_000),
    ("announced-intrusions-cells", "density", "computed"): announced.required_table_size,
    ("distinct-and-uniform-distinct", "shuffle, at most, 95%", "bound"): distinct.shuffle_error_bound,
}


@pytest.mark.parametrize("curve", COMPUTED, ids=" ".join)
def test_stored_curve_that_needs_no_simulation_is_what_is_computed(curve):
    for x, y in stored(*curve).items():
        assert y == pytest.approx(COMPUTED[curve](x), rel=1e-4), WRITE


def measured_intrusions(count, seed):
    return -np.diff(two_intrusions.measured(count, False, seed))[0]


@pytest.mark.parametrize(("chart", "name", "x", "function"), [
    ("square-root-of-t-errors", "randomized state", 1024, root.measured_randomized),
    ("square-root-of-t-errors", "encrypted state", 1024, root.measured_encrypted),
    ("two-intrusions-advantage", "looks by surprise", 2, measured_intrusions),
    ("distinct-and-uniform-uniform", "preliminary test", 256, partial(smallest_users, test=PRELIMINARY)),
    ("distinct-and-uniform-uniform", "final test", 1024, partial(smallest_users, test=FINAL)),
    *(pytest.param(*case, marks=pytest.mark.long) for case in [
        ("announced-intrusions-errors", "10,000 cells", 2, partial(announced.measured_error, 10_000)),
        ("distinct-and-uniform-distinct", "shuffle protocol", 256, distinct.measured_shuffle),
        ("distinct-and-uniform-distinct", "pan-private density", 256, distinct.measured_pan),
    ]),
])  # fmt: skip
def test_stored_measurement_is_what_its_seed_gives_again(chart, name, x, function):
    assert stored(chart, name, "measured")[x] == pytest.approx(function(x, seed=SEED), rel=1e-4), WRITE


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
    assert root.growth(tuple(randomized.values())) == pytest.approx(0.5, abs=0.05)
    assert root.growth(tuple(encrypted.values())) == pytest.approx(0, abs=0.05)
    assert all(randomized[steps] > bound[steps] for steps in randomized)
    assert encrypted[4096] < bound[4096]
    preliminary = stored("distinct-and-uniform-uniform", "preliminary test", "measured")
    final = stored("distinct-and-uniform-uniform", "final test", "measured")
    ks = tuple(preliminary)
    assert distinct.growth(ks, tuple(preliminary.values())) == pytest.approx(3 / 4, abs=0.05)
    assert distinct.growth(ks, tuple(final.values())) == pytest.approx(2 / 3, abs=0.05)
    for name in ("shuffle protocol", "pan-private density"):
        curve = stored("distinct-and-uniform-distinct", name, "measured")
        assert distinct.growth(tuple(curve), tuple(curve.values())) == pytest.approx(0.5, abs=0.1)


def test_one_coin_measured_is_as_computed():
    """Stored numbers: 24% is six standard deviations of an error that 300 collections measure."""
    for name in ("one coin, all devices in the cell", "one coin, no device in the cell"):
        measured, computed = (stored("one-coin-errors", name, basis) for basis in ("measured", "computed"))
        assert all(abs(measured[x] / computed[x] - 1) < 0.24 for x in computed)
    every = {
        (full, cells): one_coin.computed_error(cells, one_coin=True, full=full)
        / one_coin.computed_error(cells, one_coin=False, full=full)
        for full in (False, True)
        for cells in one_coin.CELLS
    }
    # Half the error for a rare cell of four; full cells lose beyond six.
    assert every[False, 4] == pytest.approx(0.5, abs=0.01)
    assert every[True, 6] < 1 < every[True, 8]
    assert all(every[False, cells] < 1 for cells in one_coin.CELLS)
