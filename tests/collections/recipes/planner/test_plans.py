"""Plans that take long: one task each, so many at a time, and answers that say how far they are."""

from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.core.cache import caches
from kombu.exceptions import OperationalError

from ledger.numbers import CachedNumbers
from panprivacy.accounting import number_cache
from panprivacy.accounting.number_cache import epsilon_at, symmetric_loss_of
from panprivacy.planning.plan import Depth, Question, plan_of
from recipes.planner import operations, sending, store, tasks
from recipes.planner.operations import plan_answer, plan_begun, plan_compute, plan_quick, plan_state
from recipes.planner.sending import State
from recipes.planner.tasks import compute_plan
from tests.refusals import raising

SHIPPED_TASK_SECONDS = operations.TASK_SECONDS  # fixtures shorten it


def question(**changes: Any) -> Question:
    parameters = {"steps": 7, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000, **changes}
    return Question.from_mapping(
        {
            "statistic": "count_nonzero",
            "parameters": parameters,
            "population_size": 10_000,
            "unknown": "epsilon",
            "targets": {"margin": 2.0},
        }
    )


@pytest.mark.usefixtures("no_time")
def test_answer_without_time_is_completed_by_one_task(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = plan_answer(question=question()), plan_answer(question=question())
    assert first.state == second.state == State.COMPUTING
    assert first.plan["expectation"]["margin_points"] == pytest.approx(1.89, abs=0.01)
    assert first.plan["solution"] is None
    ((asked, slot),) = sent
    compute_plan(asked.as_dict(), slot)
    answer = plan_answer(question=question())
    assert answer.state == State.COMPLETE == plan_state(question=question())
    assert answer.plan["solution"]["found"]
    assert not any(caches["plans"].get(f"slot:{number}") for number in range(store.MOST_PENDING))
    # A task begun at the last moment and up to its deadline has 20 seconds for what is then under way.
    assert sending.START_SECONDS + SHIPPED_TASK_SECONDS + 20 <= store.PENDING_SECONDS
    # Neither another question nor another version has this answer.
    assert plan_state(question=question(epsilon=1.5)) != State.COMPLETE
    monkeypatch.setattr(number_cache, "SOFTWARE", ("another",))
    assert plan_state(question=question()) != State.COMPLETE


def test_plans_keep_no_number_for_others(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone may ask for as many as they like, and the ledger's numbers must not make room for theirs."""
    kept: list[Any] = []
    for name in ("epsilon_set", "loss_set"):
        monkeypatch.setattr(CachedNumbers, name, lambda *given: kept.append(given))
    for number_of in (epsilon_at, symmetric_loss_of):
        number_of.cache_clear()
    asked = question(cohort_size=21, delta=1e-3)
    plan_quick(asked)
    slot = store.slot_take(store.key_of(asked))
    assert slot is not None
    plan_compute(question=asked, slot=slot)
    assert store.result_get(store.key_of(asked)) is not None
    assert not kept


@pytest.mark.usefixtures("no_time")
def test_answer_while_the_task_computes_is_the_first_part_that_it_kept(sent: list[Any]) -> None:
    plan_answer(question=question())
    key = store.key_of(question())
    assert not plan_begun(question=question())
    store.begun_put(key, plan_of(question(), depth=Depth.SOLVED).as_dict())
    answer = plan_answer(question=question())
    assert plan_begun(question=question())
    assert (answer.state, answer.begun) == (State.COMPUTING, True)
    assert answer.plan["solution"]["found"]
    assert answer.plan["guarantees"] is not None
    assert not answer.plan["complete"]
    # Once no task is under way, it is not handed out as if the rest were to follow.
    store.slot_release(key, sent[0][1])
    assert not plan_answer(question=question()).begun


@pytest.mark.usefixtures("no_time")
def test_flood_of_different_questions_fills_the_slots_and_no_more(sent: list[Any]) -> None:
    states = [plan_answer(question=question(steps=steps)).state for steps in range(1, 100)]
    assert states.count(State.COMPUTING) == len(sent) == store.MOST_PENDING
    assert states.count(State.BUSY) == 99 - store.MOST_PENDING
    # Nothing is remembered of those that were turned away.
    assert len(caches["plans"]._cache) == 2 * store.MOST_PENDING


@pytest.mark.usefixtures("no_time")
def test_task_that_fails_gives_its_slot_back(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plan_answer(question=question())
    ((asked, slot),) = sent

    monkeypatch.setattr(operations, "plan_of", raising(ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        plan_compute(question=asked, slot=slot)
    assert plan_state(question=question()) == State.NO_WORKER


@pytest.mark.usefixtures("no_time")
def test_answer_without_a_broker_says_so_and_waits_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def refuse(asked: Question, slot: int) -> None:
        tried.append(slot)
        raise OperationalError

    monkeypatch.setattr(operations, "_send", refuse)
    assert plan_answer(question=question()).state == State.NO_WORKER
    assert plan_answer(question=question(steps=8)).state == State.NO_WORKER
    assert tried == [0]


def test_task_without_enough_time_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "TASK_SECONDS", -1.0)
    slot = store.slot_take(store.key_of(question()))
    assert slot is not None
    plan_compute(question=question(), slot=slot)
    answer = plan_answer(question=question())
    assert answer.state == State.TOO_LONG
    assert not answer.plan["complete"]


@pytest.mark.usefixtures("no_time")
def test_task_that_lost_its_slot_computes_nothing(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plan_answer(question=question())
    ((asked, slot),) = sent
    # Taken for lost, then asked for again and given to another question and to itself.
    caches["plans"].clear()
    assert store.slot_take("another") == slot
    assert plan_answer(question=question()).state == State.COMPUTING
    monkeypatch.setattr(operations, "plan_of", lambda *_: pytest.fail("computed without a slot"))
    plan_compute(question=asked, slot=slot)
    assert store.slot_is_held("another", slot)
    assert store.slot_is_held(store.key_of(question()), sent[1][1])
    assert plan_state(question=question()) == State.COMPUTING


def test_task_that_loses_its_slot_while_it_computes_keeps_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    key = store.key_of(question())
    slot = store.slot_take(key)
    assert slot is not None
    calls = []

    def slow(*given: Any) -> Any:
        calls.append(given)
        caches["plans"].set(f"slot:{slot}", "another")
        return plan_of(*given)

    monkeypatch.setattr(operations, "plan_of", slow)
    plan_compute(question=question(), slot=slot)
    assert len(calls) == 1
    assert store.result_get(key) is None


@pytest.mark.usefixtures("no_time")
def test_question_of_two_requests_at_once_is_sent_once(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one asks between this one's looks: before its slot is taken, after it has computed."""
    others: list[State] = []

    def late(key: str) -> int | None:
        monkeypatch.setattr(store, "slot_take", taken)
        others.append(plan_answer(question=question()).state)
        return taken(key)

    taken = store.slot_take
    monkeypatch.setattr(store, "slot_take", late)
    assert [plan_answer(question=question()).state, *others] == [State.COMPUTING] * 2
    assert len(sent) == 1


@pytest.mark.usefixtures("no_time")
def test_question_without_a_slot_is_sent_once_there_is_one(sent: list[Any]) -> None:
    for number in range(store.MOST_PENDING):
        assert store.slot_take(str(number)) == number
    assert plan_answer(question=question()).state == State.BUSY
    store.slot_release("3", 3)
    assert plan_answer(question=question()).state == State.COMPUTING
    assert sent == [(question(), 3)]


@pytest.mark.usefixtures("no_time")
def test_task_over_its_time_leaves_its_first_part(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plan_answer(question=question())
    ((asked, slot),) = sent

    def overrun(*, question: Question, slot: int) -> None:
        store.begun_put(store.key_of(question), plan_of(question, depth=Depth.SOLVED).as_dict())
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(tasks, "plan_compute", overrun)
    compute_plan(asked.as_dict(), slot)
    answer = plan_answer(question=question())
    assert answer.state == State.TOO_LONG
    assert answer.plan["solution"]["found"]
