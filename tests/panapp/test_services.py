"""The watch over the processes of an installation: it outlives whatever it cannot start again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from celery import Celery
from structlog.testing import capture_logs

from simulations.installation import services
from simulations.installation.interrupts import interrupts_remembered
from simulations.installation.services import (
    BASE_DIR,
    Program,
    ServiceError,
    Services,
    _worker_programs,
    wait_until,
)
from storage.queues import QueueNames
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

SLEEPER = Program([sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ))


class Broker:
    """Has died, and does not start the next `failures` times."""

    def __init__(self, failures: float) -> None:
        self.failures = failures
        self.running = False

    def is_running(self) -> bool:
        return self.running

    def terminate(self) -> None:
        pass

    def start(self) -> None:
        self.failures -= 1
        if self.failures >= 0:
            raise TimeoutError("the machine is busy")
        self.running = True


@pytest.fixture(autouse=True)
def _short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "WATCH_SECONDS", 0.01)


@pytest.fixture
def started() -> Iterator[Any]:
    running: list[Services] = []

    def start(broker: Any = None) -> Services:
        running.append(Services("http://127.0.0.1:1", broker))
        running[0].start({"sleeper": SLEEPER})
        return running[0]

    yield start
    for each in running:
        each.stop()


def test_stop_kills_what_would_not_end_when_asked() -> None:
    """As a web server that is asked while it starts."""
    deaf = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"]
    watched = Services("http://127.0.0.1:1", None)
    watched.start({"deaf": replace(SLEEPER, command=deaf)})
    watched.stop()
    assert watched._processes["deaf"].returncode == -signal.SIGKILL


def test_check_raises_an_interrupt_again_that_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would print what is raised in a finalizer, and go on."""

    class Interrupting:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    printed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: printed.append(raised.exc_type))
    with interrupts_remembered() as interrupted:
        watched = Services("http://127.0.0.1:1", None, interrupted=interrupted)
        watched.check()
        Interrupting()
        assert printed == []
        with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
            watched.check()
        # As a command that was interrupted before it started anything.
        with interrupts_remembered() as within, pytest.raises(SystemExit):
            within()
    with interrupts_remembered() as interrupted:
        interrupted()


PARENT = """
import multiprocessing, time
import panapp
from web.process_group import end_with_server

def serve(ready):
    end_with_server()
    ready.set()
    time.sleep(600)

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    child = context.Process(target=serve, args=(ready,))
    child.start()
    ready.wait()
    print(child.pid, flush=True)
    child.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's end")
def test_web_worker_ends_with_its_server_when_that_is_killed() -> None:
    server = subprocess.Popen([sys.executable, "-c", PARENT], cwd=BASE_DIR, stdout=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        worker = psutil.Process(int(server.stdout.readline()))
        server.kill()
    assert wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, PATIENCE)


def test_broker_that_does_not_start_again_at_once_is_tried_until_it_does(started: Any) -> None:
    broker = Broker(failures=3)
    watched = started(broker)
    assert wait_until(broker.is_running, PATIENCE)
    watched.check()


def test_process_that_dies_is_named_in_a_sentence_once(tmp_path: Path) -> None:
    said: list[str] = []
    messages = tmp_path / "messages.log"
    noisy = Program(
        [sys.executable, "-c", "import sys, time; print('x', file=sys.stderr); time.sleep(600)"], {}
    )
    broker: Any = Broker(failures=0)
    watched = Services("http://127.0.0.1:1", broker, warn=said.append, messages=messages)
    watched.start({"sleeper": noisy})
    try:
        assert wait_until(
            lambda: broker.running and messages.exists() and messages.read_text() == "x\n", PATIENCE
        )
        psutil.Process(watched.pid("sleeper")).kill()
        assert wait_until(lambda: messages.read_text() == "x\nx\n", PATIENCE)
    finally:
        watched.stop()
    assert said == [
        "The broker ended. It is started again; no work is lost.",
        "The process “sleeper” ended (signal 9). It is started again.",
    ]


def test_broker_that_never_starts_again_fails_check_but_not_stop(started: Any) -> None:
    watched = started(Broker(failures=float("inf")))

    def given_up() -> bool:
        try:
            watched.check()
        except ServiceError:
            return True
        return False

    assert wait_until(given_up, PATIENCE)
    pid = watched.pid("sleeper")
    watched.stop()
    assert not psutil.pid_exists(pid)


def test_process_that_the_machine_refuses_at_first_is_started_later(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = started()
    first = watched.pid("sleeper")
    start, refusals = subprocess.Popen, [BlockingIOError("no more processes")] * 3

    def busy(*arguments: Any, **options: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return start(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", busy)
    psutil.Process(first).kill()
    assert wait_until(lambda: watched.pid("sleeper") != first, PATIENCE)
    assert refusals == []
    watched.check()


def test_stop_of_services_of_which_one_did_not_start_ends_the_others() -> None:
    half = Services("http://127.0.0.1:1", None)
    with pytest.raises(FileNotFoundError):
        half.start({"sleeper": SLEEPER, "missing": Program(["./no-such-program"], {})})
    pid = half.pid("sleeper")
    half.stop()
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("end", [None, SystemExit(143), ServiceError("it did not start")], ids=repr)
def test_queues_on_a_shared_broker_are_gone_however_the_services_end(
    end: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Celery prefers it to the broker that it is given.
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    with services._broker() as server:
        broker_url = f"redis+socket://{server.unix_socket_path}"
        with suppress(type(end)) if end else nullcontext(), services._queue(broker_url) as name:
            queues = QueueNames.of(name)
            # One task into each, as web servers and the beat do.
            with Celery(broker=broker_url) as sender:
                sender.conf.update(task_queues=queues.queues(), task_default_queue=queues.default)
                for queue in queues:
                    sender.send_task("a.task", queue=queue)
            assert {queue.encode() for queue in queues} <= set(server.client().keys())
            if end is not None:
                raise end
        assert server.client().keys() == []


KILLED = """
import time
import panapp
from simulations.installation import services
with services._broker() as server:
    print(server.client().info()["process_id"], flush=True)
    time.sleep(600)
