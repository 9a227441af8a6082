"""Means of vectors from devices to the page, with leader, helper and liars in one process."""

import csv
import io
import math
import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from pages.charts.description import Scale
from pages.recipe.charts import release_chart
from panprivacy.estimate import Estimate
from panprivacy.randomizers.vector_mean import VectorMean
from recipes.models import Recipe
from releases.excerpt import MOST_SHOWN, release_excerpt
from releases.exports import release_csv, release_document
from releases.models import Release
from releases.operations import result_release
from releases.selectors import excerpt_of
from tests.collections.two_server.scene import rejected, settle, shared_report, two_server_recipe, upload
from tests.scenes import analyst
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db

DEVICES = 12


def vector_recipe(dimension: int, **changes: Any) -> Recipe:
    """Large ε, so that twelve devices say something."""
    members = {"bits": 5, "epsilon": 20.0, "cohort_size": 10, **changes}
    return two_server_recipe(
        simulation=True, statistic="vector_mean", steps=None, dimension=dimension, **members
    )


def statistic_of(recipe: Recipe) -> VectorMean:
    statistic = recipe.published.calibrated_statistic
    assert isinstance(statistic, VectorMean)
    return statistic


def released(recipe: Recipe, value: Sequence[float], lies: Sequence[Sequence[int]] = ()) -> Release:
    """The result of devices with one value, with the reports of liars among them: field elements."""
    source, statistic = random.Random(3), statistic_of(recipe)
    reports = [shared_report(recipe, statistic.randomize(tuple(value), source)) for _ in range(DEVICES)]
    reports[1:1] = [shared_report(recipe, elements, encoded=True) for elements in lies]
    assert upload(recipe, reports) == []
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    release = result_release(recipe=recipe)
    assert release is not None
    return release


def test_vectors_of_devices_become_their_mean_on_page_and_in_files(client: Client) -> None:
    """Within 7 standard errors, in three coordinates: a failure has probability 1e-11."""
    recipe, value = vector_recipe(3), (0.5, -0.25, 0.0)
    release = released(recipe, value)
    assert (release.outcome, release.reports, release.rejected) == ("released", DEVICES, {})
    for estimate, error, truth in zip(release.values, release.standard_errors, value, strict=True):
        assert abs(estimate - truth) < 7 * error
    assert release_document(release, None)["estimate"] == release.values
    rows = list(csv.DictReader(io.StringIO("".join(release_csv(recipe, release, None)))))
    assert [row["label"] for row in rows] == ["x1", "x2", "x3"]
    client.force_login(analyst())
    page = client.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    assert "Mean of vectors" in page


def test_vector_with_a_coordinate_out_of_range_changes_nothing_and_is_counted() -> None:
    """A digit of 2 or −1 in place of 0 or 1, or half of one: each is a number that no device may send."""
    recipe = vector_recipe(2)
    statistic = statistic_of(recipe)
    circuit_length = statistic.contribution_length * statistic.allowed_values[-1].bit_length()
    lies = [[lie] + [0] * (circuit_length - 1) for lie in (2, -1, 2**127)]
    release = released(recipe, (0.1, 0.2), lies)
    assert release.reports == DEVICES
    assert rejected(recipe) == [{}, {"vdaf_verify_error": len(lies)}]
    assert np.abs(np.array(release.values) - (0.1, 0.2)).max() < 7 * release.standard_errors[0]


def test_chart_of_many_coordinates_has_each_at_its_place_and_the_table_the_furthest_from_zero() -> None:
    size = 2 * MOST_SHOWN
    recipe = vector_recipe(size, cohort_size=3)
    statistic = statistic_of(recipe)
    # No device: the chart is about numbers, and 400 coordinates take each device a while.
    wave = [math.sin(place / 20) / size**0.5 for place in range(size)]
    turned = statistic._rotation.rotated(wave)
    unit = 5 * statistic.parameters.steps_to_one
    total = [round(entry * unit) + 5 * statistic.parameters.offset for entry in turned]
    estimate = statistic.estimate(total, 5)
    release = made_release(recipe, estimate)
    excerpt = excerpt_of(release)
    assert len(excerpt.positions) == MOST_SHOWN
    left_out = set(range(size)) - set(excerpt.positions)
    assert max(abs(release.values[place]) for place in left_out) <= min(map(abs, excerpt.values))
    (panel,) = release_chart(recipe, release, None).panels
    assert panel.x.scale is Scale.LINEAR
    (dots,) = (series for series in panel.series if series.name == "estimate")
    assert (list(dots.x), list(dots.y)) == ([float(place) for place in range(1, size + 1)], release.values)
    assert {len(series.x) for series in panel.series} == {size, 2 * size}


def made_release(recipe: Recipe, estimate: Estimate) -> Release:
    release = Release(recipe=recipe, outcome="released", reports=5)
    release.values, release.standard_errors = list(estimate.values), list(estimate.standard_errors)
    release.standard_error_note, release.projection = estimate.standard_error_note, list(estimate.projection)
    release.intervals = [asdict(interval) for interval in estimate.stated_intervals()]
    release.excerpt = release_excerpt(release)
    return release
