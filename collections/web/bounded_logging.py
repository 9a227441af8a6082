"""Log lines that strangers cause as often as they like, bounded by time.

Each line of a log takes disk space. The first few of a minute have the information; the others are counted,
and the number comes with the next line.
"""

import threading
import time
from collections.abc import Callable

MOST = 10
"""Lines of one kind in each period."""

SECONDS = 60.0


class BoundedLine:
    """One kind of line, of one process; safe for threads.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._begun = clock()
        self._written = 0
        self._left_out = 0

    def claim(self) -> int | None:
        """How many lines were left out since the last one; None if this one is to be left out, too."""
        with self._lock:
            now = self._clock()
            if now - self._begun >= SECONDS:
                self._begun, self._written = now, 0
            if self._written >= MOST:
                self._left_out += 1
                return None
            self._written += 1
            left_out, self._left_out = self._left_out, 0
            return left_out
