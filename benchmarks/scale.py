"""Reports in object storage, from the closed recipe to its result: time, memory and objects.

Run from the repository's root: `python -m benchmarks.scale [--reports N …] [--workers W …]`, on SQLite in a
temporary directory, or with DATABASE_URL of a database of its own. For the whole, on two cores that nothing
else uses:

    python -m benchmarks.scale --reports 5000000 10000000 --workers 1 2

Each run stores this number of reports as the ingest endpoint does, 500 together, in a directory
(PANAPP_REPORT_STORE=file://…), starts a worker with that many children, and closes the recipe. A report's key
is random and its ciphertext one of 2,000: the ingest endpoint is measured by `benchmarks.door`, and a
ciphertext takes as long to decrypt the second time. What is counted begins when workers may begin, and ends
with the result:

- processor time of the worker and its children a report, and what twice as many reports take of it;
- reports a second, and what twice as many children make of it (worth something on free cores only);
- the most memory that a process ever had (VmHWM), of this one too, which fills and watches; not of the web
  server and the broker, which have nothing to do;
- objects and bytes in the store, before and after sorting.

Writes `benchmarks/results/scale.json`. Exits with 1 if a bar is not met.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psutil

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "scale.json"

TOGETHER = 500
POOL = 2_000
MOST_MEGABYTES = 600
MOST_OFF_LINEAR = 0.1
LEAST_SPEED_UP = 1.9
MEMBERS = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 7,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 200,
}


@dataclass(frozen=True)
class Run:
    """What came of one run.

    Attributes:
        workers: children of the worker, which do the tasks.
        seconds: by the clock, from when workers could begin to the result.
        worker_microseconds: processor time of the worker and its children for a report.
        shards: into how many the reports were sorted.
        megabytes: most memory of a process, by what it is.
        objects, gigabytes: in the store when it is closed, and when all is sorted.
    """

    reports: int
    workers: int
    seconds: float
    worker_microseconds: float
    shards: int
    megabytes: dict[str, int]
    objects: tuple[int, int]
    gigabytes: tuple[float, float]


def fill(recipe: Any, reports: int) -> None:
    """Store this number of reports as the ingest endpoint does after its checks."""
    from reports.models import ReportSegment
    from reports.segments import segments_write

    key, source = recipe.published.public_key.with_tables(), secrets.SystemRandom()
    pool = [bytes(key.encrypt(number % 3 == 0, source)) for number in range(POOL)]
    for start in range(0, reports, TOGETHER):
        count = min(TOGETHER, reports - start)
        keys = os.urandom(16 * count)
        records = [keys[16 * at : 16 * at + 16] + pool[(start + at) % POOL] for at in range(count)]
        ReportSegment.objects.bulk_create(segments_write({recipe: records}))


def lies_in(folder: Path) -> tuple[int, int]:
    """Number of objects, and their bytes."""
    sizes = []
    for place in folder.rglob("*"):
        try:
            if place.is_file():
                sizes.append(place.stat().st_size)
        except FileNotFoundError:
            continue
    return len(sizes), sum(sizes)


def highest_memory(process: psutil.Process) -> int:
    """The most that a process ever had resident, in megabytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1_024


