"""Millions of reports of one recipe, from devices to the release: time, memory, statements, and the truth.

Run from the repository's root, with DATABASE_URL of a database of its own for rows (SQLite by default):

    python -m benchmarks.scale --store objects --reports 20000000
    python -m benchmarks.scale --store rows --reports 5000000

Each run starts the product's processes as `collect` does. Devices bring reports over HTTP, 500 in a batch, to
one web process, which stores them as rows or in a directory (PANAPP_REPORT_STORE=file://…). A device's
ciphertexts all differ: each is the sum of one of 4,000 with the value and one of 4,000 zeros, which takes a
third of the time of an encryption. Then the recipe is closed, and a worker with its children adds up and
releases.

- seconds by the clock: of taking in, and from closing to the release;
- processor time a report, by process. `devices` are no part of the product;
- the most memory that a process ever had (VmHWM), when half of the reports were stored (web, database) or
  added up (workers), and in the end. A backend's includes the buffers that all of them share;
- the longest statement, of PostgreSQL only, as `pg_stat_activity` shows it ten times a second.

Writes `benchmarks/results/scale.json`. Exits with 1 if the release is not what the devices' numbers give, a
process had more than 600 MB, or a statement took more than a second.
"""

import argparse
import json
import multiprocessing
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil

from benchmarks.local_site import MEMBERS, prepare

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "scale.json"

BATCH = 500
POOL = 4_000
DEVICES = 2
LOOK_SECONDS = 0.1
MOST_MEGABYTES = 600
MOST_STATEMENT_SECONDS = 1.0


@dataclass(frozen=True)
class Run:
    """What came of one run.

    Attributes:
        workers: children of the worker, which do the tasks.
        taking_in, closing: seconds by the clock; closing ends with the release.
        microseconds: processor time for a report, by process.
        megabytes_half, megabytes: most memory of a process, by what it is.
        statement: seconds of the longest one, and how it begins; None without PostgreSQL.
        values: of the release.
        expected: what the devices' numbers give.
    """

    store: str
    reports: int
    workers: int
    taking_in: float
    closing: float
    microseconds: dict[str, float]
    megabytes_half: dict[str, int]
    megabytes: dict[str, int]
    statement: tuple[float, str] | None
    values: list[float]
    expected: list[float]


