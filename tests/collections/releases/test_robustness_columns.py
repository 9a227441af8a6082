"""What one dishonest device can move stands beside a result in its CSV file."""

import csv

import pytest

from releases.exports import release_csv
from tests.scenes import finished_recipe

pytestmark = pytest.mark.django_db


def test_csv_of_a_statistic_that_bounds_dishonest_devices_states_the_bounds_on_every_line():
    recipe = finished_recipe(
        [[1, 0, 0]] * 40 + [[0, 1, 0]] * 20,
        statistic="categories",
        steps=None,
        k=3,
        labels=["phone", "tablet", "watch"],
        simulation=True,
    )
    bound = recipe.published.calibrated_statistic.robustness
    rows = list(csv.DictReader("".join(release_csv(recipe, recipe.release, None)).splitlines()))
    assert [row["value_label"] for row in rows] == ["phone", "tablet", "watch"]
    stated = {(float(row["robustness_each"]), float(row["robustness_together"])) for row in rows}
    assert stated == {(bound.each, bound.together)}
