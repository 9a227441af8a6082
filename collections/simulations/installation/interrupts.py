"""Interrupts that are not lost: SIGINT and SIGTERM unwind the stack, sooner or later.

Python raises what a signal's handler raises wherever it is at that moment, and if that is a finalizer or the
callback of a weak reference, it would only be printed. So a signal is remembered, and raised again while the
command waits, and before something is published.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

_came: list[BaseException] = []
"""Of this process: what holds this at its beginning may hold it again for what it starts."""
_held = 0


@contextmanager
def interrupts_remembered() -> Iterator[Callable[[], None]]:
    """Have both signals unwind the stack, so that what was started ends with this process.

    Yields:
        What raises again what came since the outermost of these began, if anything did: KeyboardInterrupt or
        SystemExit. In another thread than the main one no signal arrives, and it does nothing.
    """
    global _held
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    # If SIGINT is ignored, such as in the background of a shell, it stays so.
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, _interrupted) for number in numbers}
    printing = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_value in _came else printing(lost)
    _held += 1
    try:
        yield _check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = printing
        _held -= 1
        if not _held:
            _came.clear()


def _interrupted(number: int, _frame: object) -> NoReturn:
    _came.append(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number))
    raise _came[-1]


def _check() -> None:
    if _came:
        raise _came[0]