class Watched:
    """A worker and its children, which do the tasks: processor time and memory, kept when one ends."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self.megabytes: dict[str, int] = {}

    def look(self, worker: int) -> None:
        """Read what they have used so far."""
        parent = psutil.Process(worker)
        for process in (parent, *parent.children(recursive=True)):
            try:
                times = process.cpu_times()
                memory = highest_memory(process)
            except (psutil.NoSuchProcess, FileNotFoundError, StopIteration):
                continue
            self._seconds[process.pid] = times.user + times.system
            name = "worker" if process is parent else "worker's child"
            self.megabytes[name] = max(self.megabytes.get(name, 0), memory)

    @property
    def seconds(self) -> float:
        """Processor time of all."""
        return sum(self._seconds.values())


def run(reports: int, workers: int) -> Run:
    """One run in this process, whose settings name a store of its own."""
    from django.conf import settings
    from django.core.management import call_command

    from publishing.publishing import recipe_close, recipe_publish_file
    from reports.models import SegmentedRecipe
    from results.models import Release
    from simulations.installation.services import running_services

    folder = Path(unquote(urlsplit(settings.OBJECT_STORE).path))
    call_command("migrate", verbosity=0)
    recipe = recipe_publish_file(members=MEMBERS, actor=None, simulation=True)
    fill(recipe, reports)
    arrived = lies_in(folder)
    watched = Watched()
    with running_services(workers=workers, environment={"PANAPP_CHUNK_STALE_SECONDS": "240"}) as services:
        worker = services.pid("worker")
        watched.look(worker)
        before, started = watched.seconds, time.perf_counter()
        recipe_close(recipe=recipe, actor=None)
        most, shards = (0, 0), 0
        while not Release.objects.filter(recipe=recipe).exists():
            time.sleep(0.2)
            watched.look(worker)
            row = SegmentedRecipe.objects.filter(recipe=recipe, manifest__isnull=False).first()
            if row is not None and not shards:
                most, shards = lies_in(folder), row.shards
        seconds = time.perf_counter() - started
        watched.look(worker)
    release = Release.objects.get(recipe=recipe)
    if release.reports != reports:
        raise RuntimeError(f"{release.reports} of {reports:,} reports count: {release.reason}")
    watched.megabytes["this one"] = highest_memory(psutil.Process())
    return Run(
        reports,
        workers,
        round(seconds, 1),
        round((watched.seconds - before) * 1e6 / reports, 1),
        shards,
        watched.megabytes,
        (arrived[0], most[0]),
        (round(arrived[1] / 1e9, 3), round(most[1] / 1e9, 3)),
    )


def run_apart(reports: int, workers: int) -> Run:
    """One run in a process of its own, with a database and a store that go with it."""
    with tempfile.TemporaryDirectory(prefix="panapp-scale-") as directory:
        environment = {
            **os.environ,
            "PANAPP_DATA_DIR": directory,
            "PANAPP_REPORT_STORE": Path(directory, "reports").as_uri(),
            "DJANGO_SETTINGS_MODULE": "panapp.settings",
        }
        command = [sys.executable, "-m", "benchmarks.scale", "--one", str(reports), str(workers)]
        output = subprocess.run(
            command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    return Run(**json.loads(output.splitlines()[-1]))


def unmet(runs: Sequence[Run]) -> list[str]:
    """Bars that are not met, in words."""
    found = [
        f"{name} had {megabytes} MB"
        for every in runs
        for name, megabytes in every.megabytes.items()
        if megabytes > MOST_MEGABYTES
    ]
    for one in runs:
        for two in runs:
            if one.workers == two.workers and two.reports == 2 * one.reports:
                ratio = two.worker_microseconds / one.worker_microseconds
                print(f"twice {one.reports:,} reports: {2 * ratio:.2f} times the processor time")
                if abs(ratio - 1) > MOST_OFF_LINEAR:
                    found.append(
                        f"twice {one.reports:,} reports take {2 * ratio:.2f} times the processor time"
                    )
            if one.reports == two.reports and two.workers == 2 * one.workers:
                ratio = one.seconds / two.seconds
                print(f"{two.workers} workers: {ratio:.2f} times as fast as {one.workers}")
                # With fewer, what one child waits for the other's last part weighs more.
                if ratio < LEAST_SPEED_UP and one.reports == max(every.reports for every in runs):
                    found.append(f"{two.workers} workers are {ratio:.2f} times as fast as {one.workers}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reports", type=int, nargs="+", default=[1_000_000, 2_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        import django

        import panapp  # noqa: F401  # puts the apps on the import path

        django.setup()
        print(json.dumps(asdict(run(*options.one))))
        return
    runs = []
    for workers in options.workers:
        for reports in options.reports:
            runs.append(run_apart(reports, workers))
            print(json.dumps(asdict(runs[-1])), flush=True)
    found = unmet(runs)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([asdict(every) for every in runs], indent=1) + "\n")
    for line in found:
        print(f"not met: {line}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