def device(document: str, port: int, reports: int, stored: Any) -> tuple[int, float]:
    """Bring reports to the web server, a third of them a 1.

    Args:
        reports: how many, at most 16 million.
        stored: counts what was acknowledged, for all devices.

    Returns:
        How many were a 1, and this process's processor time.
    """
    from panprivacy.formats import base64_text
    from panprivacy.recipe.document import recipe_of

    recipe = recipe_of(document)
    key, source = recipe.public_key.with_tables(), secrets.SystemRandom()
    values = [key.encrypt(int(number % 3 == 0), source) for number in range(POOL)]
    zeros = [key.encrypt(0, source) for _ in range(POOL)]
    connection = HTTPConnection("127.0.0.1", port)
    ones = 0
    for start in range(0, reports, BATCH):
        numbers = range(start, min(start + BATCH, reports))
        batch = [
            {
                "nonce": base64_text.encode(secrets.token_bytes(16)),
                "ciphertexts": [
                    base64_text.encode(bytes(key.add([values[number % POOL], zeros[number // POOL]])))
                ],
            }
            for number in numbers
        ]
        address, content = (
            f"/api/v1/recipes/{recipe.identifier}/reports/batch/",
            json.dumps({"reports": batch}),
        )
        connection.request("POST", address, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200 or json.loads(answer)["accepted"] != len(batch):
            raise RuntimeError(f"{response.status}: {answer[:500]!r}")
        ones += sum(number % POOL % 3 == 0 for number in numbers)
        with stored.get_lock():
            stored.value += len(batch)
    return ones, time.process_time()


@dataclass
class Watched:
    """Processor time and memory of the processes of an installation, kept when one ends."""

    pids: Mapping[int, str]
    """Process → name, of those that were started; children get a name of their own."""
    database: str | None = None
    """Name of the database, of PostgreSQL."""
    statement: tuple[float, str] = (0.0, "")
    megabytes: dict[str, int] = field(default_factory=dict)
    _seconds: dict[int, tuple[str, float]] = field(default_factory=dict)

    def look(self) -> None:
        """Read what they have used so far."""
        for process, name in [*self._own(), *self._backends()]:
            try:
                times = process.cpu_times()
                status = Path(f"/proc/{process.pid}/status").read_text()
            except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                continue
            self._seconds[process.pid] = (name, times.user + times.system)
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    self.megabytes[name] = max(self.megabytes.get(name, 0), int(line.split()[1]) // 1_024)

    def seconds(self) -> dict[str, float]:
        """Processor time by name."""
        found: dict[str, float] = {}
        for name, seconds in self._seconds.values():
            found[name] = found.get(name, 0.0) + seconds
        return found

    def _own(self) -> Iterator[tuple[psutil.Process, str]]:
        for pid, name in self.pids.items():
            try:
                parent = psutil.Process(pid)
                yield parent, name
                for child in parent.children(recursive=True):
                    yield child, f"{name}'s children"
            except psutil.NoSuchProcess:
                continue

    def _backends(self) -> Iterator[tuple[psutil.Process, str]]:
        if self.database is not None:
            for process in psutil.process_iter(["name", "cmdline"]):
                if process.info["name"] == "postgres" and f" {self.database} " in " ".join(
                    process.info["cmdline"] or ()
                ):
                    yield process, "database's backends"

    def look_at_statements(self) -> None:
        """Keep the longest statement that runs at this moment."""
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT extract(epoch FROM clock_timestamp() - query_start)::float8, left(query, 100) "
                "FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' "
                "AND pid <> pg_backend_pid() ORDER BY 1 DESC LIMIT 1"
            )
            for seconds, query in cursor.fetchall():
                self.statement = max(self.statement, (seconds, query))


@contextmanager
def looking(watched: Watched) -> Iterator[None]:
    """Look again and again meanwhile, in a thread with a connection of its own."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(LOOK_SECONDS):
            if watched.database is not None:
                watched.look_at_statements()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def run(store: str, reports: int, workers: int) -> Run:
    """One run in this process, whose environment names a database and a store of its own."""
    from urllib.parse import urlsplit

    from django.db import connection

    from publishing.publication import recipe_close, recipe_publish_file
    from results.aggregation.models import SubAggregate
    from results.models import Release
    from simulations.installation.services import running_services

    recipe = recipe_publish_file(members=MEMBERS, actor=None, simulation=True)
    estimate = recipe.published.calibrated_statistic.estimate
    is_postgresql = connection.vendor == "postgresql"
    context = multiprocessing.get_context("spawn")
    stored = context.Value("q", 0)
    half: dict[str, int] = {}

    def look(counted: int, names: tuple[str, ...]) -> None:
        watched.look()
        if counted >= reports / 2:
            for name in names:
                half.setdefault(name, watched.megabytes.get(name, 0))

    def summed() -> int:
        return SubAggregate.objects.filter(recipe=recipe).values_list("reports", flat=True).first() or 0

    with running_services(workers=workers, environment={"PANAPP_CHUNK_STALE_SECONDS": "240"}) as services:
        pids = {services.pid(name): name for name in ("web", "worker")}
        watched = Watched(pids, connection.settings_dict["NAME"] if is_postgresql else None)
        port = urlsplit(services.base_url).port
        document = recipe.published.canonical.decode()
        with looking(watched):
            began = time.perf_counter()
            with ProcessPoolExecutor(
                DEVICES, mp_context=context, initializer=_share, initargs=(stored,)
            ) as pool:
                parts = [reports // DEVICES + (place < reports % DEVICES) for place in range(DEVICES)]
                futures: list[Future[tuple[int, float]]] = [
                    pool.submit(_device, document, port, part) for part in parts
                ]
                while not all(every.done() for every in futures):
                    time.sleep(1)
                    look(stored.value, ("web", "web's children", "database's backends"))
                    look(summed(), ("worker", "worker's children"))
                brought = [every.result() for every in futures]
            taking_in = time.perf_counter() - began
            began = time.perf_counter()
            recipe_close(recipe=recipe, actor=None)
            while not Release.objects.filter(recipe=recipe).exists():
                services.check()
                time.sleep(0.2)
                look(summed(), ("worker", "worker's children"))
            closing = time.perf_counter() - began
            watched.look()
            time.sleep(90)  # upkeep, which begins every minute
            watched.look()
    release = Release.objects.get(recipe=recipe)
    if release.reports != reports:
        raise RuntimeError(f"{release.reports} of {reports:,} reports count: {release.reason}")
    seconds = {"devices": sum(spent for _, spent in brought), **watched.seconds()}
    return Run(
        store,
        reports,
        workers,
        round(taking_in, 1),
        round(closing, 1),
        {name: round(spent * 1e6 / reports, 1) for name, spent in seconds.items()},
        half,
        watched.megabytes,
        (round(watched.statement[0], 2), watched.statement[1]) if is_postgresql else None,
        list(release.values),
        list(estimate([sum(ones for ones, _ in brought)], reports).values),
    )


_stored: Any = None


def _share(stored: Any) -> None:
    global _stored
    _stored = stored


def _device(document: str, port: int, reports: int) -> tuple[int, float]:
    return device(document, port, reports, _stored)


def run_apart(store: str, reports: int, workers: int) -> Run:
    """One run in a process of its own, with a directory that goes with it."""
    with tempfile.TemporaryDirectory(prefix="panapp-scale-") as directory:
        environment = dict(os.environ)
        environment.pop("PANAPP_REPORT_STORE", None)
        if store == "objects":
            environment["PANAPP_REPORT_STORE"] = Path(directory, "reports").as_uri()
        command = [
            *(sys.executable, "-m", "benchmarks.scale", "--in", directory),
            *("--store", store, "--reports", str(reports), "--workers", str(workers)),
        ]
        output = subprocess.run(
            command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    return Run(**json.loads(output.splitlines()[-1]))


def unmet(found: Run) -> list[str]:
    """Bars that are not met, in words."""
    problems = [
        f"{name} had {megabytes} MB"
        for name, megabytes in found.megabytes.items()
        if megabytes > MOST_MEGABYTES
    ]
    if found.statement and found.statement[0] > MOST_STATEMENT_SECONDS:
        problems.append(f"a statement took {found.statement[0]} s: {found.statement[1]}")
    if found.values != found.expected:
        problems.append(f"the release is {found.values}, and should be {found.expected}")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--store", choices=("rows", "objects"), default="objects")
    parser.add_argument("--reports", type=int, nargs="+", default=[100_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--in", dest="directory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.directory:
        prepare(Path(options.directory))
        print(json.dumps(asdict(run(options.store, options.reports[0], options.workers))))
        return
    runs, problems = [], []
    for reports in options.reports:
        runs.append(run_apart(options.store, reports, options.workers))
        print(json.dumps(asdict(runs[-1])), flush=True)
        problems += unmet(runs[-1])
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([asdict(every) for every in runs], indent=1) + "\n")
    for line in problems:
        print(f"not met: {line}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
