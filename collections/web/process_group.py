"""Processes that end with one another, so that none is left behind, and none is missing unnoticed."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from celery.signals import beat_embedded_init, worker_ready

_PR_SET_PDEATHSIG = 1


def end_with_parent(by: signal.Signals) -> Callable[[], object] | None:
    """What a new process runs first: the kernel then sends it this signal when the process that started it
    has ended, however that was (prctl(2)). One system call, and nothing that could wait for a lock.

    Returns:
        None on other systems than Linux, which do not do so.
    """
    if sys.platform != "linux":
        return None
    return partial(ctypes.CDLL(None).prctl, _PR_SET_PDEATHSIG, by)


def end_with_server() -> None:
    """Have a web worker end with the server that started it, which may be killed at any moment."""
    server = multiprocessing.parent_process()
    if server is not None and server.pid is not None:
        _end_with(server.pid)


def end_worker_and_beat_together() -> None:
    """Have a worker end with the beat that is its child (`celery worker --beat`), and the beat with it.

    Celery leaves this open: without the beat a worker went on, and nothing was due any more; and a beat whose
    worker was killed went on next to that of the next worker.
    """
    worker_ready.connect(_watch_beat)
    beat_embedded_init.connect(partial(_end_with, os.getpid()), weak=False)


def _watch_beat(sender: Any, **_: Any) -> None:
    worker = sender.controller
    if worker.beat is not None:
        threading.Thread(target=_end_with_beat, args=(worker,), daemon=True).start()


def _end_with_beat(worker: Any) -> None:
    worker.beat.join()
    # A worker that is being stopped stops its beat by itself, and may be running a task.
    if worker.blueprint.human_state() == "running":
        # Like the watcher of workers does (simulations.installation.services), which starts both anew.
        os.kill(os.getpid(), signal.SIGKILL)


def _end_with(parent: int, **_: Any) -> None:
    # Neither a beat nor a web worker keeps anything, and it may be waiting for the broker.
    ask_kernel = end_with_parent(signal.SIGKILL)
    if ask_kernel is not None:
        ask_kernel()
    # That may already have ended.
    if os.getppid() != parent:
        os._exit(1)
