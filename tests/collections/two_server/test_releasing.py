from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.models import Entry
from dap.models import AggregatedReport, ReportRejection, Side, Task
from helper.ending import helper_task_end
from leader.collecting import COUNT_ATTEMPTS
from ledger.models import Spending
from recipes.models import Recipe
from releases.exports import release_csv, release_document
from releases.models import Release
from releases.operations import collections_advance, result_release
from releases.servers import servers_of
from tests.clock import time_is
from tests.collections.two_server import scene
from tests.collections.two_server.scene import sealed_report, settle, tick, two_server_recipe, upload
from tests.factories import published_recipe
from trust_models import trust_model_of
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db


def collected(*bits: int, bad: int = 0, **changes: Any) -> Recipe:
    """A closed recipe of which both servers hold their sums."""
    recipe = two_server_recipe(**changes)
    reports = [sealed_report(recipe, [bit]) for bit in bits]
    reports += [sealed_report(recipe, [1], other_helper_part=True) for _ in range(bad)]
    if reports:
        assert upload(recipe, reports) == []
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    return recipe


def test_release_of_two_servers_is_the_estimate_of_the_same_sum() -> None:
    release = result_release(recipe=collected(1, 1, 1, 0, 0, 1))
    assert release is not None
    expected = published_recipe().published.calibrated_statistic.with_noisy_count().estimate((4,), 6)
    assert (release.outcome, release.reports) == ("released", 6)
    assert tuple(release.values) == pytest.approx(expected.values)
    assert tuple(release.standard_errors) == pytest.approx(expected.standard_errors)


def test_release_of_a_histogram_of_two_servers_has_every_bucket() -> None:
    recipe = two_server_recipe(statistic="histogram", k=2)
    rows = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert upload(recipe, [sealed_report(recipe, row) for row in rows]) == []
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    release = result_release(recipe=recipe)
    assert release is not None
    expected = recipe.published.calibrated_statistic.estimate((2, 3, 2), 5)
    assert tuple(release.values) == pytest.approx(expected.values)


def test_nothing_is_released_while_reports_wait_for_the_helper() -> None:
    recipe = two_server_recipe()
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    recipe = recipe_close(recipe=recipe, actor=None)
    for step in range(4):
        tick(now=timezone.now() + timedelta(minutes=10 * step), transport=scene.unreachable)
        assert result_release(recipe=recipe) is None
    helper = trust_model_of(recipe).progress(recipe).servers[1]
    assert helper.trouble is not None
    assert helper.trouble.waiting >= 1
    settle(after=timedelta(hours=1))
    release = result_release(recipe=recipe)
    assert release is not None
    assert release.reports == 5


def test_nothing_is_released_below_the_cohort_size_and_what_was_spent_comes_back() -> None:
    recipe = collected(1, 1, 1, 1, cohort_size=5)
    release = result_release(recipe=recipe)
    assert release is not None
    assert (release.outcome, release.reports, release.values) == ("withheld", None, [])
    assert (release.cause, "cohort size of 5" in release.reason) == ("too_few", True)
    assert Spending.objects.exclude(returns=None).count() == 1
    entry = Entry.objects.get(subject=recipe.identifier, action="result_withheld")
    assert entry.details["spending_returned"] is True


def test_release_is_withheld_with_the_helpers_refusal_and_what_was_spent_stays_spent() -> None:
    recipe = two_server_recipe()
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    recipe = recipe_close(recipe=recipe, actor=None)
    tick()  # counted on both sides, and not yet collected
    helper_task = scene.task(recipe, Side.HELPER)
    assert helper_task is not None
    helper_task.buckets.update(report_count=6)  # a helper that has counted another number
    settle()
    release = result_release(recipe=recipe)
    assert release is not None
    assert release.outcome == "withheld"
    assert release.cause == Release.Cause.REFUSED
    assert release.reason.startswith("the helper refused")
    assert not release.reason.endswith(".")
    assert not Spending.objects.exclude(returns=None).exists()


@pytest.mark.parametrize("bits", [(1, 1), (1, 1, 1, 0, 0, 1), ()])
def test_release_ends_the_task_on_both_sides_and_says_why(bits: tuple[int, ...]) -> None:
    recipe = collected(*bits)
    release = result_release(recipe=recipe)
    assert release is not None
    settle()
    outcomes = []
    for side in Side:
        task = scene.task(recipe, side)
        assert task is not None
        assert task.state == Task.State.ENDED
        assert (task.verify_key, task.share_key) == (None, None)
        outcomes.append(task.outcome)
    assert outcomes[0] == ("the result was released" if release.reports else release.reason)
    # That too few came was told the helper at once, in the leader's words.
    assert outcomes[1] == outcomes[0] or "too few reports" in outcomes[1]
    assert not AggregatedReport.objects.exists()


