"""What the log vouches for besides itself: each app compares its own tables with entries, in `log_checks`."""

from collections.abc import Callable, Sequence

Check = Callable[[], None]
"""Raises BrokenLogError if something is not what its entry says."""

_DECLARED: list[Check] = []


def log_check(check: Check) -> Check:
    """Have `log_verify` run this, too, once the log itself is known to be whole."""
    _DECLARED.append(check)
    return check


def log_checks() -> Sequence[Check]:
    """Those of the installed apps."""
    return tuple(_DECLARED)
