"""What all rounds cost together is computed by a worker where a request has no time for it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse
from kombu.exceptions import OperationalError

from ledger.numbers import CachedNumbers
from ledger.operations import population_create
from panprivacy.accounting import remembered
from panprivacy.accounting.composition import _composed, _roughly_composed
from panprivacy.accounting.remembered import epsilon_at, symmetric_loss_of
from panprivacy.rounds.document import PublishedRounds
from panprivacy.rounds.draft import RoundsDraft
from panprivacy.rounds.privacy import events_composed
from planner import guarantees, sending, store
from planner.guarantees import NotComputedError, guarantees_state
from planner.sending import State
from planner.tasks import compute_guarantees
from series.models import RoundsDocument, Series
from series.operations import series_publish
from tests.factories import draft_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst

pytestmark = pytest.mark.django_db

ASKED = {"steps": 1, "step_seconds": 1, "cohort_size": 6, "sampling_rate": 0.25}
GIVEN = {"rounds": "3", "round_seconds": "60"}


def another_process() -> None:
    for process_memory in (symmetric_loss_of, epsilon_at, _composed, _roughly_composed):
        process_memory.cache_clear()


@pytest.fixture(autouse=True)
def caches_of_this_test(settings: Any) -> None:
    memory = "django.core.cache.backends.locmem.LocMemCache"
    own = {name: {"BACKEND": memory, "LOCATION": f"{name} here"} for name in ("plans", "composed")}
    settings.CACHES = {**settings.CACHES, **own}
    for name in own:
        caches[name].clear()
    another_process()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Tasks that would have been sent by requests that have no time for anything: their arguments."""
    tasks: list[tuple[Any, ...]] = []
    monkeypatch.setattr(guarantees, "REQUEST_SECONDS", -1.0)
    monkeypatch.setattr(guarantees, "task_send", lambda _, *arguments: tasks.append(arguments))
    return tasks


@pytest.fixture
def publisher(client: Client) -> Client:
    client.force_login(analyst())
    return client


def rounds_draft() -> RoundsDraft:
    return RoundsDraft.from_mapping(recipe_members(**ASKED, rounds=3, round_seconds=60))


def test_preview_asks_a_worker_once_and_follows_without_scripts(
    publisher: Client, sent: list[tuple[Any, ...]]
) -> None:
    address = reverse("draft-rounds", args=[draft_recipe(**ASKED).pk])
    answer = publisher.post(address, GIVEN | {"action": "preview"})
    assert answer.status_code == 302
    waiting = publisher.get(answer.headers["Location"])
    assert waiting.headers["Refresh"] == str(3)
    assert "Being computed" in page_text(waiting)
    assert len(sent) == 1
    compute_guarantees(*sent[0])
    found = publisher.get(answer.headers["Location"])
    assert "Refresh" not in found.headers
    assert found.context["preview"].draft.rounds == 3
    assert len(sent) == 1


def test_fragment_asks_again_by_itself_until_it_is_there(publisher: Client, sent: list[Any]) -> None:
    address = reverse("draft-rounds-preview", args=[draft_recipe(**ASKED).pk])
    waiting = publisher.post(address, GIVEN).content.decode()
    assert f'hx-post="{address}"' in waiting
    compute_guarantees(*sent[0])
    assert "hx-post" not in publisher.post(address, GIVEN).content.decode()


def test_nothing_is_published_before_a_worker_has_computed_and_then_what_it_computed_is(
    publisher: Client, sent: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("draft-rounds", args=[draft_recipe(**ASKED).pk])
    refused = publisher.post(address, GIVEN)
    assert refused.status_code == 422
    assert "is being computed" in page_text(refused)
    assert not Series.objects.exists()
    compute_guarantees(*sent[0])
    another_process()
    with monkeypatch.context() as patched:
        patched.setattr(
            "panprivacy.accounting.sampling.Sampled.delta_bound", lambda *_: pytest.fail("computed again")
        )
        assert publisher.post(address, GIVEN).status_code == 302
    stated = RoundsDocument.objects.get().stated["privacy"]
    another_process()
    monkeypatch.setattr(remembered, "_memory", None)
    assert stated == [dict(one) for one in PublishedRounds.of(rounds_draft(), series="0" * 16).privacy]


def test_who_must_approve_decides_when_the_label_is_there(
    publisher: Client, sent: list[tuple[Any, ...]]
) -> None:
    population_create(name="pilots", description="", budget=None, actor=None, four_eyes=True)
    draft = draft_recipe(population="pilots", **ASKED)
    asked = publisher.post(reverse("draft-rounds", args=[draft.pk]), GIVEN).headers["Location"]
    publisher.force_login(account("bea", "Analysts"))
    waiting = publisher.get(asked)
    assert waiting.headers["Refresh"] == str(3)
    assert "Being computed" in page_text(waiting)
    assert 'value="approve"' not in waiting.content.decode()
    compute_guarantees(*sent[0])
    found = publisher.get(asked)
    assert "Refresh" not in found.headers
    assert found.context["guarantees"]
    assert 'value="approve"' in found.content.decode()


def test_programs_are_told_to_send_it_again(publisher: Client, sent: list[tuple[Any, ...]]) -> None:
    members = recipe_members(**ASKED, rounds=3, round_seconds=60)

    def publish() -> Any:
        return publisher.post("/api/v1/series/", members, content_type="application/json")

    refused = publish()
    assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[-1]) == (503, "unavailable")
    assert "is being computed" in refused.json()["detail"]
    assert int(refused.headers["Retry-After"]) > 0
    assert not Series.objects.exists()
    compute_guarantees(*sent[0])
    assert publish().status_code == 201


def without_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(guarantees, "task_send", refuse)


def without_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker takes the task, and nobody begins it in time."""
    guarantees_state(asked=rounds_draft())
    caches["plans"].delete(f"waiting:{guarantees._key(rounds_draft().bare)}")


@pytest.mark.parametrize("missing", [without_broker, without_begin])
def test_without_a_worker_preview_and_publishing_say_so(
    publisher: Client,
    sent: list[tuple[Any, ...]],
    monkeypatch: pytest.MonkeyPatch,
    missing: Callable[[pytest.MonkeyPatch], None],
) -> None:
    missing(monkeypatch)
    address = reverse("draft-rounds", args=[draft_recipe(**ASKED).pk])
    shown = publisher.get(address, GIVEN | {"preview": "1"})
    assert "Refresh" not in shown.headers
    assert "none has begun" in page_text(shown)
    assert "none has begun" in page_text(publisher.post(address, GIVEN))
    assert not Series.objects.exists()


def test_task_that_has_lost_its_slot_computes_nothing(sent: list[tuple[Any, ...]]) -> None:
    assert guarantees_state(asked=rounds_draft()) == State.COMPUTING
    caches["plans"].set(f"slot:{sent[0][1]}", "another's")
    compute_guarantees(*sent[0])
    composed = events_composed(rounds_draft().statistic, once=False)
    assert all(CachedNumbers().loss_recall(event, event.dots_apart) is None for event in composed)


def test_worker_has_time_to_begin_before_its_slot_is_taken_for_lost() -> None:
    assert sending.START_SECONDS < store.PENDING_SECONDS


def test_series_of_single_recipes_is_not_published_before_its_guarantees_are_computed(
    sent: list[tuple[Any, ...]],
) -> None:
    members, actor = recipe_members(**ASKED, every="day", rounds=3), analyst()
    with pytest.raises(NotComputedError):
        series_publish(members=members, actor=actor)
    assert not Series.objects.exists()
    compute_guarantees(*sent[0])
    assert series_publish(members=members, actor=actor) == Series.objects.get()
