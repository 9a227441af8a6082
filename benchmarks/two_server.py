"""Reports per second through leader and helper, and what bounds it; everything in one run.

Run from the repository's root: `python -m benchmarks.two_server [--reports N] [--workers N]`. It
starts a leader (web server, worker, beat, broker) and a helper (web server), each with its own database, and
a plain Prio3Count task. Reports are made and sealed before the clock starts: that is the devices' work. The
clock runs from the first upload to the result: HTTP, both databases, HPKE, verification on both sides, both
aggregate shares. It does so four times, there and back: with one aggregation job under way at a time, so that
both servers work in turns; twice with as many as an installation has; and in turns again. It prints

- reports per second, against the bar, and the factor by which they exceed those with one job;
- the same time as a ratio to the bare cryptography of the same reports (both sides' opening and fast
  verification) on one core, before and after;
- what bounds it: processor time of each process, and how much of all cores they fill together.

The leader's DATABASE_URL and CELERY_BROKER_URL are used if they are set; by default it is SQLite and the
embedded broker, as for the helper. Writes `benchmarks/results/two_server.json`. Exits with 1 if the bar is
not met.
"""

import argparse
import http.client
import json
import os
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import harmonic_mean
from typing import Any
from urllib.parse import urlsplit

import psutil

from panprivacy.formats import base64_text

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "two_server.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

LEAST_PER_SECOND = 750.0
UPLOAD_REPORTS = 500
CONNECTIONS = 2
POLL_SECONDS = 0.05
LONGEST_SECONDS = 600.0


def prepare(directory: Path) -> None:
    """An installation of its own, before Django reads its settings."""
    os.environ["PANAPP_DATA_DIR"] = str(directory / "leader")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
    import django

    import panapp  # noqa: F401  # puts the apps on the import path

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def made_reports(task: Any, count: int) -> list[Any]:
    """This number of sealed reports, every third a 1."""
    from dap.operations import configuration_of
    from panprivacy.device.dap_upload import fetch_config
    from panprivacy.device.transport import HttpTransport
    from panprivacy.protocols.dap.client import seal_report, shard_measurement

    configuration, task_id, source = configuration_of(task), bytes(task.task_id), secrets.SystemRandom()
    with HttpTransport("http://127.0.0.1") as transport:
        configs = [
            fetch_config(transport.at(url))
            for url in (configuration.leader_aggregator_endpoint, configuration.helper_aggregator_endpoint)
        ]
    hour = int(time.time()) // configuration.time_precision
    reports = []
    for number in range(count):
        sharded = shard_measurement(
            task_id, configuration, int(number % 3 == 0), time=hour, random_source=source
        )
        reports.append(seal_report(sharded, task_id, configuration, *configs, source))
    return reports


def upload(task: Any, reports: Sequence[Any]) -> None:
    """Send every report, over a few connections that stay open, as a proxy in front of devices would."""
    from dap.operations import configuration_of
    from panprivacy.protocols.dap.media import media_type
    from panprivacy.protocols.dap.upload import UploadRequest

    leader = urlsplit(configuration_of(task).leader_aggregator_endpoint)
    path = f"{leader.path}/tasks/{base64_text.encode_url(bytes(task.task_id))}/reports"
    headers = {"Content-Type": media_type(UploadRequest)}
    bodies = [
        UploadRequest(tuple(reports[start : start + UPLOAD_REPORTS])).encode()
        for start in range(0, len(reports), UPLOAD_REPORTS)
    ]
    failures: list[str] = []

    def work() -> None:
        connection = http.client.HTTPConnection(leader.netloc)
        while bodies:
            try:
                body = bodies.pop()
            except IndexError:
                break
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or content:
                failures.append(f"{answer.status} {content[:200]!r}")
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"an upload was refused: {failures[0]}")


def collect(task: Any, reports: int) -> tuple[int, ...]:
    """Wait until both sides have counted every report, then collect; the result."""
    from django.utils import timezone

    from dap.leader.collection import collection_job_create
    from dap.leader.results import TaskResult, collection_result
    from dap.leader.selectors import progress_of, times_uncollected
    from panprivacy.protocols.dap.collection import CollectionJobReq, Query

    deadline = time.monotonic() + LONGEST_SECONDS
    while progress_of(task=task).counted < reports:
        require_time(deadline)
    query = Query.of_interval(times_uncollected(task=task))
    job = collection_job_create(task=task, request=CollectionJobReq(query), now=timezone.now())
    while (result := collection_result(job)) is None:
        require_time(deadline)
        job.refresh_from_db()
    if not isinstance(result, TaskResult) or result.report_count != reports:
        raise RuntimeError(f"not all reports were counted: {result}")
    return result.values


def require_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise RuntimeError("the collection does not come to an end")
    time.sleep(POLL_SECONDS)


