"""Processes that work through a list of units together; one failure stops them all.

Processes are forked from one that does nothing but load what they need, never from this one, whose threads
and locks would do harm. `ProcessPoolExecutor` does not fit: a process must go on from unit to unit with
reports that wait for a full batch and send the rest at its end, and an interrupt must stop it in the middle
of a unit, which the executor cannot do before Python 3.14.
"""

import multiprocessing
import pickle
import re
import signal
import tempfile
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Share = Callable[[Iterable[Unit]], Iterator[Result]]

STOP_SECONDS = 5.0


class WorkerError(Exception):
    """A process died, or failed in a way that cannot be told in its own words."""


@dataclass(frozen=True)
class _Failed:
    error: Exception


@dataclass(frozen=True)
class _Finished:
    """The process has worked off all its units."""


_FINISHED = _Finished()


def run_workers(
    share: "Share[Unit, Result]", units: Sequence[Unit], processes: int
) -> Generator[Result, None, None]:
    """Run `share` in several processes, which take the units one by one.

    Args:
        share: picklable; takes units and yields results, one after each unit or more.
        units: picklable; each is worked off once.
        processes: number of processes (≥ 1); never more than units are started.

    Yields:
        all results, in the order in which they come in.

    Raises:
        WorkerError: a process died.
        Exception: whatever `share` raised in a process, if it can be pickled (else WorkerError).
            In every case the other processes are stopped first.
    """
    processes_prepare()
    context = multiprocessing.get_context("forkserver")
    remaining = iter(units)
    workers: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(min(processes, len(units))):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(share, there), daemon=True)
            workers[here] = process
            process.start()
            # Only the child may hold its end, so that its death ends the connection.
            there.close()
        unfinished = set(workers)
        while unfinished:
            for connection in wait(list(unfinished)):
                if not isinstance(connection, Connection):
                    raise TypeError(f"unexpected {connection!r}")
                message = _receive(connection, workers[connection])
                if message is None:
                    _send_next(connection, remaining)
                elif isinstance(message, _Finished):
                    unfinished.remove(connection)
                else:
                    yield message
    finally:
        _stop(workers)


def processes_prepare() -> None:
    """Start the process from which others are forked. Called early, it loads what they need meanwhile, where
    the current folder is that of the product. It ends with this process and its own. May be called twice.
    """
    forkserver.set_forkserver_preload(["devices_sim.fleet"])
    # The socket on which it listens lies in a folder that is chosen once for all of this process.
    usual = tempfile.tempdir
    tempfile.tempdir = socket_folder()
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = usual
    # Starting this one lets interrupts through again, so it is started before.
    resource_tracker.ensure_running()
    # What is started now inherits that interrupts wait, so that none ends it while it loads. This process
    # takes its own afterwards.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def socket_folder() -> str:
    """Where folders with sockets may lie: beside other temporary files, or in `/tmp` if that path is too long
    for the address of a socket, or has characters that URLs and configuration files would have to quote."""
    usual = tempfile.gettempdir()
    is_plain = re.fullmatch(r"[A-Za-z0-9/._+-]{1,70}", usual)
    return usual if is_plain else "/tmp"  # noqa: S108  # a folder of ours is made there


def _receive(connection: Connection, process: BaseProcess) -> Any:
    try:
        message = connection.recv()
    except (EOFError, ConnectionError):
        process.join(STOP_SECONDS)
        raise WorkerError(f"a process ended unexpectedly (exit code {process.exitcode})") from None
    if isinstance(message, _Failed):
        raise message.error
    return message


def _send_next(connection: Connection, remaining: Iterator[Any]) -> None:
    try:
        connection.send(next(remaining, _FINISHED))
    except ConnectionError:
        # The process died after asking; reading from it says so.
        return


def _stop(workers: dict[Connection, BaseProcess]) -> None:
    for connection, process in workers.items():
        connection.close()
        if process.pid is None:
            continue
        process.join(0.2 if process.exitcode is None else 0)
        process.terminate()
        process.join(STOP_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()


def _work(share: "Share[Any, Any]", connection: Connection) -> None:
    """The child's main function: None asks for a unit, `_FINISHED` ends either side."""

    # An interrupt from the terminal reaches the parent as well, which then stops the children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def units() -> Iterator[Any]:
        while True:
            connection.send(None)
            unit = connection.recv()
            if isinstance(unit, _Finished):
                return
            yield unit

    try:
        for result in share(units()):
            connection.send(result)
        connection.send(_FINISHED)
    except (EOFError, ConnectionError):
        return  # The parent has gone, or has stopped listening: nobody wants the results.
    except Exception as error:
        connection.send(_told(error))


def _told(error: Exception) -> _Failed:
    """The error with the child's traceback as a note, in a form that survives pickling."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    except Exception:  # Whatever goes wrong in pickling it, the error can still be told in words.
        error = WorkerError(f"{type(error).__name__}: {error}")
    error.add_note(f"in a process of the fleet:\n{trace}")
    return _Failed(error)
