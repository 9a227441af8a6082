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
from dap.models import ReportRejection, Side
from helper.ending import helper_task_end
from leader import selectors
from leader.aggregating import JOB_REFUSED
from leader.models import AggregationJob, HelperCount
from pages.kinds.events import DEVICES
from pages.trust_models import SHOWN
from pages.words.rejections import EXPLANATIONS
from panprivacy.dap.basics import ReportError
from panprivacy.trust import Trust
from recipes.models import Recipe
from releases.operations import result_release
from reports.parsing import ARRIVAL_REASONS
from reports.segments import DUPLICATE
from tests.clock import time_is
from tests.collections.pages.test_recipe_pages import form_data, new_url
from tests.collections.two_server import scene
from tests.collections.two_server.scene import sealed_report, settle, tick, two_server_recipe, upload
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import analyst, auditor
from trust_models import TRUST_MODELS, publishing
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The helper that the settings name, over the network of the scene."""
    monkeypatch.setattr(publishing, "configured_partners", scene.partners)
    return


def page_of(client: Client, recipe: Recipe) -> str:
    return page_text(client.get(reverse("recipe", args=[recipe.identifier])))


def recipe_with_reports(*, good: int, bad: int = 0, **changes: Any) -> Recipe:
    recipe = two_server_recipe(**changes)
    reports = [sealed_report(recipe, [1]) for _ in range(good)]
    upload(recipe, reports + [sealed_report(recipe, [1], other_helper_part=True) for _ in range(bad)])
    return recipe


def finish(recipe: Recipe) -> Recipe:
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    result_release(recipe=recipe)
    return Recipe.objects.get(pk=recipe.pk)


def test_no_report_is_counted_twice_that_is_verified_while_progress_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = recipe_with_reports(good=6)
    counted = selectors.report_count

    def verified_meanwhile(task: Any) -> int:
        settle()
        return counted(task)

    monkeypatch.setattr(selectors, "report_count", verified_meanwhile)
    so_far = TRUST_MODELS[Trust.TWO_SERVER].progress(recipe)
    assert so_far.waiting == 0, "all are in the sum"


def test_form_says_of_each_trust_model_whom_it_protects_against_and_whom_not(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url()))
    for model in (SHOWN[trust] for trust in DEVICES.trusts):
        assert model.title in page
        for adversary in model.adversaries:
            assert f"<strong>{escape(adversary.who)}</strong> {escape(adversary.learns)}" in page
    assert page.count("Not protected.") >= 5
    assert "disabled" not in page.split("Two servers</label>")[0].rpartition("<input")[2]


def test_warning_of_single_reports_does_not_blame_an_epsilon_within_the_limit(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url("vector_mean")))
    assert "Devices refuse reports that tell this much by themselves (their local ε is above 16)" in page
    assert "Devices refuse ε above" not in page


def test_published_vectors_warn_and_their_commands_name_the_option_that_takes_part(
    client: Client, helper: None
) -> None:
    asked = {"statistic": "vector_mean", "steps": None, "step_seconds": None, "dimension": 3}
    recipe = two_server_recipe(**asked, cohort_size=1_000, epsilon=1.0)
    text = page_of(client, recipe)
    assert "Devices refuse reports that tell this much by themselves" in text
    assert "no local ε holds" in text
    assert "3 numbers with commas between them" in text
    commands = text.split('id="join-code"')[-1]
    assert "--largest-local-epsilon 1000000000 " in commands


def test_form_without_a_helper_shows_two_servers_disabled_and_why(signed_in: Client, settings: Any) -> None:
    settings.HELPER_KEY = None
    page = page_text(signed_in.get(new_url()))
    option = page.split("Two servers</label>")[0].rpartition("<input")[2]
    assert "disabled" in option
    assert "no helper is set up" in page
    answer = signed_in.post(new_url(), form_data(trust="two_server"))
    assert answer.status_code == 422
    assert "no helper is set up" in page_text(answer).split('id="id_trust_error"')[1][:200]
    assert not Recipe.objects.exists()


def test_form_of_a_mean_shows_two_servers_disabled_and_why(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url("mean")))
    assert "disabled" in page.split("Two servers</label>")[0].rpartition("<input")[2]
    assert "cannot check those of this statistic" in page


def test_form_without_a_choice_is_of_one_server(signed_in: Client) -> None:
    signed_in.post(new_url(), form_data())
    assert Recipe.objects.get().draft["trust"] == "single_server"


@pytest.mark.usefixtures("helper")
def test_draft_of_two_servers_is_reviewed_and_published(signed_in: Client) -> None:
    review = signed_in.post(new_url(), form_data(trust="two_server"), follow=True)
    page = page_text(review)
    assert "either server by itself" in page
    assert "Leader and helper make the keys that it needs" in page
    assert "unless one of the two servers helps them" in page
    draft = Recipe.objects.get()
    answer = signed_in.post(
        reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash}, follow=True
    )
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.PUBLISHED
    page = page_text(answer)
    for text in (scene.LEADER_URL, scene.HELPER_URL, "Two servers", "helper_signature"):
        assert text in page


def test_publish_while_the_helper_is_unreachable_shows_the_review_again_with_the_reason(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in.post(new_url(), form_data(trust="two_server"))
    draft = Recipe.objects.get()
    monkeypatch.setattr(publishing, "configured_partners", lambda: scene.partners(scene.unreachable))
    answer = signed_in.post(reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash})
    assert answer.status_code == 422
    assert "did not answer" in page_text(answer)
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT


def test_review_without_a_helper_says_why_it_cannot_be_published(signed_in: Client, settings: Any) -> None:
    signed_in.post(new_url(), form_data(trust="two_server"))
    settings.HELPER_KEY = None
    page = page_text(signed_in.get(reverse("recipe-draft", args=[Recipe.objects.get().pk])))
    assert "no helper is set up" in page
    assert "<button disabled>Publish for good" in page


def test_open_recipe_of_real_devices_tells_no_count_of_what_was_verified(client: Client) -> None:
    recipe = recipe_with_reports(good=0, bad=37, cohort_size=20)
    tick()
    found = ReportRejection.objects.get(task=scene.task(recipe, Side.LEADER), side=Side.HELPER)
    assert (found.reason, found.count) == ("vdaf_verify_error", 37)
    page = page_of(client, recipe)
    assert page.count("published with the result") == 2
    assert "vdaf verify error" not in page
    assert "At least 20 of 20" in page


def test_helper_that_does_not_answer_is_visible(client: Client) -> None:
    recipe = recipe_with_reports(good=5)
    recipe_close(recipe=recipe, actor=None)
    tick(now=timezone.now() + timedelta(minutes=1), transport=scene.unreachable)
    page = page_of(client, recipe)
    assert "The helper has not answered since" in page
    assert "Requests that wait" not in page
    assert "Next attempt" not in page
    assert "Both servers verify the reports without reading them" in page
    assert "This waits for the helper." in page
    assert "decrypted" not in page.split("Timeline")[0].split("Progress")[1].split("<table")[0]
    assert "ConnectionRefused" not in page
    client.force_login(auditor())
    page = page_of(client, recipe)
    assert "Requests that wait: 1." in page
    due = AggregationJob.objects.get().send_after
    assert f'Next attempt: <time datetime="{due.isoformat()}"' in page
    assert "ConnectionRefused" in page


@pytest.mark.parametrize("closed", [False, True])
def test_helper_that_does_not_answer_tells_nobody_whether_a_report_opened(
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


def test_released_recipe_shows_both_counts_about_and_to_nobody_what_verifying_found(client: Client) -> None:
    recipe = finish(recipe_with_reports(good=6, bad=2))
    for user in (None, auditor()):
        if user is not None:
            client.force_login(user)
        page = page_of(client, recipe)
        assert page.count('<td data-label="Reports it counted">about 6</td>') == 2
        assert "vdaf verify error" not in page


def test_released_recipe_says_when_the_servers_counts_differ(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "The servers disagree" not in page_of(client, finish(recipe_with_reports(good=6)))
    monkeypatch.setattr("helper.views.report_count", lambda task: 7)
    recipe = finish(recipe_with_reports(good=6))
    for user in (None, auditor()):
        if user is not None:
            client.force_login(user)
        page = page_of(client, recipe)
        assert 'data-label="Reports it counted">about 6</td>' in page
        assert 'data-label="Reports it counted">about 7</td>' in page
        assert "The servers disagree on how many reports" in page


def test_released_recipe_says_where_the_helper_did_not_tell_its_count(client: Client) -> None:
    recipe = recipe_close(recipe=recipe_with_reports(good=6), actor=None)
    settle()
    HelperCount.objects.all().delete()
    result_release(recipe=recipe)
    assert "did not answer" in page_of(client, recipe)


def test_withheld_recipe_of_two_servers_says_when_each_deletes_its_keys(client: Client) -> None:
    page = page_of(client, finish(recipe_with_reports(good=2)))
    assert "Closed below 5 valid reports." in page
    assert "A new recipe with a smaller cohort size or a longer window can ask again." in page
    assert "The helper deletes its own when it is told" in page
    assert "not published below the cohort size" in page


def test_recipe_that_the_helper_ended_is_not_said_to_lack_reports(client: Client) -> None:
    recipe = recipe_close(recipe=recipe_with_reports(good=6), actor=None)
    tick()  # verified, not yet collected
    helper_task_end(task=scene.task(recipe, Side.HELPER), reason="restored from a backup", now=timezone.now())
    settle()
    result_release(recipe=recipe)
    page = page_of(client, recipe)
    assert "restored from a backup" in page
    assert page.count("Nothing was released") == 1
    assert "smaller cohort size" not in page
    assert "what this one cost of the privacy budget stays spent" in page


def test_commands_to_take_part_name_the_helpers_key_and_where_it_comes_from(client: Client) -> None:
    page = page_of(client, two_server_recipe())
    key = base64.b64encode(scene.verification_key_of(scene.HELPER_SIGNING_KEY)).decode()
    assert f'# compare it with {scene.HELPER_ORIGIN}/ HELPER_KEY="{key}"' in page
    assert '--helper-key "$HELPER_KEY"' in page
    assert f'<a href="{scene.HELPER_ORIGIN}/">the helper\'s page</a>' in page


def test_commands_to_take_part_with_one_server_name_no_helper(client: Client) -> None:
    page = page_of(client, published_recipe())
    assert "devices_sim join" in page
    assert "HELPER_KEY" not in page


def test_every_reason_for_a_rejection_is_explained() -> None:
    named = {*ARRIVAL_REASONS, DUPLICATE, "value_out_of_range", "wrong_length"}
    named |= {error.reason for error in ReportError}
    assert {*named, *TokenError, JOB_REFUSED} == set(EXPLANATIONS)


def test_every_trust_model_is_described_and_only_one_server_is_protected_from_with_two() -> None:
    assert set(SHOWN) == set(Trust)
    two = {a.who: a.protected for a in SHOWN[Trust.TWO_SERVER].adversaries}
    assert two["One server alone that follows the protocol"]
    assert not two["One server that cheats"]
    assert not two["Someone who opens the device, with one server"]
    assert not two["Both servers together"]