def bare_seconds(task: Any, reports: Sequence[Any]) -> float:
    """Opening and verifying this number of reports for both sides, in batches of 1,000, on one core.

    The helper's shares are sealed to a key that this process does not have: the leader's are opened twice.
    """

    from dap.hpke_keys import hpke_private_key
    from dap.operations import configuration_of, task_verify_key
    from panprivacy.protocols.dap.basics import Role
    from panprivacy.protocols.dap.client import shard_measurement
    from panprivacy.protocols.dap.hpke import Recipient, open_input_share
    from panprivacy.protocols.dap.upload import InputShareAad
    from panprivacy.protocols.dap.vdafs import verifier_for
    from panprivacy.protocols.prio3.interface import ReportInput

    configuration, task_id = configuration_of(task), bytes(task.task_id)
    leader, helper = (
        verifier_for(configuration, task_id, role, task_verify_key(task))
        for role in (Role.LEADER, Role.HELPER)
    )
    some = shard_measurement(task_id, configuration, 1, time=0, random_source=secrets.SystemRandom())
    config_id = reports[0].leader_encrypted_input_share.config_id
    started = time.perf_counter()
    for start in range(0, len(reports), 1_000):
        batch = reports[start : start + 1_000]
        recipient = Recipient(*hpke_private_key(config_id=config_id))
        for report in batch:
            aad = InputShareAad(task_id, configuration, report.report_metadata, report.public_share)
            for _ in range(2):
                open_input_share(recipient, Role.LEADER, aad, report.leader_encrypted_input_share)
        inputs = [
            [ReportInput(some.metadata.report_id, some.public_share, share)] * len(batch)
            for share in (some.leader_share, some.helper_share)
        ]
        prepared = leader.leader_init(inputs[0])
        answers = helper.helper_init(inputs[1], [one.outbound for one in prepared])
        leader.leader_finish([one.state for one in prepared], [one.outbound for one in answers])
    return time.perf_counter() - started


def processor_seconds(services: Any, names: Sequence[str]) -> dict[str, float]:
    """Processor time so far of each process, children included."""
    seconds: dict[str, float] = {}
    for name in names:
        process = psutil.Process(services.pid(name))
        seconds[name] = sum(
            one.cpu_times().user + one.cpu_times().system
            for one in [process, *process.children(recursive=True)]
        )
    return seconds


@dataclass(frozen=True)
class Round:
    """One collection, from the first upload to the result.

    Attributes:
        seconds, upload_seconds, bare_seconds: of all of it, of the uploads, of its cryptography alone.
        used: processor time of each process.
    """

    reports: int
    partner_jobs: int
    seconds: float
    upload_seconds: float
    bare_seconds: float
    used: dict[str, float]

    @property
    def rate(self) -> float:
        """Reports per second."""
        return self.reports / self.seconds

    @property
    def share_of_cores(self) -> float:
        """How much of all cores the processes fill."""
        return sum(self.used.values()) / (self.seconds * (os.cpu_count() or 1))

    def __str__(self) -> str:
        per_report = ", ".join(
            f"{name} {1e6 * spent / self.reports:.0f}" for name, spent in self.used.items()
        )
        return (
            f"{self.partner_jobs} under way: {self.rate:,.0f} reports per second, {self.seconds:.1f} s "
            f"({self.upload_seconds:.1f} s of uploads); {100 * self.share_of_cores:.0f} % of all cores\n"
            f"  processor time by process, µs a report: {per_report}"
        )


def measured(helper: Path, count: int, workers: int, partner_jobs: int) -> Round:
    """One collection by an installation that is started for it."""
    from django.utils import timezone

    from dap.leader.plain_tasks import PlainTask, plain_task_create
    from simulations.installation.services import running_services

    with running_services(
        workers=workers, partners={"helper": helper}, partner_jobs=partner_jobs
    ) as services:
        plain = PlainTask(
            vdaf="prio3count",
            parameters={},
            min_batch_size=100,
            batch_mode="time-interval",
            time_precision=3600,
        )
        task = plain_task_create(
            plain=plain,
            partner=services.pairings["helper"].partner(),
            now=timezone.now(),
            random_source=secrets.SystemRandom(),
        )
        reports = made_reports(task, count)
        before = bare_seconds(task, reports)
        names = ["web", "helper", "worker", "worker to helper"]
        used = processor_seconds(services, names)
        started = time.perf_counter()
        upload(task, reports)
        uploaded = time.perf_counter() - started
        values = collect(task, len(reports))
        seconds = time.perf_counter() - started
        used = {name: after - used[name] for name, after in processor_seconds(services, names).items()}
        bare = (before + bare_seconds(task, reports)) / 2
    if values != (sum(number % 3 == 0 for number in range(count)),):
        raise RuntimeError(f"a wrong result: {values}")
    return Round(count, partner_jobs, seconds, uploaded, bare, used)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=int, default=40_000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="panapp-benchmark-") as name:
        directory = Path(name)
        prepare(directory)
        from simulations.installation.services import PARTNER_JOBS

        # There and back, so that a machine that grows slower slows both.
        one_job: list[Round] = []
        rounds: list[Round] = []
        for partner_jobs in (1, PARTNER_JOBS, PARTNER_JOBS, 1):
            made = measured(directory / "helper", arguments.reports, arguments.workers, partner_jobs)
            print(made)
            (one_job if partner_jobs == 1 else rounds).append(made)
    rate = harmonic_mean([one.rate for one in rounds])
    gain = rate / harmonic_mean([one.rate for one in one_job])
    to_bare = sum(one.seconds for one in rounds) / sum(one.bare_seconds for one in rounds)
    met = rate > LEAST_PER_SECOND
    print(f"{arguments.reports:,} Prio3Count reports from first upload to result, each time")
    print()
    verdict = "met" if met else "not met"
    print(f"{'reports per second':38}{rate:>10.0f}   > {LEAST_PER_SECOND:.0f}   {verdict}")
    print(f"{'times as many as with one job under way':38}{gain:>10.2f}")
    print(f"{'all of it ÷ bare cryptography, 1 core':38}{to_bare:>10.2f}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(
        json.dumps(
            {
                "rounds": [asdict(one) for one in rounds],
                "one_job": [asdict(one) for one in one_job],
                "workers": arguments.workers,
                "reports_per_second": rate,
                "bar": LEAST_PER_SECOND,
                "gain": gain,
                "met": met,
                "ratio_to_bare": to_bare,
            },
            indent=2,
        )
        + "\n",
        encoding="utf-8",
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