def test_release_happens_once() -> None:
    recipe = collected(1, 1, 1, 1, 1)
    assert result_release(recipe=recipe) is not None
    assert result_release(recipe=recipe) is None
    collections_advance()
    assert Release.objects.count() == 1


def test_release_tells_of_the_helper_what_it_says_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helper.views.report_count", lambda task: 7)
    recipe = collected(1, 1, 1, 1, 1)
    release = result_release(recipe=recipe)
    assert release is not None
    assert (release.outcome, release.reports) == ("released", 5)
    assert [server["counted"] for server in release.servers] == [5, 7]
    settle()
    # When the task has ended on both sides, too.
    assert [server.counted for server in trust_model_of(recipe).progress(recipe).servers] == [5, 7]


def test_release_does_without_the_count_of_a_helper_that_does_not_say_it() -> None:
    recipe = two_server_recipe()
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    recipe = recipe_close(recipe=recipe, actor=None)
    for step in range(12):
        assert result_release(recipe=recipe) is None or step > COUNT_ATTEMPTS
        tick(now=timezone.now() + timedelta(minutes=6 * step), transport=scene.losing_counts)
    release = Release.objects.get()
    assert (release.outcome, release.reports) == ("released", 5)
    assert [server["counted"] for server in release.servers] == [5, None]


def test_release_waits_a_little_for_a_count_whose_answer_was_lost() -> None:
    recipe = two_server_recipe()
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    recipe = recipe_close(recipe=recipe, actor=None)
    for step in range(3):
        tick(now=timezone.now() + timedelta(minutes=6 * step), transport=scene.losing_counts)
    settle(after=timedelta(minutes=18))
    release = result_release(recipe=recipe)
    assert release is not None
    assert [server["counted"] for server in release.servers] == [5, 5]


def test_what_verifying_found_is_told_to_nobody() -> None:
    """The leader's half of an old copy of a device's state with the helper's half of a newer one verifies
    only if nothing happened in between."""
    recipe = collected(1, 1, 1, 1, 1, bad=2)
    so_far = trust_model_of(recipe).progress(recipe)
    release = result_release(recipe=recipe)
    assert release is not None
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
    leader, helper = servers_of(trust_model_of(recipe).progress(recipe))
    assert (leader.rejected, helper.rejected) == ({"report_replayed": 4}, {})


def test_what_is_shown_of_an_open_recipe_does_not_change_when_reports_are_found_invalid() -> None:
    recipe = two_server_recipe(cohort_size=100)
    bad = [sealed_report(recipe, [1], other_helper_part=True) for _ in range(40)]
    assert upload(recipe, bad) == []
    source = trust_model_of(recipe)
    before = source.progress(recipe)
    shown = [server.coarse(100) for server in servers_of(before)]
    recipe_close(recipe=recipe, actor=None)  # what is out of reach would never be opened
    Task.objects.filter(side=Side.LEADER).update(state=Task.State.OPEN)
    upload(recipe, [sealed_report(recipe, [1], other_helper_part=True) for _ in range(70)])
    settle()
    after = source.progress(recipe)
    assert after.servers[1].hidden_rejections == {"vdaf_verify_error": 110}
    assert (before.received, after.received) == (40, 110)
    assert [server.coarse(100) for server in servers_of(after)] == shown


def test_exports_name_the_trust_model_and_tell_of_both_servers() -> None:
    recipe = collected(1, 1, 1, 1, 1)
    release = result_release(recipe=recipe)
    assert release is not None
    document = release_document(release, None)
    assert document["trust"] == "two_server"
    assert [server["url"] for server in document["servers"]] == [scene.LEADER_URL, scene.HELPER_URL]
    header, row = "".join(release_csv(recipe, release, None)).splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["trust"] == "two_server"


def test_advance_closes_and_releases_recipes_of_two_servers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = two_server_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2090-01-01T00:00:00Z")
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    closing = recipe.closes_at
    assert closing is not None
    time_is(monkeypatch, lambda: closing)
    collections_advance()
    settle()
    collections_advance()
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.CLOSED
    assert Release.objects.get().reports == 5


def test_recipe_whose_task_the_helper_has_ended_is_closed_and_withheld_with_its_words() -> None:
    recipe = two_server_recipe()
    helper_task = scene.task(recipe, Side.HELPER)
    assert helper_task is not None
    helper_task_end(task=helper_task, reason="the review is over", now=timezone.now())
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    settle()
    collections_advance()
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.CLOSED
    settle()
    collections_advance()
    release = Release.objects.get(recipe=recipe)
    assert (release.outcome, release.cause) == ("withheld", Release.Cause.REFUSED)
    assert "the review is over" in release.reason
