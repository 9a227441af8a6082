"""What a helper says of itself to everybody."""

import random
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dap.helper.task_ends import helper_task_end
from dap.models import BatchBucket, ReportRejection, Side, Task
from dap.operations import rejections_add
from joint_key.helper.models import JointRecipe
from log.audit.models import Entry
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import CHECKSUM_BYTES, Interval
from tests.collections.dap.helper.scene import current_time, interval_selector, registered
from tests.collections.dap.helper.test_registrations import Publication
from tests.page_text import page_text
from tests.panprivacy.recipe.joint_key_scene import joint_recipe

COUNTED, REJECTED = 7_654_321, 1_234_567
"""Numbers that stand nowhere by chance."""


def recipe_task(**arguments: Any) -> Task:
    """A recipe's task, of real devices or of simulated ones."""
    publication = Publication(**arguments)
    publication.register()
    return Task.objects.get(task_id=publication.task_id)


def count(task: Task, *, reports: int = COUNTED, **rejected: int) -> None:
    """As if so many reports had been verified and rejected."""
    BatchBucket.objects.update_or_create(
        task=task,
        identifier=Interval(0, 1).encode(),
        defaults={"report_count": reports, "checksum": bytes(CHECKSUM_BYTES), "aggregate_share": b""},
    )
    rejections_add(task=task, side=Side.HELPER, reasons=rejected)


def shown() -> tuple[str, str]:
    """Page and JSON, as everybody gets them."""
    return page_text(Client().get("/")), Client().get("/status.json").content.decode()


def end(task: Task) -> None:
    helper_task_end(task=task, reason="too few reports", now=timezone.now())


@pytest.mark.django_db
class TestPage:
    def test_page_and_json_show_what_and_for_whom_in_the_words_of_the_product(self, settings: Any) -> None:
        page = page_text(Client().get("/"))
        assert "No leader has registered a task yet." in page
        assert "Nothing has happened yet." in page
        settings.SMALLEST_COHORT = 3
        publication = Publication(question="How many <b>crashed</b>?")
        publication.register()
        plain = registered()
        end(plain.task)
        Client().get("/helper/hpke_config")
        page, content = page_text(Client().get("/")), Client().get("/status.json").json()
        for said in (
            "How many &lt;b&gt;crashed&lt;/b&gt;?",
            "3 reports. It refuses tasks that would release totals of fewer.",
            f"Leader: <code>{plain.task.peer_url}</code>",
            publication.recipe.identifier[:20],
            base64_text.encode_url(plain.task_id),
            "Prio3Count",
            "Devices with at least one event",
            "Two-server task registered",
            "Two-server task ended",
            "too few reports",
            "in use",
        ):
            assert said in page
        assert re.search(r"\d [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC", page)
        unread = re.sub(r'datetime="[^"]*"', "", page)
        for raw in (
            "<script",
            "min_batch_size",
            "VDAF 1",
            "True",
            "count_nonzero",
            f"{timezone.now():%Y-%m-%d}T",
        ):
            assert raw not in unread
        ended, task = content["tasks"]
        assert (ended["state"], task["state"]) == ("ended", "open")
        assert task["identifier"] == publication.recipe.identifier
        assert task["recipe"]["question"] == publication.recipe.question
        assert (task["recipe"]["epsilon"], task["cohort_size"]) == (2.0, 5)
        actions = [entry["action"] for entry in content["log"]]
        assert actions == [*["hpke_key_introduced"] * 2, "task_ended", *["task_registered"] * 2]
        salts = list(Entry.objects.values_list("salt", flat=True))
        assert all(salts)
        assert not [text for text in shown() for salt in salts if salt in text]

    @pytest.mark.parametrize("address", ["/", "/status.json"])
    def test_page_is_only_read_and_never_kept_by_others(self, address: str) -> None:
        assert "no-store" in Client().get(address).headers["Cache-Control"]
        assert Client().post(address).status_code == 405
        assert Client().get(address, {"before": "x"}).status_code == 400

    def test_page_and_json_show_tasks_in_pages_newest_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pages.status.server.PAGE_SIZE", 2)
        identifiers = [registered().task_id.hex() for _ in range(5)]
        seen, query = [], ""
        while True:
            content = Client().get(f"/status.json{query}").json()
            page = page_text(Client().get(f"/{query}"))
            seen.append([task["identifier"] for task in content["tasks"]])
            assert all(identifier[:20] in page for identifier in seen[-1])
            if not (query := content["older"]):
                break
            assert f'href="/{query}"' in page
        newest = identifiers[::-1]
        assert seen == [newest[:2], newest[2:4], newest[4:]]

    def test_page_of_many_tasks_asks_the_database_no_more_than_one_of_few(self) -> None:
        def queries() -> int:
            with CaptureQueriesContext(connection) as captured:
                shown()
            return len(captured)

        count(recipe_task(), hpke_decrypt_error=20)
        few = queries()
        for number in range(3):
            count(registered().task, hpke_decrypt_error=20)
            count(recipe_task(name=f"recipe {number}"), hpke_decrypt_error=20)
        assert queries() == few


