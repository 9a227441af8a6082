"""What a worker computes of rounds, or nobody does: said on the page, which asks again by itself."""

from dataclasses import dataclass

from django.http import HttpResponse

from panprivacy.rounds.draft import RoundsDraft
from planner.sending import State
from series.composing import rounds_state

REFRESH_SECONDS = 3
"""After which a page asks again."""


@dataclass(frozen=True)
class Awaited:
    """What all rounds guarantee, as long as it is not computed.

    Attributes:
        state: how far it is.
    """

    state: State

    @property
    def sentence(self) -> str:
        """What to do."""
        return {
            State.BUSY: "The workers compute too much already. Ask again in a minute.",
            State.NO_WORKER: "This takes a worker to compute, and none has answered. Is one running?",
        }.get(self.state, "Being computed, which takes up to half a minute. This page asks again by itself.")

    def refresh(self, page: HttpResponse) -> None:
        """Have a page ask again by itself, also without scripts, while a worker computes."""
        if self.state == State.COMPUTING:
            page["Refresh"] = str(REFRESH_SECONDS)


def awaited_of(draft: RoundsDraft) -> Awaited | None:
    """None where nothing is to be waited for. FieldError where the parameters cannot be met."""
    state = rounds_state(draft)
    return None if state == State.COMPLETE else Awaited(state)
