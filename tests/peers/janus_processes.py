"""Janus' own binaries as a leader or a helper, with a database of their own, and its client and collector."""

import base64
import http.client
import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import yaml

SERVER = os.environ.get("JANUS_DATABASES", "postgres://postgres@127.0.0.1:5432")
"""Where a database for each is made and dropped: PostgreSQL 15 or newer."""

PATIENCE = 60.0
"""Seconds."""

UPLOADS = {"max_upload_batch_size": 100, "max_upload_batch_write_delay_ms": 50}
DRIVER = {
    "job_discovery_interval_s": 1,
    "max_concurrent_job_workers": 4,
    "worker_lease_duration_s": 30,
    "worker_lease_clock_skew_allowance_s": 1,
    "maximum_attempts_before_failure": 10,
}
COMPONENTS: dict[str, dict[str, Any]] = {
    "aggregator": UPLOADS,
    "aggregation_job_creator": {
        "tasks_update_frequency_s": 1,
        "aggregation_job_creation_interval_s": 1,
        "min_aggregation_job_size": 1,
        "max_aggregation_job_size": 100,
    },
    "aggregation_job_driver": DRIVER,
    "collection_job_driver": DRIVER
    | {"min_collection_job_retry_delay_s": 1, "max_collection_job_retry_delay_s": 1},
}
SHARDS = {"batch_aggregation_shard_count": 4}
APPLICATION_JSON = {"Content-Type": "application/json"}
KEY_ROTATION = {"hpke": {"pending_duration_s": 0}}


class JanusServer:
    """One organization that runs Janus.

    Attributes:
        url: its base address, with a slash at the end.
    """

    def __init__(self, stack: ExitStack, checkout: Path, binaries: Path, folder: Path) -> None:
        self._stack, self._binaries, self._folder = stack, binaries, folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "DATASTORE_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("="),
            "RUST_LOG": "info",
        }
        self._database = stack.enter_context(_database(checkout, f"janus_{os.getpid()}"))
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}/"
        for component, settings in COMPONENTS.items():
            self._write(component, settings | SHARDS)
        self._write("aggregator", UPLOADS | SHARDS | {"listen_address": f"127.0.0.1:{port}"})
        self._write("janus_cli", {})
        self._write("key_rotator", {"key_rotator": KEY_ROTATION})
        # The first run makes a key, the second hands it out.
        for _ in range(2):
            self._run("key_rotator")
        for component in COMPONENTS:
            self._start(component)
        until(lambda: _answers(f"{self.url}hpke_config"), "the aggregator answers")

    def provision(self, file: str) -> None:
        """Take part in the task of a file."""
        tasks = self._folder / f"tasks-{secrets.token_hex(4)}.yaml"
        tasks.write_text(file)
        self._run("janus_cli", "provision-tasks", str(tasks))

    def _write(self, component: str, settings: dict[str, Any]) -> None:
        common = {
            "database": {"url": self._database, "check_schema_version": False},
            "health_check_listen_address": f"127.0.0.1:{_free_port()}",
        }
        self._config(component).write_text(yaml.safe_dump(common | settings))

    def _config(self, component: str) -> Path:
        return self._folder / f"{component}.yaml"

    def _command(self, component: str, *arguments: str) -> list[str]:
        program = str(self._binaries / "janus_aggregator")
        return [program, component, "--config-file", str(self._config(component)), *arguments]

    def _run(self, component: str, *arguments: str) -> None:
        done = subprocess.run(
            self._command(component, *arguments),
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _start(self, component: str) -> None:
        log = self._stack.enter_context((self._folder / f"{component}.log").open("w"))
        process = subprocess.Popen(
            self._command(component), env=self._environment, stdout=log, stderr=subprocess.STDOUT
        )
        self._stack.callback(_stop, process)


class JanusTester:
    """Janus' client or collector behind an interface for tests (draft-dcook-ppm-dap-interop-test-design)."""

    def __init__(self, stack: ExitStack, binaries: Path, program: str) -> None:
        port = _free_port()
        self._url = f"http://127.0.0.1:{port}/internal/test"
        process = subprocess.Popen(
            [str(binaries / "janus_interop"), program, "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(_stop, process)
        until(lambda: _answers(f"{self._url}/ready", b"{}"), f"{program} answers")

    def ask(self, what: str, **members: Any) -> dict[str, Any]:
        """Its answer. Integers other than codes are texts there."""
        asked = json.dumps(members).encode()
        answer: dict[str, Any] = json.loads(sent("POST", f"{self._url}/{what}", asked))
        return answer


def until(holds: Callable[[], object], what: str) -> None:
    """Wait as long as a test may."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@contextmanager
def _database(checkout: Path, name: str) -> Iterator[str]:
    with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            with psycopg.connect(f"{SERVER}/{name}", autocommit=True) as own:
                for script in sorted((checkout / "db").glob("*.up.sql")):
                    own.execute(script.read_bytes())
            yield f"{SERVER}/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _free_port() -> int:
    with socket.socket() as placeholder:
        placeholder.bind(("127.0.0.1", 0))
        port: int = placeholder.getsockname()[1]
    return port


def _stop(process: "subprocess.Popen[Any]") -> None:
    process.kill()
    process.wait()


def _answers(url: str, body: bytes | None = None) -> bool:
    try:
        sent("GET" if body is None else "POST", url, body)
    except (OSError, http.client.HTTPException):
        return False
    return True


def sent(
    method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] = APPLICATION_JSON
) -> bytes:
    """What the answer to a request holds."""
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)) as connection:
        connection.request(method, parts.path, body, dict(headers))
        return connection.getresponse().read()
