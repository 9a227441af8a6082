import base64
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from dap.admission import TokenError
from dap.helper.task_ends import helper_task_end
from dap.leader import selectors
from dap.leader.aggregation import JOB_REFUSED
from dap.leader.models import AggregationJob, HelperCount
from dap.models import ReportRejection, Side
from pages.kinds.events import DEVICES
from pages.trust_models import SHOWN
from pages.words.rejections import EXPLANATIONS
from panprivacy.accounting.trust import Trust
from panprivacy.protocols.dap.basics import ReportError
from publishing import publication
from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.objects import DUPLICATE
from reports.parsing import ARRIVAL_REASONS
from results.operations import result_release
from results.trust_models import COLLECTIONS
from tests.clock import time_is
from tests.collections.pages.scene import draft_page, every_tab, form_data, new_url, publish, recipe_page
from tests.collections.publishing import scene
from tests.collections.publishing.conftest import _leader  # noqa: F401  # for every test
from tests.collections.publishing.scene import (
    closed,
    reported,
    sealed_report,
    settle,
    tick,
    two_server_recipe,
    upload,
)
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import auditor, released

pytestmark = pytest.mark.django_db


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The helper that the settings name, over the network of the scene."""
    monkeypatch.setattr(publication, "configured_partners", scene.partners)
    return


def recipe_with_reports(*, good: int, bad: int = 0, **changes: Any) -> Recipe:
    return reported(two_server_recipe(**changes), *[1] * good, bad=bad)


def finish(recipe: Recipe) -> Recipe:
    recipe = closed(recipe)
    settle()
    return released(recipe).recipe


def test_report_verified_while_progress_is_read_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_with_reports(good=6)
    counted = selectors.report_count

    def verified_meanwhile(task: Any) -> int:
        settle()
        return counted(task)

    monkeypatch.setattr(selectors, "report_count", verified_meanwhile)
    so_far = COLLECTIONS[Trust.TWO_SERVER].progress(recipe)
    assert so_far.waiting == 0, "all are in the sum"


def test_form_says_whom_each_trust_model_protects_against(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url()))
    for model in (SHOWN[trust] for trust in DEVICES.trusts):
        assert model.title in page
        for adversary in model.adversaries:
            assert f"<strong>{escape(adversary.who)}</strong> {escape(adversary.learns)}" in page
    assert page.count("Not protected.") >= 5
    assert not two_servers_are_disabled(page)
    mean = page_text(signed_in.get(new_url("mean")))
    assert two_servers_are_disabled(mean)
    assert "cannot check those of this statistic" in mean
    signed_in.post(new_url(), form_data())
    assert Recipe.objects.get().draft["trust"] == "single_server"


def two_servers_are_disabled(page: str) -> bool:
    return "disabled" in page.split("Two servers</label>")[0].rpartition("<input")[2]


def test_vectors_warn_and_their_commands_name_the_option(signed_in: Client, helper: None) -> None:
    form = page_text(signed_in.get(new_url("vector_mean")))
    assert "Devices refuse single reports with a local privacy loss (ε) above 16" in form
    assert "Devices refuse ε above" not in form
    asked = {"statistic": "vector_mean", "steps": None, "step_seconds": None, "dimension": 3}
    recipe = two_server_recipe(**asked, cohort_size=1_000, epsilon=1.0)
    page = recipe_page(signed_in, recipe, "recipe-take-part")
    for said in (
        "Devices refuse single reports with a local privacy loss",
        "no local ε holds",
        "3 numbers with commas between them",
    ):
        assert said in page
    assert "--largest-local-epsilon 1000000000 " in page.split('id="join-code"')[-1]


def test_form_and_review_without_a_helper_say_why_it_is_disabled(signed_in: Client, settings: Any) -> None:
    signed_in.post(new_url(), form_data(trust="two_server"))
    settings.HELPER_KEY = None
    review = draft_page(signed_in, Recipe.objects.get())
    assert "no helper is set up" in review
    assert "<button disabled>Publish for good" in review
    page = page_text(signed_in.get(new_url()))
    assert two_servers_are_disabled(page)
    assert "no helper is set up" in page
    answer = signed_in.post(new_url(), form_data(trust="two_server"))
    assert answer.status_code == 422
    assert "no helper is set up" in page_text(answer).split('id="id_trust_error"')[1][:200]
    assert Recipe.objects.count() == 1


def test_draft_of_two_servers_is_published(
    signed_in: Client, helper: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = page_text(signed_in.post(new_url(), form_data(trust="two_server"), follow=True))
    for said in (
        "either server by itself",
        "Leader and helper make the keys that it needs",
        "unless one of the two servers helps them",
    ):
        assert said in review
    draft = Recipe.objects.get()
    with monkeypatch.context() as silent:
        silent.setattr(publication, "configured_partners", lambda: scene.partners(scene.unreachable))
        refused = publish(signed_in, draft)
    assert refused.status_code == 422
    assert "did not answer" in page_text(refused)
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT
    assert "Published." in page_text(publish(signed_in, draft, follow=True))
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.PUBLISHED
    page = recipe_page(signed_in, draft, "recipe-privacy")
    for text in (scene.LEADER_URL, scene.HELPER_URL, "Two servers"):
        assert text in page
    assert "helper_signature" in recipe_page(signed_in, draft, "recipe-verify")


def test_open_recipe_of_real_devices_tells_no_count_of_what_was_verified(client: Client) -> None:
    recipe = recipe_with_reports(good=0, bad=37, cohort_size=20)
    tick()
    found = ReportRejection.objects.get(task=scene.task(recipe, Side.LEADER), side=Side.HELPER)
    assert (found.reason, found.count) == ("vdaf_verify_error", 37)
    page = recipe_page(client, recipe)
    assert page.count("published with the result") == 2
    assert "vdaf verify error" not in every_tab(client, recipe)
    assert "At least 20 of 20" in page


def test_helper_that_does_not_answer_is_visible(client: Client) -> None:
    recipe = recipe_with_reports(good=5)
    recipe_close(recipe=recipe, actor=None)
    tick(now=timezone.now() + timedelta(minutes=1), transport=scene.unreachable)
    page = recipe_page(client, recipe)
    assert "The helper has not answered since" in page
    assert "Requests that wait" not in page
    assert "Next attempt" not in page
    assert "Both servers verify the reports without reading them" in page
    assert "This waits for the helper." in page
    assert "decrypted" not in page.split('class="dates"')[0].split('"progress-title"')[1].split("<table")[0]
    assert "ConnectionRefused" not in every_tab(client, recipe)
    client.force_login(auditor())
    page = recipe_page(client, recipe)
    assert "Requests that wait: 1." in page
    due = AggregationJob.objects.get().send_after
    assert f'Next attempt: <time datetime="{due.isoformat()}"' in page
    assert "ConnectionRefused" in page


@pytest.mark.parametrize("closed", [False, True])
def test_silent_helper_does_not_show_whether_a_report_opened(
    client: Client, monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    """Who made reports from a copy of a device's state would learn from it what is in the copy."""
    now = timezone.now().replace(second=0, microsecond=0)
    time_is(monkeypatch, lambda: now)
    seen = []
    for opens in (True, False):
        recipe = recipe_with_reports(good=5)
        tick(now=now)
        report = sealed_report(recipe, [1]) if opens else scene.unopenable_report(recipe)
        assert upload(recipe, [report]) == []
        tick(now=now + timedelta(hours=1), transport=scene.unreachable)
        waiting = AggregationJob.objects.filter(task=scene.task(recipe, Side.LEADER))
        assert waiting.count() == int(opens)
        if closed:
            time_is(monkeypatch, lambda: now + timedelta(hours=2))
            recipe_close(recipe=recipe, actor=None)
            time_is(monkeypatch, lambda: now)
        tick(now=now + timedelta(hours=2, seconds=2), transport=scene.unreachable)
        url = reverse("recipe-progress", args=[recipe.identifier])
        response = client.get(url, {"shown": "summing 0" if closed else "open 0"})
        page = page_text(response).replace(str(recipe.identifier), "")
        assert ("has not answered" in page) is closed
        seen.append(page)
    assert seen[0] == seen[1]


