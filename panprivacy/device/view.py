"""What a state shows to a person, which is what an intruder sees: no event, no value, no time of either.

With one exception (`state_file`): a failed delivery of `relayed` rare categories.
"""

from dataclasses import dataclass
from typing import Any

from panprivacy.device.state_file import DoneState, LiveState, decode
from panprivacy.formats.display import plain
from panprivacy.formats.times import format_time
from panprivacy.planning.limits import report_epsilon


@dataclass(frozen=True, kw_only=True)
class StateView:
    """The public facts of one state. They are the same for all events, with the exception above.

    Attributes:
        id, name: of the recipe.
        event: the names of its events, with commas between; None if it names none.
        joined: whether the device is still in the recipe: it has neither sent its report, nor left, nor
            ended without a token.
        kept_bytes: the size of the state.
        last_changed: the last step that was taken, 0..T (0 after joining), which the recipe's public clock
            sets; None if `joined` is false.
        sent: as `DoneState.sent`, whatever the coin; None until the device is done.
        epsilon: the local ε of one report (`report_epsilon`); None if there is none.
        details: further sentences for people, by the field that they belong to.
    """

    id: str
    name: str
    event: str | None
    joined: bool
    kept_bytes: int
    last_changed: int | None
    sent: str | None
    epsilon: float | None
    details: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: all attributes but `details`."""
        return {name: value for name, value in vars(self).items() if name != "details"}

    def lines(self) -> list[str]:
        """The facts for people, one line each."""
        alone = "one report alone has no ε: it is protected among others only"
        if self.epsilon is not None:
            alone = f"privacy loss (ε) {plain(self.epsilon, '.6g')}{self.details.get('epsilon', '')} by one"
            alone += " report, if a server decrypts it (local model)"
        if not self.joined and self.sent is None:
            alone = "nothing, unless a report arrived without an answer"
        return [
            f"recipe: {self.name} ({self.id})",
            f"event: {self.event or 'without a name'}",
            f"joined: {self.details['joined']}",
            f"kept: {self.kept_bytes:,} bytes, which show no event",
            f"last changed: {self.details['last_changed']}",
            f"sent: {self.details['sent']}",
            f"can reveal: {alone}",
        ]


def state_view(content: bytes) -> StateView:
    """What a state file shows.

    Args:
        content: of the file, or the store.

    Raises:
        ForeignStateError, DamagedStateError: as `decode`.
    """
    state = decode(content)
    return _of_done(state, len(content)) if isinstance(state, DoneState) else _of_live(state, len(content))


def _of_done(done: DoneState, size: int) -> StateView:
    ended = f"no: it got no token ({done.refused})" if done.refused else "no: it is done"
    unsent = "nothing that was accepted, and nothing will be"
    sent = f"on {done.sent}, unless its coin kept it out" if done.sent else unsent
    return StateView(
        id=done.identifier,
        name=done.name,
        event=done.event,
        joined=False,
        kept_bytes=size,
        last_changed=None,
        sent=done.sent,
        epsilon=None if done.epsilon is None else float(done.epsilon),
        details={
            "joined": "no: it has left" if done.left else ended,
            "last_changed": "when it ended",
            "sent": sent,
        },
    )


def _of_live(live: LiveState, size: int) -> StateView:
    recipe, step = live.recipe, live.state.step
    steps = recipe.parameters.step_count
    deltas = [known.delta for known in recipe.calibrated_statistic.local_guarantees() if known.delta]
    return StateView(
        id=recipe.identifier,
        name=recipe.name,
        event=recipe.event_name,
        joined=True,
        kept_bytes=size,
        last_changed=step,
        sent=None,
        epsilon=report_epsilon(recipe.calibrated_statistic),
        details={
            "joined": f"yes; the recipe closes at {format_time(recipe.closes_at)}",
            "last_changed": f"after step {step} of {steps}, by the clock" if step else "on joining",
            "sent": "nothing yet",
            "epsilon": f" at δ = {plain(max(deltas))}" if deltas else "",
        },
    )
