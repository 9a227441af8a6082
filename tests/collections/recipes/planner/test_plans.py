"""Plans: what is quick at once, the rest by a worker, and nothing that grows with the number of questions."""

from typing import Any

import pytest

from ledger.numbers import CachedNumbers
from panprivacy.accounting.number_cache import epsilon_at, symmetric_loss_of
from panprivacy.planning.plan import Depth, Question, plan_of
from recipes.planner.operations import PLAN, plan_answer, plan_begun, plan_state
from storage.answers import models
from storage.answers.questions import State
from tests.collections.recipes.planner.scene import part_of
from tests.collections.storage.answers.scene import begin, leases_end, work, workers_answer
from web.busy import BusyError

pytestmark = pytest.mark.django_db


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


def test_answer_has_what_is_quick_and_is_completed_by_a_worker(sent: list[str]) -> None:
    first, second = plan_answer(question=question()), plan_answer(question=question())
    assert first.state == second.state == State.COMPUTING
    assert first.plan["expectation"]["margin_points"] == pytest.approx(1.89, abs=0.01)
    assert first.plan["guarantees"] is None
    assert len(sent) == 1
    work(sent)
    answer = plan_answer(question=question())
    assert answer.state is State.COMPLETE is plan_state(question=question())
    assert answer.plan["solution"]["found"]
    assert plan_state(question=question(epsilon=1.5)) is not State.COMPLETE


def test_command_computes_all_of_a_plan_by_itself() -> None:
    answer = plan_answer(question=question())
    assert (answer.state, answer.plan["complete"]) == (State.COMPLETE, True)


def test_plans_keep_no_number_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone may ask for as many as they like, and the ledger's numbers must not make room for theirs."""
    kept: list[Any] = []
    for name in ("epsilon_set", "loss_set"):
        monkeypatch.setattr(CachedNumbers, name, lambda *given: kept.append(given))
    for number_of in (epsilon_at, symmetric_loss_of):
        number_of.cache_clear()
    assert plan_answer(question=question(cohort_size=21, delta=1e-3)).plan["complete"]
    assert not kept


def test_answer_while_a_worker_computes_is_the_part_that_it_stored(sent: list[str]) -> None:
    plan_answer(question=question())
    assert not plan_begun(question=question())
    begin(sent[0], part_of(plan_of(question(), Depth.SOLVED)))
    answer = plan_answer(question=question())
    assert plan_begun(question=question())
    assert (answer.state, answer.begun) == (State.COMPUTING, True)
    assert answer.plan["solution"]["found"]
    assert answer.plan["guarantees"] is not None
    assert not answer.plan["complete"]


def test_flood_of_different_questions_waits_for_a_bounded_number(sent: list[str]) -> None:
    states = [plan_answer(question=question(steps=steps)).state for steps in range(1, 100)]
    assert states.count(State.COMPUTING) == len(sent) == PLAN.most
    assert states.count(State.BUSY) == 99 - PLAN.most
    assert models.Question.objects.filter(kind="plan").count() == PLAN.most


def test_flood_without_any_worker_is_refused_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    workers_answer(monkeypatch)
    for steps in range(1, 100):
        with pytest.raises(BusyError):
            plan_answer(question=question(steps=steps))
    assert models.Question.objects.count() <= 8 + PLAN.most


def test_plan_of_a_dead_worker_is_asked_for_again(sent: list[str]) -> None:
    plan_answer(question=question())
    begin(sent.pop(), part_of(plan_of(question(), Depth.SOLVED)))
    leases_end()
    assert plan_state(question=question()) is State.COMPUTING
    work(sent)
    assert plan_answer(question=question()).state is State.COMPLETE
