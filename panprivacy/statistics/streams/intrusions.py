"""Intrusions into a state: how many may be announced, and what every guarantee relies on."""

from panprivacy.statistics.streams.state import StreamState

SURPRISE_COMES_LAST = (
    "the intrusion by surprise coming after the announced ones, each announced at once: two readings of the "
    "state between which nothing was randomized again protect no item (PPS section 6.1)"
)
"""The assumption of every pan guarantee of a stream."""


def require_allowed(announced_intrusions: int, allowed: int) -> None:
    """ValueError unless it is a number of announced intrusions that the parameters allow."""
    if not 0 <= announced_intrusions <= allowed:
        raise ValueError(f"announced intrusions must be 0..{allowed}, not {announced_intrusions}")


def count_announcement(state: StreamState, allowed: int) -> None:
    """Note one more announced intrusion; ValueError if there have been as many as allowed."""
    require_allowed(state.announced_intrusions + 1, allowed)
    state.announced_intrusions += 1
