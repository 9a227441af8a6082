"""The end of commands that are interrupted, or whose output is closed or full: one line at most.

A command is a file that is run. It begins with `end_when_interrupted`, ahead of slow imports, and ends with
`run`:

    from panprivacy.formats import console

    if __name__ == "__main__":
        console.end_when_interrupted()

    import …

    if __name__ == "__main__":
        console.run(main)
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the same as in `typing`, which loads too slowly: Ctrl-C must not wait for it
    from collections.abc import Callable
    from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
"""Exit status, by the convention of shells."""

BROKEN_PIPE = 128 + signal.SIGPIPE
"""The same if the output went to a program that has ended, such as `head`."""

NOT_WRITTEN = 1

_STDOUT, _STDERR = 1, 2


class OutputError(Exception):
    """The output cannot be written. It is no OSError, which a command would mistake for one of its own."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"could not write the output: {error.strerror}")
        self.broken_pipe = error.errno == errno.EPIPE


class _Output(io.TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise OutputError(error) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise OutputError(error) from error


def printable(text: str) -> str:
    """The text without control characters and surrogates, so that other parties' files can go to a
    terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def end_when_interrupted() -> None:
    """Have Ctrl-C end this process at once. While modules load, nothing must be undone, and an exception
    could be lost, or printed with its traceback."""
    _on_interrupt(lambda *_: os._exit(INTERRUPTED))


def raise_when_interrupted() -> None:
    """Have Ctrl-C raise KeyboardInterrupt, which is Python's default: all is loaded."""
    _on_interrupt(signal.default_int_handler)


def run(main: Callable[[], object]) -> NoReturn:
    """Run a command to its end, and exit with the status that it returns, or with that of SystemExit.

    Meanwhile standard output raises OutputError. If that or an interrupt ends the command, nothing more is
    printed, except, on standard error, that the output is full.
    """
    end_when_interrupted()
    _take_output()
    sys.unraisablehook = _not_raised
    try:
        status = _status(main)
        end_when_interrupted()
        sys.stdout.flush()
    except OutputError as error:
        # Buffered output would be written again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        status = BROKEN_PIPE
        if not error.broken_pipe:
            sys.stderr.write(f"error: {error}\n")
            status = NOT_WRITTEN
    sys.exit(status)  # type: ignore[arg-type]  # whatever SystemExit was given


def _status(main: Callable[[], object]) -> object:
    try:
        raise_when_interrupted()
        return main()
    except SystemExit as ended:
        return ended.code
    except KeyboardInterrupt:
        return INTERRUPTED


def _not_raised(lost: sys.UnraisableHookArgs) -> None:
    """Python prints an exception in a finalizer, and goes on."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__unraisablehook__(lost)


def _on_interrupt(handler: Callable[..., object]) -> None:
    # If it is ignored, e.g. in the background of a shell, it stays ignored.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _take_output() -> None:
    # Python has no object for a stream that was closed at its start. The next file that is opened, such as a
    # database, would have its number, and receive what other code prints.
    if sys.stderr is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDERR)
        sys.stderr = open(_STDERR, "w", closefd=False)  # noqa: SIM115  # until the exit
    if sys.stdout is None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), _STDOUT)
        sys.stdout = open(_STDOUT, "w", closefd=False)  # noqa: SIM115  # the same; it refuses what is written
    usual = sys.stdout
    if not isinstance(usual, io.TextIOWrapper):
        raise TypeError(f"standard output is {usual!r}")
    encoding, errors = usual.encoding, usual.errors
    by_line, through = usual.line_buffering, usual.write_through
    sys.stdout = _Output(
        usual.detach(), encoding=encoding, errors=errors, line_buffering=by_line, write_through=through
    )