def test_release_shows_both_counts_and_when_they_differ(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed = finish(recipe_with_reports(good=6, bad=2))
    monkeypatch.setattr("dap.helper.views.report_count", lambda task: 7)
    differing = finish(recipe_with_reports(good=6))
    silent = closed(recipe_with_reports(good=6))
    settle()
    HelperCount.objects.filter(task=scene.task(silent, Side.LEADER)).delete()
    result_release(recipe=silent)
    assert "did not answer" in recipe_page(client, silent, "recipe-verify")
    counted = '<td data-label="Reports it counted">about'
    for user in (None, auditor()):
        if user is not None:
            client.force_login(user)
        assert recipe_page(client, agreed, "recipe-verify").count(f"{counted} 6</td>") == 2
        page = every_tab(client, agreed)
        assert "vdaf verify error" not in page
        assert "The servers disagree" not in page
        page = recipe_page(client, differing, "recipe-verify")
        assert (page.count(f"{counted} 6</td>"), page.count(f"{counted} 7</td>")) == (1, 1)
        for shown in (page, recipe_page(client, differing)):
            assert "The servers disagree on how many reports" in shown


def test_withheld_recipe_of_two_servers_says_when_each_deletes_its_keys(client: Client) -> None:
    recipe = finish(recipe_with_reports(good=2))
    assert "not published below the cohort size" in recipe_page(client, recipe, "recipe-verify")
    page = recipe_page(client, recipe)
    for said in (
        "Closed below 5 valid reports.",
        "A new recipe with a smaller cohort size or a longer window can ask again.",
        "The helper deletes its own when it is notified",
    ):
        assert said in page


def test_recipe_that_the_helper_ended_is_not_said_to_lack_reports(client: Client) -> None:
    recipe = recipe_close(recipe=recipe_with_reports(good=6), actor=None)
    tick()  # verified, not yet collected
    helper_task_end(task=scene.task(recipe, Side.HELPER), reason="restored from a backup", now=timezone.now())
    settle()
    result_release(recipe=recipe)
    page = recipe_page(client, recipe)
    assert "restored from a backup" in page
    assert page.count("Nothing was released") == 1
    assert "smaller cohort size" not in page
    assert "what this one cost of the privacy budget stays spent" in page


def test_commands_to_take_part_name_the_key_of_a_helper_if_there_is_one(client: Client) -> None:
    page = recipe_page(client, two_server_recipe(), "recipe-take-part")
    key = base64.b64encode(scene.verification_key_of(scene.HELPER_SIGNING_KEY)).decode()
    assert f'# compare it with {scene.HELPER_ORIGIN}/ HELPER_KEY="{key}"' in page
    assert '--helper-key "$HELPER_KEY"' in page
    assert f'<a href="{scene.HELPER_ORIGIN}/">the helper\'s page</a>' in page
    page = recipe_page(client, published_recipe(), "recipe-take-part")
    assert "panprivacy.device join" in page
    assert "HELPER_KEY" not in page


def test_every_reason_for_a_rejection_is_explained() -> None:
    named = {*ARRIVAL_REASONS, DUPLICATE, *(error.reason for error in ReportError)}
    assert {*named, *TokenError, JOB_REFUSED} == set(EXPLANATIONS)
