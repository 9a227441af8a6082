"""What a recipe guarantees: computed once, within a request's time and turn or by a task."""

import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.core.cache import caches
from django.core.cache.backends import locmem
from kombu.exceptions import OperationalError

from pages.awaited import Awaited
from panprivacy.accounting.interruption import interruption_point
from panprivacy.planning.checkpoint import OutOfTimeError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from recipes.planner import guarantees, store
from recipes.planner.guarantees import NotComputedError, guarantees_require, guarantees_state, promise_require
from recipes.planner.sending import State
from recipes.planner.tasks import compute_guarantees
from tests.collections.recipes.planner.scene import another_process, hurry, own_caches, tasks_sent
from tests.factories import recipe_members
from tests.patience import PATIENCE
from tests.refusals import field_refused, raising
from web import turns

CATEGORIES = {"statistic": "categories", "steps": None, "k": 3, "epsilon": 1.0, "cohort_size": 20}
DAY = 86_400


@pytest.fixture(autouse=True)
def numbers_of_this_test(settings: Any) -> None:
    own_caches(settings, "composed")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    return tasks_sent(monkeypatch)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def one(**changes: Any) -> RecipeDraft:
    return RecipeDraft.from_mapping(recipe_members(**{**CATEGORIES, "sampling_rate": 0.5, **changes}))


def in_rounds(**changes: Any) -> RoundsDraft:
    asked = {"steps": 1, "cohort_size": 6, "sampling_rate": 0.25, "rounds": 3, "round_seconds": 2 * DAY}
    return RoundsDraft.from_mapping(recipe_members(**{**asked, **changes}))


