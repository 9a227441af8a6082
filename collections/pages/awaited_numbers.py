"""The state of numbers that a worker computes, or that none does: shown on the page, which polls."""

from dataclasses import dataclass

from django.http import HttpResponse

from storage.answers.questions import State

REFRESH_SECONDS = 3
"""After which a page asks again."""

SENTENCES = {
    State.COMPUTING: "Being computed, which takes up to some minutes. This page asks again by itself.",
    State.BUSY: "Too much is being computed already. Ask again in a minute.",
    State.NO_WORKER: "This takes a worker to compute, and none has begun. Is one running, or are all busy?",
    State.TOO_LONG: "This could not be computed in the time that a worker has. Ask again in some minutes, or "
    "with other parameters.",
}


@dataclass(frozen=True)
class Awaited:
    """What is guaranteed or costs, as long as it is not computed.

    Attributes:
        state: how far it is.
    """

    state: State

    @property
    def sentence(self) -> str:
        """What to do."""
        return SENTENCES[self.state]

    def refresh(self, page: HttpResponse) -> None:
        """Have a page poll by itself, also without scripts, while it is being computed."""
        if self.state == State.COMPUTING:
            page["Refresh"] = str(REFRESH_SECONDS)
