"""What all rounds of a recipe cost together, where it takes seconds to compose: a worker does it."""

from panprivacy.rounds.draft import RoundsDraft
from planner.losses import losses_state
from planner.sending import State
from series.errors import NotComputedError

_WHY = {
    State.COMPUTING: "a worker is computing what all rounds cost together; try again in some seconds",
    State.BUSY: "the workers compute too much already; try again in a minute",
    State.NO_WORKER: "what all rounds cost together takes a worker, and none has answered: is one running?",
}


def rounds_state(draft: RoundsDraft) -> State:
    """Whether what all rounds cost and guarantee is composed at once from here on.

    What is missing for that is given to a worker. FieldError where the parameters cannot be met.
    """
    return losses_state(events=draft.events_composed)


def require_computed(draft: RoundsDraft) -> None:
    """NotComputedError unless `rounds_state` is complete."""
    state = rounds_state(draft)
    if state != State.COMPLETE:
        raise NotComputedError(_WHY[state])