"""


needs_util_linux = pytest.mark.skipif(
    None in (shutil.which("setsid"), shutil.which("setpriv")), reason="util-linux is not installed"
)


@pytest.mark.parametrize("name", ["it's a b#1é", 100 * "x"])
def test_look_is_left_to_a_worker_whatever_the_temporary_folder_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    queue = QueueNames.of("ours").advance
    with services._broker() as server:
        url = f"redis+socket://{server.unix_socket_path}"
        services._look(url, queue, services.ADVANCE_COLLECTIONS)
        (waiting,) = server.client().lrange("ours-advance", 0, -1)
        assert json.loads(waiting)["headers"]["task"] == "results.tasks.advance_collections"
    # Without a broker it is left to the beat.
    services._look(url, queue, services.ADVANCE_COLLECTIONS)


@needs_util_linux
def test_broker_is_not_reached_by_ctrl_c_but_ended_in_its_order() -> None:
    with services._broker() as server:
        broker = server.client().info()["process_id"]
        assert os.getsid(broker) == os.getpgid(broker) == broker


@needs_util_linux
def test_broker_ends_with_the_process_that_started_it_when_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "panapp.settings"}
    with subprocess.Popen(command, env=environment, cwd=BASE_DIR, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        broker = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    psutil.wait_procs([broker], PATIENCE)
    assert not broker.is_running()


def test_broker_that_is_gone_hides_no_other_reason(tmp_path: Path) -> None:
    nobody_listens = f"redis+socket://{tmp_path}/broker.sock"
    with capture_logs() as logged, pytest.raises(ServiceError, match="it did not start"):
        with services._queue(nobody_listens):
            raise ServiceError("it did not start")
    assert [entry["event"] for entry in logged] == ["queues_not_deleted"]


def queues_of(variables: dict[str, str]) -> dict[str, list[str]]:
    """Of each worker's command, what it says of queues."""
    programs = _worker_programs(1, variables, partner_jobs=2)
    options = ("--queues", "--exclude-queues")
    return {
        name: [part for at, part in enumerate(command) if part in options or command[at - 1] in options]
        for name, command in ((name, program.command) for name, program in programs.items())
    }


def test_installation_has_one_beat_and_several_requests_to_a_partner() -> None:
    programs = _worker_programs(2, {"PANAPP_HELPER_URL": "http://h/helper"}, partner_jobs=3, devices=5)
    assert [name for name, program in programs.items() if "--beat" in program.command] == ["worker"]
    commands = {name: program.command for name, program in programs.items()}
    children = {name: command[command.index("--concurrency") + 1] for name, command in commands.items()}
    assert children == {"worker": "5", "worker to helper": "6"}


def test_demo_serves_each_queue_once_and_computes_apart() -> None:
    programs = _worker_programs(2, {"PANAPP_HELPER_URL": "http://h/helper"}, 2, devices=3, apart=True)
    commands = {name: program.command for name, program in programs.items()}
    children = {name: command[command.index("--concurrency") + 1] for name, command in commands.items()}
    assert children == {
        "worker": "2",
        "worker to helper": "4",
        "worker for previews": "1",
        "worker of devices": "3",
        "worker of numbers": "1",
        "worker of plans": "1",
    }
    excluded = commands["worker"][commands["worker"].index("--exclude-queues") + 1].split(",")
    served = [
        queue
        for command in commands.values()
        if "--queues" in command
        for queue in command[command.index("--queues") + 1].split(",")
    ]
    assert excluded == served
    assert set(QueueNames.of("panapp")) - set(served) == {
        *("panapp-advance", "panapp-collections", "panapp", "panapp-shuffler")
    }
    assert programs["worker of numbers"].environment["PANAPP_PROCESS"] == "worker-of-numbers"


def test_requests_to_each_partner_are_left_to_workers_of_their_own() -> None:
    both = {"PANAPP_HELPER_URL": "http://h/helper", "PANAPP_SHUFFLER_URL": "http://s/shuffler"}
    assert queues_of({}) == {"worker": []}
    assert queues_of(both) == {
        "worker": ["--exclude-queues", "panapp-helper,panapp-shuffler"],
        "worker to helper": ["--queues", "panapp-helper"],
        "worker to shuffler": ["--queues", "panapp-shuffler"],
    }
    shuffler = {"PANAPP_SHUFFLER_URL": "http://s/shuffler", "PANAPP_QUEUE": "ours"}
    assert queues_of(shuffler) == {
        "worker": ["--exclude-queues", "ours-shuffler"],
        "worker to shuffler": ["--queues", "ours-shuffler"],
    }
