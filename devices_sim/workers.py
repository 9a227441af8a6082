"""Processes that share a list of units; one failure stops them all.

They are new processes, never forked from this one, whose threads and locks would do harm. A pool does not
fit: an interrupt stops a process in the middle of its work.
"""

import multiprocessing
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Share = Callable[[Sequence[Unit]], Result]


class WorkerError(Exception):
    """A process died, or raised an error that cannot be pickled."""


@dataclass(frozen=True)
class _Failed:
    error: Exception


def run_workers(share: "Share[Unit, Result]", units: Sequence[Unit], processes: int) -> list[Result]:
    """Run `share` in several processes, each on its part of the units.

    Args:
        share: picklable; takes units, and gives what came of them.
        units: picklable; each is worked off once.
        processes: number of processes (≥ 1); never more than units are started.

    Returns:
        the results, in the order in which they come in.

    Raises:
        WorkerError: a process died.
        Exception: whatever `share` raised in a process, if it can be pickled (else WorkerError).
            In every case the other processes are stopped first.
    """
    context = multiprocessing.get_context("spawn")
    count = min(processes, len(units))
    workers: dict[Connection, BaseProcess] = {}
    try:
        for first in range(count):
            here, there = context.Pipe(duplex=False)
            started = context.Process(target=_work, args=(share, units[first::count], there), daemon=True)
            workers[here] = started
            with _interrupts_blocked():
                started.start()
            # Only the child may hold its end, so that its death ends the connection.
            there.close()
        unfinished, results = set(workers), list[Result]()
        while unfinished:
            for connection in wait(list(unfinished)):
                if not isinstance(connection, Connection):
                    raise TypeError(f"unexpected {connection!r}")
                results.append(_receive(connection, workers[connection]))
                unfinished.remove(connection)
        return results
    finally:
        for process in workers.values():
            if process.pid is not None:
                process.kill()
                process.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes started meanwhile are never interrupted: the one that started them stops them."""
    # Starting the tracker unblocks interrupts, so it runs already.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _receive(connection: Connection, process: BaseProcess) -> Any:
    try:
        message = connection.recv()
    except (EOFError, ConnectionError):
        process.join()
        raise WorkerError(f"a process ended unexpectedly (exit code {process.exitcode})") from None
    if isinstance(message, _Failed):
        raise message.error
    return message


def _work(share: "Share[Any, Any]", units: Sequence[Any], connection: Connection) -> None:
    """The child's main function."""
    try:
        connection.send(share(units))
    except ConnectionError:
        return  # The parent has ended: the results are not needed.
    except Exception as error:
        connection.send(_failure(error))


def _failure(error: Exception) -> _Failed:
    """The error with the child's traceback as a note, in a form that survives pickling."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    except Exception:  # Whatever goes wrong in pickling it, the error can still be described in words.
        error = WorkerError(f"{type(error).__name__}: {error}")
    error.add_note(f"in a process of the fleet:\n{trace}")
    return _Failed(error)
