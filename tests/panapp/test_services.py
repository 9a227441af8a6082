"""The watch over the processes of an installation: it outlives whatever it cannot start again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from panapp import services
from panapp.services import Program, ServiceError, Services, _worker_commands, wait_until

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


def test_broker_that_does_not_start_again_at_once_is_tried_until_it_does(started: Any) -> None:
    broker = Broker(failures=3)
    watched = started(broker)
    assert wait_until(broker.is_running, 30)
    watched.check()


def test_broker_that_never_starts_again_is_said_by_check_and_does_not_keep_stop_from_stopping(
    started: Any,
) -> None:
    watched = started(Broker(failures=float("inf")))

    def given_up() -> bool:
        try:
            watched.check()
        except ServiceError:
            return True
        return False

    assert wait_until(given_up, 30)
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
    assert wait_until(lambda: watched.pid("sleeper") != first, 30)
    assert refusals == []
    watched.check()


def test_stop_of_services_of_which_one_did_not_start_ends_the_others() -> None:
    half = Services("http://127.0.0.1:1", None)
    with pytest.raises(FileNotFoundError):
        half.start({"sleeper": SLEEPER, "missing": Program(["./no-such-program"], {})})
    pid = half.pid("sleeper")
    half.stop()
    assert not psutil.pid_exists(pid)


def queues_of(variables: dict[str, str], **number: int) -> dict[str, list[str]]:
    """Of each worker's command, what it says of queues."""
    commands = _worker_commands(number.get("workers", 1), variables)
    options = ("--queues", "--exclude-queues")
    return {
        name: [part for at, part in enumerate(command) if part in options or command[at - 1] in options]
        for name, command in commands.items()
    }


def test_installation_without_partners_has_workers_for_everything() -> None:
    assert queues_of({}, workers=2) == {"worker 1": [], "worker 2": []}


def test_requests_to_each_partner_are_left_to_workers_of_their_own() -> None:
    both = {"PANAPP_HELPER_URL": "http://h/helper", "PANAPP_SHUFFLER_URL": "http://s/shuffler"}
    assert queues_of(both) == {
        "worker 1": ["--exclude-queues", "panapp-helper,panapp-shuffler"],
        "worker to helper 1": ["--queues", "panapp-helper"],
        "worker to shuffler 1": ["--queues", "panapp-shuffler"],
    }
    shuffler = {"PANAPP_SHUFFLER_URL": "http://s/shuffler", "PANAPP_QUEUE": "ours"}
    assert queues_of(shuffler) == {
        "worker 1": ["--exclude-queues", "ours-shuffler"],
        "worker to shuffler 1": ["--queues", "ours-shuffler"],
    }
