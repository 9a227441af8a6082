"""Plans: at once what is quick, the rest when a worker has computed it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.number_cache import cache_read_only
from panprivacy.planning.plan import Depth, Question, plans_of
from storage.answers.kinds import Content, Lane, declared
from storage.answers.questions import Asked, State, ask_all, peek
from web.busy import BusyError


def _answer_quick_plan(asked: Any) -> Iterator[Content]:
    """What of a plan is quick."""
    return _plans(asked, Depth.QUICK)


QUICK_PLAN = declared("quick plan", _answer_quick_plan, Lane.QUICK_PLANS, most=8, urgent=False, version=2)


def _answer_plan(asked: Any) -> Iterator[Content]:
    """All of a plan, from the solution on."""
    return _plans(asked, Depth.WHOLE)


PLAN = declared("plan", _answer_plan, Lane.PLANS, version=2)


def _plans(asked: Any, depth: Depth) -> Iterator[Content]:
    # Anyone may ask for plans: only their answers are stored.
    with cache_read_only():
        question = Question.from_mapping(asked)
        local = [guarantee.as_dict() for guarantee in question.proposal.mechanism().local_guarantees()]
        for plan in plans_of(question, depth):
            yield {"plan": plan.as_dict(), "local_guarantees": local}


@dataclass(frozen=True)
class Planned:
    """A plan as `Plan.as_dict` gives it, and how far it is.

    Attributes:
        local_guarantees: of the proposal, against readers of one report, as data; of every part.
        begun: whether the plan is the first part of what takes long.
    """

    plan: dict[str, Any]
    local_guarantees: list[dict[str, Any]]
    state: State
    begun: bool = False

    @classmethod
    def of(cls, content: Content, state: State, *, begun: bool = False) -> Self:
        """From an answer, or a part of one."""
        return cls(**content, state=state, begun=begun)


def plan_answer(*, question: Question) -> Planned:
    """The plan as far as it is known or quickly computed; workers compute what is missing.

    Raises:
        FieldError: the proposal's mechanism cannot be computed.
        BusyError: nothing is known of it: too many are asked for, or no worker answers.
    """
    content = question.as_dict()
    known = peek(PLAN, content)
    if known is not None and known.content is not None:
        (known,) = ask_all([Asked(PLAN, content)])
        return Planned.of(known.content, known.state, begun=not known.complete)
    # All of it is begun first, and not waited for.
    (whole,) = ask_all([Asked(PLAN, content)], seconds=0)
    if whole.content is None and whole.refusal is None:
        (quick,) = ask_all([Asked(QUICK_PLAN, content)])
        if quick.refusal is not None:
            raise quick.refusal
        (whole,) = ask_all([Asked(PLAN, content)], seconds=0)
        if whole.content is None and whole.refusal is None:
            if quick.content is None:
                raise BusyError
            return Planned.of(quick.content, whole.state)
    if whole.refusal is not None:
        raise whole.refusal
    return Planned.of(whole.content, whole.state, begun=not whole.complete)


def plan_state(*, question: Question) -> State:
    """How far all of a plan is that was asked for."""
    content = question.as_dict()
    if peek(PLAN, content) is None:
        return State.NO_WORKER
    (answer,) = ask_all([Asked(PLAN, content)], seconds=0)
    return answer.state


def plan_begun(*, question: Question) -> bool:
    """Whether a worker has computed a first part that is more than what is quick."""
    known = peek(PLAN, question.as_dict())
    return known is not None and known.content is not None