def plain_task() -> Task:
    return registered().task


def simulated_task() -> Task:
    return recipe_task(simulation=True)


@pytest.mark.django_db
class TestReports:
    """Whoever has copies of a state could ask, with reports made from them, what is encrypted there: such a
    report verifies or not. Nothing here may depend on how many did."""

    @pytest.mark.parametrize("make", [plain_task, recipe_task, simulated_task])
    @pytest.mark.parametrize("ended", [False, True])
    def test_page_does_not_depend_on_counts_of_reports(self, make: Any, ended: bool) -> None:
        task = make()
        if ended:
            end(task)
        nothing = shown()
        for reports in (1, 30, COUNTED):
            count(task, reports=reports, vdaf_verify_error=REJECTED, report_replayed=REJECTED)
            assert shown() == nothing
        assert ReportRejection.objects.count() == 2, "there was something to tell"

    def test_real_reports_change_nothing_that_is_shown(self) -> None:
        leader = registered(min_batch_size=25)
        leader.report()  # the first one has the helper make its key, which the page shows
        nothing = shown()
        leader.aggregate(leader.reports(30))
        leader.aggregate([leader.report(2, cheat=True) for _ in range(25)])
        leader.aggregate([leader.report(config_id=255) for _ in range(25)])
        assert shown() == nothing

    @pytest.mark.parametrize("make", [plain_task, recipe_task, simulated_task])
    def test_end_without_a_collection_tells_no_count_anywhere(self, make: Any) -> None:
        task = make()
        count(task, vdaf_verify_error=REJECTED)
        end(task)
        for text in shown():
            digits = text.replace(",", "")
            assert str(COUNTED) not in digits
            assert str(REJECTED) not in digits
        assert "don't publish how many reports were verified or rejected" in shown()[0]

    @pytest.mark.parametrize("state", JointRecipe.State)
    def test_joint_keys_recipe_is_shown_in_each_state_without_counts(self, state: str) -> None:
        recipe, ended = joint_recipe(random.Random(1)).recipe, state == JointRecipe.State.ENDED
        JointRecipe.objects.create(
            identifier=recipe.identifier,
            document=recipe.canonical.decode(),
            state=state,
            reports=COUNTED,
            part=bytes(112) if ended else None,
            outcome="the result was released" if ended else "",
            created_at=timezone.now(),
            ended_at=timezone.now() if ended else None,
        )
        page, content = page_text(Client().get("/")), Client().get("/status.json").json()
        (joined,) = content["joint_recipes"]
        assert (joined["identifier"], joined["state"]) == (recipe.identifier, state)
        assert (joined["recipe"]["cohort_size"], joined["ended_at"] is None) == (5, not ended)
        assert "Recipes with a joint key (experimental)" in page
        assert recipe.identifier[:20] in page
        assert joined["state_said"] in page
        assert ("total decrypted" in page, "the result was released" in page) == (ended, ended)
        for text in shown():
            digits = text.replace(",", "")
            assert str(COUNTED) not in digits
            assert str(REJECTED) not in digits

    def test_collected_task_says_that_its_share_was_released(self) -> None:
        leader = registered()
        reports = leader.reports(4)
        leader.aggregate(reports)
        leader.send_share(leader.share_request(reports, interval_selector(current_time())))
        content = Client().get("/status.json").json()
        (task,) = content["tasks"]
        assert task["collected"]
        assert content["log"][0]["details"] == {"min_batch_size": 3}
        assert "share released" in page_text(Client().get("/"))
