"""Results of two servers: what is released, withheld and shown, and what each side reports of it."""

import csv
import math
import random
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dap.helper.task_ends import helper_task_end
from dap.leader.collection import COUNT_ATTEMPTS
from dap.models import AggregatedReport, ReportRejection, Side, Task
from ledger.models import Spending
from log.audit.models import Entry
from pages.charts.description import Scale
from pages.recipe.charts import release_chart
from panprivacy.protocols.dap.basics import ReportError
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.randomized.vector_mean import VectorMean
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from results.excerpt import MOST_SHOWN, excerpt_of, release_excerpt
from results.exports import release_csv, release_document
from results.models import Release
from results.operations import result_release
from results.servers import servers_of
from results.trust_models import collection_model_of
from tests.collections.publishing import scene
from tests.collections.publishing.scene import (
    closed,
    collected,
    partners,
    reported,
    result_of_reports,
    sealed_report,
    settle,
    tick,
    two_server_members,
    two_server_recipe,
    upload,
)
from tests.collections.tokens.admission.scene import FakeIssuer
from tests.driving import collections_advance
from tests.factories import published_recipe
from tests.scenes import released
from tests.tokens import issued_token
from tokens.admission.operations import issuances_drive, issuances_take

pytestmark = pytest.mark.django_db

ONES = (1,) * 5


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({}, [[1], [1], [1], [0], [0], [1]]),
        (
            {"statistic": "histogram", "k": 2, "coin": "bucket"},
            [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]],
        ),
    ],
    ids=["count", "histogram"],
)
def test_release_is_the_estimate_of_the_sum(changes: dict[str, Any], rows: list[list[int]]) -> None:
    recipe = two_server_recipe(**changes)
    release, refused = result_of_reports(recipe, [sealed_report(recipe, row) for row in rows])
    one_server = published_recipe(**changes).published.calibrated_statistic.with_noisy_count()
    expected = one_server.estimate(tuple(map(sum, zip(*rows, strict=True))), len(rows))
    assert (release.outcome, release.reports, refused) == ("released", len(rows), [])
    assert tuple(release.values) == pytest.approx(expected.values)
    assert tuple(release.standard_errors) == pytest.approx(expected.standard_errors)


def test_nothing_is_released_below_the_cohort_size() -> None:
    recipe = collected(1, 1, 1, 1, cohort_size=5)
    release = released(recipe)
    assert (release.outcome, release.reports, release.values) == ("withheld", None, [])
    assert (release.cause, "cohort size of 5" in release.reason) == ("too_few", True)
    assert Spending.objects.exclude(returns=None).count() == 1
    entry = Entry.objects.get(subject=recipe.identifier, action="result_withheld")
    assert entry.details["spending_returned"] is True


def test_release_is_withheld_with_the_helpers_refusal_and_stays_spent() -> None:
    recipe = closed(reported(two_server_recipe(), *ONES))
    tick()  # counted on both sides, and not yet collected
    helper_task = scene.task(recipe, Side.HELPER)
    helper_task.buckets.update(report_count=6)  # a helper that has counted another number
    settle()
    release = released(recipe)
    assert release.outcome == "withheld"
    assert release.cause == Release.Cause.REFUSED
    assert release.reason.startswith("the helper refused")
    assert not release.reason.endswith(".")
    assert not Spending.objects.exclude(returns=None).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("bits", [(1, 1), (1, 1, 1, 0, 0, 1), ()])
def test_release_ends_the_task_on_both_sides_and_says_why(bits: tuple[int, ...]) -> None:
    recipe = collected(*bits)
    release = released(recipe)
    settle()
    outcomes = []
    for side in Side:
        task = scene.task(recipe, side)
        assert task.state == Task.State.ENDED
        assert (task.verify_key, task.share_key) == (None, None)
        outcomes.append(task.outcome)
    assert outcomes[0] == ("the result was released" if release.reports else release.reason)
    # That too few came was told the helper at once, in the leader's words.
    assert outcomes[1] == outcomes[0] or "too few reports" in outcomes[1]
    assert not AggregatedReport.objects.exists()


def test_nothing_is_released_while_reports_wait_for_the_helper() -> None:
    recipe = closed(reported(two_server_recipe(), *ONES))
    tick(transport=scene.unreachable)
    assert result_release(recipe=recipe) is None
    helper = collection_model_of(recipe).progress(recipe).servers[1]
    assert helper.trouble is not None
    assert helper.trouble.waiting >= 1
    settle(after=timedelta(hours=1))
    release = released(recipe)
    assert release.reports == 5
    document = release_document(release, None)
    assert document["trust"] == "two_server"
    assert [server["url"] for server in document["servers"]] == [scene.LEADER_URL, scene.HELPER_URL]
    (row,) = csv.DictReader("".join(release_csv(recipe, release, None)).splitlines())
    assert row["trust"] == "two_server"


def test_release_tells_of_the_helper_what_it_says_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dap.helper.views.report_count", lambda task: 7)
    recipe = collected(*ONES)
    release = released(recipe)
    assert (release.outcome, release.reports) == ("released", 5)
    assert [server["counted"] for server in release.servers] == [5, 7]
    settle()
    # When the task has ended on both sides, too.
    assert [server.counted for server in collection_model_of(recipe).progress(recipe).servers] == [5, 7]