ASKED: dict[str, Callable[[], Any]] = {
    "categories": one,
    "every device": lambda: one(sampling_rate=1.0),
    "segments": lambda: one(segments=["one's own", "another"], statistic="histogram", steps=2),
    "dummies": lambda: one(
        statistic="count_nonzero",
        k=None,
        steps=2,
        hidden_count={"epsilon": 1.0, "delta": 1e-6},
        population_size=500,
    ),
    "a relay": lambda: one(
        statistic="rare_categories",
        sampling_rate=None,
        participation="relayed",
        devices=1_000,
        counted_devices=100,
        rare_share=0.1,
        admission="token",
        relay=True,
    ),
    "rounds": in_rounds,
    "rounds, every device": lambda: in_rounds(sampling_rate=None),
    "donation": lambda: in_rounds(rounds=None, donation_rounds=3, sampling_rate=None),
    "rounds of noise": lambda: in_rounds(
        statistic="mean", k=2, guarantee="aggregator", epsilon=1.0, steps=2, round_seconds=3 * DAY
    ),
}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", ASKED)
def test_numbers_of_a_task_are_complete_everywhere(
    name: str, sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found is every number that needs a curve, quick or not: hundreds of quick points are longer than a
    request has. Dummies have no memory; a request computes their ε in no time."""
    made = ASKED[name]
    first = guarantees_state(asked=made())
    if first != State.COMPLETE:
        assert first == State.COMPUTING
        ((members, slot),) = sent
        compute_guarantees(members, slot)
    another_process()
    with monkeypatch.context() as patched:
        patched.setattr("panprivacy.accounting.sampling.Sampling.delta", lambda *_: pytest.fail("once more"))
        assert guarantees_state(asked=made()) == State.COMPLETE
    if name != "dummies":
        another_process()
        caches["plans"].clear()
        assert guarantees_state(asked=made()) == State.COMPLETE
    assert len(sent) <= 1


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("made", [one, in_rounds])
def test_promise_that_is_not_kept_is_found_once_with_what_would_keep_it(
    made: Callable[..., Any], sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = made(aggregator_epsilon=0.3)
    assert guarantees_state(asked=asked) == State.COMPUTING
    compute_guarantees(*sent[0])
    another_process()
    monkeypatch.setattr("panprivacy.recipe.draft.remedy_clause", lambda *_: pytest.fail("once more"))
    for _ in range(2):
        guarantees_require(asked=asked)
        with field_refused("aggregator_epsilon", match=r"0.3 is not met: .*would do"):
            promise_require(asked=asked)
    assert len(sent) == 1


def test_request_with_time_computes_by_itself(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    draft = one()
    assert guarantees_state(asked=draft) == State.COMPLETE
    # Even where nothing else remembers: what was computed is not thrown away.
    caches["composed"].clear()
    monkeypatch.setattr(
        "panprivacy.accounting.rejection_sampling.RejectionSampling.delta", lambda *_: pytest.fail("twice")
    )
    assert draft.calibrated.guarantees()
    assert not sent


@pytest.mark.usefixtures("hurried")
def test_tasks_hold_no_more_than_the_guarantees_depend_on(sent: list[Any]) -> None:
    secret = {"name": "the name", "question": "the question?", "labels": ["a", "b", "the label"]}
    guarantees_state(asked=one(**secret, population="the-pilots", opens_at="2031-01-31T12:00:00Z"))
    told = json.dumps(sent)
    assert "the" not in told
    assert "2031" not in told
    assert guarantees_state(asked=one(name="another name")) == State.COMPUTING
    assert len(sent) == 1, "another name changes no number"


@pytest.mark.usefixtures("hurried")
def test_request_that_computed_in_vain_does_not_do_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarantees, "task_send", raising(OperationalError))
    assert guarantees_state(asked=one()) == State.NO_WORKER
    monkeypatch.setattr(guarantees, "turn", lambda: pytest.fail("computes again"))
    for _ in range(3):
        assert guarantees_state(asked=one()) == State.NO_WORKER
        caches["plans"].delete("broker-silent")
    with pytest.raises(NotComputedError, match="none has begun"):
        guarantees_require(asked=one())


def test_many_requests_take_turns_and_compute_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 requests for 4 recipes, each of which takes too long, while no worker answers."""
    computing: set[int] = set()
    begun: list[str] = []
    lock, too_many, held = threading.Lock(), threading.Event(), 0.3

    def prepare(draft: RecipeDraft) -> None:
        interruption_point()
        with lock:
            begun.append(draft.as_dict()["cohort_size"])
            computing.add(threading.get_ident())
            if len(computing) > turns.AT_ONCE:
                too_many.set()
        too_many.wait(held)
        with lock:
            computing.discard(threading.get_ident())
        raise OutOfTimeError

    monkeypatch.setattr(RecipeDraft, "prepare", prepare)
    monkeypatch.setattr(guarantees, "task_send", raising(OperationalError))
    monkeypatch.setattr(turns, "WAIT_SECONDS", PATIENCE)
    sizes = [20, 21, 22, 23]
    with ThreadPoolExecutor(12) as threads:
        states = list(threads.map(lambda size: guarantees_state(asked=one(cohort_size=size)), 3 * sizes))
    assert not too_many.is_set()
    assert sorted(begun) == sizes
    assert set(states) <= {State.COMPUTING, State.NO_WORKER}


def test_request_without_a_turn_says_that_it_is_busy(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(turns, "_turns", threading.BoundedSemaphore(1))
    with turns.turn():
        assert guarantees_state(asked=one()) == State.BUSY
    assert guarantees_state(asked=one()) == State.COMPLETE
    assert not sent


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("end", [OutOfTimeError, SoftTimeLimitExceeded, ZeroDivisionError])
def test_task_out_of_time_or_broken_keeps_what_it_finished_and_rests(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch, end: type[Exception]
) -> None:
    guarantees_state(asked=one())
    ((members, slot),) = sent
    raised = pytest.raises(end) if end is ZeroDivisionError else nullcontext()
    with monkeypatch.context() as patched, raised:
        patched.setattr("panprivacy.accounting.sampling.Sampling.epsilon", raising(end))
        compute_guarantees(members, slot)
    assert not store.slot_is_held(guarantees._key(one().anonymized), slot)
    another_process()
    for _ in range(3):
        assert guarantees_state(asked=one()) == State.TOO_LONG
    with pytest.raises(NotComputedError, match="longer to compute than a worker may"):
        guarantees_require(asked=one())
    assert len(sent) == 1
    # In some minutes it is asked for again, and goes on from there.
    caches["plans"].delete(f"given-up:{guarantees._key(one().anonymized)}")
    assert guarantees_state(asked=one()) == State.COMPUTING
    monkeypatch.setattr("panprivacy.accounting.one_hot_sum.OneHotSum.epsilon", raising(AssertionError))
    monkeypatch.setattr(
        "panprivacy.accounting.rejection_sampling.RejectionSampling.epsilon", raising(AssertionError)
    )
    compute_guarantees(*sent[1])
    assert guarantees_state(asked=one()) == State.COMPLETE


def test_every_state_has_its_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in set(State) - {State.COMPLETE}:
        monkeypatch.setattr(guarantees, "guarantees_state", lambda *, asked, state=state: state)
        with pytest.raises(NotComputedError) as said:
            guarantees_require(asked=one())
        for sentence in (f"{said.value}.", Awaited(state).sentence):
            assert re.fullmatch(r"[A-Za-z][^_]{20,}[.?]", sentence)


def test_task_has_its_whole_time_from_its_beginning_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it waited: what it holds does not run out before its own time limit."""
    assert compute_guarantees.soft_time_limit <= store.PENDING_SECONDS
    slot = store.slot_take("asked")
    assert slot is not None
    for mark in (f"slot:{slot}", "pending:asked", "waiting:asked"):
        caches["plans"].touch(mark, 1)
    store.begun_note("asked", slot)
    later = time.time() + store.PENDING_SECONDS - 1
    monkeypatch.setattr(locmem, "time", SimpleNamespace(time=lambda: later))
    assert store.slot_is_held("asked", slot)
    assert store.is_pending("asked")
    assert store.is_waited_for("asked")
