"""How long to wait until what failed is tried again."""

from datetime import timedelta

_MOST_DOUBLINGS = 40
"""More make no difference: a second is 35,000 years then."""


def wait_after(failures: int, *, first: timedelta, longest: timedelta) -> timedelta:
    """The wait, which doubles with every failure: `first` for 0, and at most `longest`."""
    seconds = first.total_seconds() * 2 ** min(failures, _MOST_DOUBLINGS)
    return timedelta(seconds=min(seconds, longest.total_seconds()))