@pytest.mark.parametrize(("lost", "counted"), [(COUNT_ATTEMPTS + 2, None), (3, 5)])
def test_release_waits_a_little_for_a_count_and_then_does_without(lost: int, counted: int | None) -> None:
    recipe = closed(reported(two_server_recipe(), *ONES))
    for step in range(lost):
        assert result_release(recipe=recipe) is None
        tick(now=timezone.now() + timedelta(minutes=6 * step), transport=scene.losing_counts)
    settle(after=timedelta(minutes=6 * lost))
    release = released(recipe)
    assert (release.outcome, release.reports) == ("released", 5)
    assert [server["counted"] for server in release.servers] == [5, counted]


def test_what_verifying_found_is_told_to_nobody() -> None:
    """The leader's half of an old copy of a device's state with the helper's half of a newer one verifies
    only if nothing happened in between."""
    recipe = collected(*ONES, bad=2)
    so_far = collection_model_of(recipe).progress(recipe)
    release = released(recipe)
    assert (release.reports, release.rejected) == (5, {})
    assert all(server["rejected"] == {} for server in release.servers)
    assert so_far.servers[1].hidden_rejections == {"vdaf_verify_error": 2}
    assert [dict(server.rejected) for server in servers_of(so_far)] == [{}, {}]


def test_nothing_that_the_helper_rejects_is_public_not_even_replays() -> None:
    # It saw them only because the leader's half had passed.
    recipe = two_server_recipe()
    task = scene.task(recipe, Side.LEADER)
    ReportRejection.objects.create(task=task, side=Side.HELPER, reason="report_replayed", count=3)
    ReportRejection.objects.create(task=task, side=Side.LEADER, reason="report_replayed", count=4)
    ReportRejection.objects.create(task=task, side=Side.LEADER, reason="invalid_message", count=5)
    leader, helper = servers_of(collection_model_of(recipe).progress(recipe))
    assert (leader.rejected, helper.rejected) == ({"report_replayed": 4}, {})


def test_recipe_whose_task_the_helper_ended_is_withheld_with_its_words() -> None:
    recipe = two_server_recipe()
    helper_task = scene.task(recipe, Side.HELPER)
    helper_task_end(task=helper_task, reason="the review is over", now=timezone.now())
    reported(recipe, *ONES)
    settle()
    collections_advance()
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.CLOSED
    settle()
    collections_advance()
    release = Release.objects.get(recipe=recipe)
    assert (release.outcome, release.cause) == ("withheld", Release.Cause.REFUSED)
    assert "the review is over" in release.reason


def test_reports_with_tokens_are_released_and_others_counted_by_reason() -> None:
    issuer, source = FakeIssuer(issued=5), random.Random(9578)
    recipe = recipe_publish_file(
        members=two_server_members(admission="token"),
        actor=None,
        partners=partners(),
        admitting=issuer.admitting(),
    )
    tokens = [issued_token(recipe.published, source).encode() for _ in range(5)]
    good = [
        sealed_report(recipe, [bit], token=token) for bit, token in zip((1, 1, 1, 0, 0), tokens, strict=True)
    ]
    again = sealed_report(recipe, [1], token=tokens[0])
    bare = sealed_report(recipe, [1])
    refused = upload(recipe, [*good, bare, again])
    assert [status.error for status in refused] == [ReportError.INVALID_MESSAGE, ReportError.REPORT_REPLAYED]
    recipe = closed(recipe)
    now = timezone.now()
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    settle()
    release = released(recipe)
    expected = recipe.published.calibrated_statistic.estimate((3,), 5)
    assert (release.outcome, release.reports) == ("released", 5)
    assert tuple(release.values) == pytest.approx(expected.values)
    assert release.rejected == {"report_replayed": 1, "token_missing": 1}
    assert release.admission["issued"] == 5
    assert all(server["signature"] for server in release.servers)


def test_chart_has_every_coordinate_and_the_table_the_furthest_from_0() -> None:
    size = 2 * MOST_SHOWN
    members = {"dimension": size, "bits": 5, "epsilon": 20.0, "cohort_size": 3}
    recipe = two_server_recipe(simulation=True, statistic="vector_mean", steps=None, **members)
    statistic = recipe.published.calibrated_statistic
    assert isinstance(statistic, VectorMean)
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
    rows = list(csv.DictReader("".join(release_csv(recipe, release, None)).splitlines()))
    assert [row["label"] for row in rows] == [f"x{place}" for place in range(1, size + 1)]


def made_release(recipe: Recipe, estimate: Estimate) -> Release:
    release = Release(recipe=recipe, outcome="released", reports=5)
    release.values, release.standard_errors = list(estimate.values), list(estimate.standard_errors)
    release.standard_error_note, release.projection = estimate.standard_error_note, list(estimate.projection)
    release.intervals = [asdict(interval) for interval in estimate.stated_intervals()]
    release.excerpt = release_excerpt(release)
    return release
