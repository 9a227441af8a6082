import csv
from typing import Any

import pytest

from log.audit.models import Entry
from publishing.publication import recipe_close
from recipes.errors import RecipeStateError
from recipes.models import Recipe, RecipeKey
from reports.models import ReportNonce, StoredReports
from results import operations, tasks
from results.aggregation.models import SubAggregate
from results.aggregation.operations import chunk_process, chunks_plan
from results.aggregation.tasks import process_chunk
from results.excerpt import interval_of
from results.exports import release_csv
from results.models import Release
from results.operations import result_release, truth_record
from tests.clock import time_is
from tests.driving import collections_advance
from tests.factories import published_recipe, report_of_values, submitted
from tests.refusals import raising
from tests.scenes import finished_recipe, released

pytestmark = pytest.mark.django_db


def collected(*values: int, close: bool = True, **changes: Any) -> Recipe:
    """A recipe whose reports are summed."""
    recipe = published_recipe(**changes)
    reports = [report_of_values(recipe, [value]) for value in values]
    if reports:
        assert submitted(recipe, *reports) == []
    if close:
        recipe = recipe_close(recipe=recipe, actor=None)
    for chunk in chunks_plan(recipe=recipe):
        chunk_process(chunk=chunk)
    return recipe


def test_release_debiases_the_sum_as_the_mechanism_does() -> None:
    recipe = collected(1, 1, 1, 0, 0, 1)
    release = released(recipe)
    expected = recipe.published.calibrated_statistic.estimate((4,), 6)
    assert (release.outcome, release.reports) == ("released", 6)
    assert tuple(release.values) == pytest.approx(expected.values)
    assert tuple(release.standard_errors) == pytest.approx(expected.standard_errors)
    interval = interval_of(release)
    assert interval == expected.intervals[0]


def test_nothing_is_released_below_the_cohort_size() -> None:
    release = released(collected(1, 1, 1, 1, cohort_size=5))
    assert (release.outcome, release.reports) == ("withheld", None)
    assert (release.values, release.standard_errors, release.projection) == ([], [], [])
    assert "cohort size of 5" in release.reason
    # With a copy of a device's state c, reports of 2c are valid or not according to what c encrypts.
    # So reports found invalid count as every other.
    release = released(collected(1, 1, 1, 1, 7, cohort_size=5))
    assert (release.outcome, release.reports, release.rejected) == ("released", 5, {})


def test_release_of_an_estimate_that_cannot_be_computed_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = collected(1, 1, 1, 1, 1)
    estimate = "panprivacy.statistics.events.count_nonzero.CountNonzero.estimate"
    monkeypatch.setattr(estimate, raising(OverflowError))
    release = released(recipe)
    assert (release.outcome, RecipeKey.objects.count()) == ("withheld", 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("values", [(1, 1), (1, 1, 1, 0, 0, 1), ()])
def test_release_happens_once_is_logged_and_deletes_the_reports(values: tuple[int, ...]) -> None:
    recipe = collected(*values)
    assert RecipeKey.objects.exists()
    release = released(recipe)
    for model in (RecipeKey, StoredReports, ReportNonce, SubAggregate):
        assert not model.objects.exists(), model
    assert result_release(recipe=recipe) is None
    logged = Entry.objects.filter(subject=recipe.identifier).order_by("index")
    actions = ["recipe_published", "recipe_closed", f"result_{release.outcome}"]
    assert list(logged.values_list("action", flat=True)) == actions


def test_release_waits_for_the_closing_and_for_every_report() -> None:
    recipe = collected(1, 1, 1, 1, 1, 1, close=False)
    assert result_release(recipe=recipe) is None
    submitted(recipe, report_of_values(recipe, [1]))
    recipe = recipe_close(recipe=recipe, actor=None)
    assert result_release(recipe=recipe) is None
    for chunk in chunks_plan(recipe=recipe):
        assert result_release(recipe=recipe) is None
        chunk_process(chunk=chunk)
    release = released(recipe)
    assert release.reports == 7


def test_release_states_every_guarantee_with_its_relation() -> None:
    recipe = collected(1, 1, 1, 1, 1)
    stated = recipe.guarantees.stated
    release = released(recipe)
    assert release.guarantees == stated
    assert stated == [guarantee.as_dict() for guarantee in recipe.published.calibrated_statistic.guarantees()]
    local = {g["relation"]: g["epsilon"] for g in release.guarantees if g["model"] == "local"}
    assert local == {"replace": 2.0, "add_remove": 2.0}
    aggregator = {
        (g["relation"], g["dishonest_fraction"]): g for g in release.guarantees if g["model"] == "aggregator"
    }
    assert set(aggregator) == {(relation, part) for relation in local for part in (0.0, 0.5)}
    for guarantee in aggregator.values():
        assert guarantee["delta"] == 1e-6
        assert guarantee["source"]


def test_advance_closes_a_recipe_in_time_and_brings_it_to_its_release(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    recipe = published_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2090-01-01T00:00:00Z")
    reports = [report_of_values(recipe, [value]) for value in (1, 0, 1, 1, 1)]
    submitted(recipe, *reports)
    monkeypatch.setattr(process_chunk, "delay", process_chunk)
    monkeypatch.setattr("results.aggregation.tasks.steps_send", lambda **_: None)  # the polls below find it
    with django_capture_on_commit_callbacks(execute=True):
        collections_advance()
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.PUBLISHED
    time_is(monkeypatch, lambda: recipe.closes_at)
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            collections_advance()
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.CLOSED
    assert Release.objects.get().reports == 5


def test_advance_goes_on_with_other_recipes_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, sound = collected(1, 1, 1, 1, 1), collected(1, 1, 1, 1, 1)
    release = operations.result_release

    def failing(*, recipe: Recipe) -> Release | None:
        if recipe == broken:
            raise ZeroDivisionError
        return release(recipe=recipe)

    monkeypatch.setattr(tasks, "result_release", failing)
    collections_advance()
    assert [row.recipe for row in Release.objects.all()] == [sound]


def test_truth_is_recorded_for_simulations_only() -> None:
    with pytest.raises(RecipeStateError, match="simulation"):
        truth_record(recipe=published_recipe(), values=[1.0], devices=2, sampled=2)
    truth = truth_record(recipe=published_recipe(simulation=True), values=[1.0], devices=2, sampled=2)
    assert truth.values == [1.0]


def test_csv_states_what_one_dishonest_device_can_move_on_every_line():
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
