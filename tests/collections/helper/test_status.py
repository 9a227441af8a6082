"""What a helper says of itself to everybody."""

import pytest
from django.test import Client

from dap.provisioning import task_end_at_helper
from helper.status import task_status
from tests.collections.helper.scene import current_time, interval_selector, partner, registered
from tests.collections.helper.test_registering import Publication


@pytest.mark.django_db
class TestPage:
    def test_page_of_a_new_helper_says_that_there_is_nothing_yet(self) -> None:
        page = Client().get("/").content.decode()
        assert "No leader has registered a task yet." in page
        assert "Nothing has happened yet." in page

    def test_page_shows_recipe_keys_and_log(self) -> None:
        publication = Publication(question="How many <b>crashed</b>?")
        publication.register()
        Client().get("/helper/hpke_config")
        page = Client().get("/").content.decode()
        assert "How many &lt;b&gt;crashed&lt;/b&gt;?" in page
        assert "Crash counter" in page
        assert publication.recipe.identifier[:20] in page
        assert "Two-server task registered" in page
        assert "handed out" in page
        assert "<script" not in page

    def test_json_says_the_same(self) -> None:
        publication = Publication()
        publication.register()
        content = Client().get("/status.json").json()
        (task,) = content["tasks"]
        assert task["identifier"] == publication.recipe.identifier
        assert task["recipe"]["question"] == publication.recipe.question
        assert (task["recipe"]["epsilon"], task["cohort_size"], task["state"]) == (2.0, 5, "open")
        assert content["log"][0]["action"] == "task_registered"

    def test_page_shows_the_outcome_of_an_ended_task(self) -> None:
        leader = registered()
        task_end_at_helper(partner(), task_id=leader.task_id, reason="too few reports")
        page = Client().get("/").content.decode()
        assert "too few reports" in page
        assert "Task ended" in page or "task ended" in page


@pytest.mark.django_db
class TestCounts:
    def test_counts_move_in_steps_and_stop_at_the_cohort_size(self) -> None:
        leader = registered(min_batch_size=25)
        seen = []
        for added in (9, 1, 9, 1, 9):
            leader.aggregate(leader.reports(added))
            seen.append(task_status(leader.task)["reports"])
        assert [count["count"] for count in seen] == [0, 10, 10, 20, 20]
        assert [count["at_least"] for count in seen] == [False, False, False, False, True]

    def test_failed_verifications_are_not_told_of_while_the_task_runs(self) -> None:
        """Whoever has copies of a state could ask with reports made from them what is encrypted there."""
        leader = registered()
        cheats = [leader.report(2, cheat=True) for _ in range(25)]
        unreadable = [leader.report(config_id=255) for _ in range(25)]
        leader.aggregate([*cheats, *unreadable])
        assert task_status(leader.task)["rejections"] == {"hpke_unknown_config_id": 20}

        task_end_at_helper(partner(), task_id=leader.task_id, reason="over")
        assert task_status(leader.task)["rejections"] == {
            "hpke_unknown_config_id": 20,
            "vdaf_verify_error": 20,
        }

    def test_end_without_a_collection_tells_no_exact_count(self) -> None:
        leader = registered(min_batch_size=25)
        leader.aggregate(leader.reports(13))
        task_end_at_helper(partner(), task_id=leader.task_id, reason="too few")
        assert "13" not in Client().get("/status.json").json()["log"][0]["details"].values()
        assert task_status(leader.task)["reports"] == {"count": 10, "at_least": False}

    def test_collected_task_says_that_its_share_was_released(self) -> None:
        leader = registered()
        reports = leader.reports(3)
        leader.aggregate(reports)
        leader.send_share(leader.share_request(reports, interval_selector(current_time())))
        assert task_status(leader.task)["collected"] is True
        assert "share released" in Client().get("/").content.decode()
