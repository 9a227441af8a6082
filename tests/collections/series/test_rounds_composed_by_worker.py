"""What all rounds cost together is computed by a worker where a request has no time for it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse
from kombu.exceptions import OperationalError

from ledger.losses import CachedLosses
from ledger.operations import population_create
from panprivacy.accounting import remembered_loss
from panprivacy.accounting.composition import _composed
from panprivacy.accounting.remembered_loss import symmetric_loss_of
from panprivacy.rounds.document import PublishedRounds
from panprivacy.rounds.draft import RoundsDraft
from planner import losses, sending, store
from planner.losses import losses_state
from planner.sending import State
from planner.tasks import compute_losses
from series.models import RoundsDocument, Series
from tests.factories import draft_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst

pytestmark = pytest.mark.django_db

ASKED = {"steps": 1, "step_seconds": 1, "cohort_size": 6, "sampling_rate": 0.25}
GIVEN = {"rounds": "3", "round_seconds": "60"}


@pytest.fixture(autouse=True)
def caches_of_this_test(settings: Any) -> None:
    memory = "django.core.cache.backends.locmem.LocMemCache"
    own = {name: {"BACKEND": memory, "LOCATION": f"{name} here"} for name in ("plans", "composed")}
    settings.CACHES = {**settings.CACHES, **own}
    for name in own:
        caches[name].clear()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Tasks that would have been sent by requests that have no time for anything: their arguments."""
    tasks: list[tuple[Any, ...]] = []
    monkeypatch.setattr(losses, "QUICK_SECONDS", -1.0)
    monkeypatch.setattr(losses, "task_send", lambda _, *arguments: tasks.append(arguments))
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
    compute_losses(*sent[0])
    found = publisher.get(answer.headers["Location"])
    assert "Refresh" not in found.headers
    assert found.context["preview"].draft.rounds == 3
    assert len(sent) == 1


def test_fragment_asks_again_by_itself_until_it_is_there(publisher: Client, sent: list[Any]) -> None:
    address = reverse("draft-rounds-preview", args=[draft_recipe(**ASKED).pk])
    waiting = publisher.post(address, GIVEN).content.decode()
    assert f'hx-post="{address}"' in waiting
    compute_losses(*sent[0])
    assert "hx-post" not in publisher.post(address, GIVEN).content.decode()


def test_nothing_is_published_before_a_worker_has_computed_and_then_what_it_computed_is(
    publisher: Client, sent: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("draft-rounds", args=[draft_recipe(**ASKED).pk])
    refused = publisher.post(address, GIVEN)
    assert refused.status_code == 422
    assert "a worker is computing what all rounds cost together" in page_text(refused)
    assert not Series.objects.exists()
    compute_losses(*sent[0])
    for process_memory in (symmetric_loss_of, _composed):  # as in another process
        process_memory.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(
            "panprivacy.accounting.sampling.Sampled.delta_bound", lambda *_: pytest.fail("computed again")
        )
        assert publisher.post(address, GIVEN).status_code == 302
    stated = RoundsDocument.objects.get().published.privacy
    for process_memory in (symmetric_loss_of, _composed):
        process_memory.cache_clear()
    monkeypatch.setattr(remembered_loss, "_memories", [])
    assert stated == PublishedRounds.of(rounds_draft(), series="0" * 16).privacy


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
    compute_losses(*sent[0])
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
    assert "a worker is computing" in refused.json()["detail"]
    assert int(refused.headers["Retry-After"]) > 0
    assert not Series.objects.exists()
    compute_losses(*sent[0])
    assert publish().status_code == 201


def without_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(losses, "task_send", refuse)


def without_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker takes the task, and nobody begins it in time."""
    losses_state(events=rounds_draft().events_composed)
    caches["plans"].delete(f"waiting:{losses._key(rounds_draft().events_composed)}")


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
    assert "none has answered" in page_text(shown)
    assert "none has answered" in page_text(publisher.post(address, GIVEN))
    assert not Series.objects.exists()


def test_task_that_has_lost_its_slot_computes_nothing(sent: list[tuple[Any, ...]]) -> None:
    events = rounds_draft().events_composed
    assert losses_state(events=events) == State.COMPUTING
    caches["plans"].set(f"slot:{sent[0][1]}", "another's")
    compute_losses(*sent[0])
    assert all(CachedLosses().recall(event, event.dots_apart) is None for event in events)


def test_worker_has_time_to_begin_before_its_slot_is_taken_for_lost() -> None:
    assert sending.START_SECONDS < store.PENDING_SECONDS


def test_kept_losses_have_all_their_digits_and_are_of_one_event_and_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept, (event, other) = CachedLosses(), rounds_draft().events_composed
    loss = symmetric_loss_of(event)
    kept.remember(event, 0.0, loss)
    found = kept.recall(event, 0.0)
    assert found is not None
    assert (found.losses.tolist(), found.masses.tolist()) == (loss.losses.tolist(), loss.masses.tolist())
    assert found.infinite == loss.infinite
    assert kept.recall(event, 0.25) is None
    assert kept.recall(other, 0.0) is None
    monkeypatch.setattr("ledger.losses.SOFTWARE", ("another",))
    assert kept.recall(event, 0.0) is None
