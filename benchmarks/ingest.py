"""Reports that come one at a time, against the bare check of their content; everything in one run.

Run from the repository's root: `python -m benchmarks.ingest [--reports N]`, with DATABASE_URL of a database
of its own (by default SQLite). Reports are made before the clock starts. In one process, 32 threads then
bring them to the WSGI application: one report per request, then batches of 1,000, then one report per request
through Django's middleware. What is compared is processor time of this process per report:

- `bare`: parsing, base64 and the group check alone, on one thread, before and after;
- the others as ratios to it, with the time of the slowest hundredth of requests.

Last, if `wrk` is installed (apt-get install wrk), it brings reports over HTTP to the web server, started as
`collect` starts it: requests a second, and the server's processor time for each. wrk takes its share of the
same cores.

Writes `benchmarks/results/ingest.json`. Exits with 1 if a bar is not met.
"""

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "ingest.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from benchmarks.local_site import MEMBERS, prepare

THREADS, CONNECTIONS = 32, 64
MOST_PER_SECOND = 5_000
"""That one web process is expected to take over HTTP: this number of reports lasts for the whole run."""
MOST_TIMES_BARE, MOST_TIMES_BARE_IN_BATCHES = 15.0, 2.5
LONGEST_MILLISECONDS = 100.0


def published() -> Any:
    """A recipe that is open."""
    from publishing.publication import recipe_publish_file

    return recipe_publish_file(members=MEMBERS, actor=None, simulation=True)


def made_reports(recipe: Any, count: int) -> list[dict[str, Any]]:
    """This number of reports, every third a 1."""
    from panprivacy.formats import base64_text

    key, source = recipe.public_key.with_tables(), secrets.SystemRandom()
    return [
        {
            "nonce": base64_text.encode(secrets.token_bytes(16)),
            "ciphertexts": [base64_text.encode(bytes(key.encrypt(int(number % 3 == 0), source)))],
        }
        for number in range(count)
    ]


def bare(recipe: Any, bodies: Sequence[bytes]) -> float:
    """Microseconds of processor time a report: parsing, base64, group check."""
    from reports.parsing import decode_body, read_report

    started = time.process_time()
    for body in bodies:
        read_report(decode_body(body), recipe)
    return (time.process_time() - started) / len(bodies) * 1e6


def environ_of(path: str, body: bytes) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }


def note(statuses: list[str], status: str, _headers: object, *_: object) -> None:
    statuses.append(status)


def brought(
    application: Callable[..., Iterable[bytes]], path: str, bodies: Sequence[bytes], expected: str
) -> tuple[float, list[float]]:
    """Processor seconds of this process for all bodies, and the time of each request."""
    turns = iter(bodies)
    lock = threading.Lock()
    took: list[float] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            bring()
        except BaseException as error:
            failures.append(error)

    def bring() -> None:
        while True:
            with lock:
                body = next(turns, None)
            if body is None:
                return
            statuses: list[str] = []
            started = time.perf_counter()
            answer = application(environ_of(path, body), partial(note, statuses))
            text = b"".join(answer)
            took.append(time.perf_counter() - started)
            if hasattr(answer, "close"):
                answer.close()
            if not statuses[0].startswith(expected):
                raise RuntimeError(f"{statuses[0]}: {text.decode()}")

    started = time.process_time()
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return time.process_time() - started, sorted(took)


SCRIPT = """
local bodies, place = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
request = function()
  place = place + 1
  if place >= #bodies then wrk.thread:stop() end
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[math.min(place, #bodies)])
end
done = function(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("RESULT %d %d %d %d", summary.requests, summary.duration, failed,
    latency:percentile(99)))
end
"""
"""What wrk sends: each report once, until all are sent."""


def over_http(path: str, bodies: Sequence[bytes], directory: Path) -> dict[str, float] | None:
    """What a second and a report took of the server while wrk brought reports; None if there is no wrk."""
    from simulations.installation.ports import held_port
    from simulations.installation.services import wait_until, web_command

    # wrk goes on for as long, even if no report is left: its rate would be too low.
    seconds = max(1, len(bodies) // MOST_PER_SECOND)
    wrk = shutil.which("wrk")
    if wrk is None:
        print("over HTTP: not measured, wrk is not installed")
        return None
    (directory / "bodies").write_bytes(b"\n".join(bodies))
    (directory / "script.lua").write_text(SCRIPT)
    with held_port() as port:
        server = psutil.Popen(web_command(port), cwd=ROOT)
        try:
            address = f"http://127.0.0.1:{port}"
            if not wait_until(lambda: _answers(f"{address}/health/live"), 60.0):
                raise RuntimeError("the web server does not answer")
            before = _processor_seconds(server)
            said = subprocess.run(
                [
                    *(wrk, "--threads", "1", "--connections", str(CONNECTIONS), "--duration", str(seconds)),
                    *("--script", str(directory / "script.lua"), address + path),
                ],
                env={**os.environ, "BODIES": str(directory / "bodies")},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            took = _processor_seconds(server) - before
        finally:
            server.terminate()
            server.wait()
    requests, microseconds, failed, slowest = map(int, said.split("RESULT ")[1].split())
    if failed:
        raise RuntimeError(f"{failed} of {requests} requests failed:\n{said}")
    if requests >= len(bodies):
        raise RuntimeError(f"all reports were gone before {seconds} s; raise MOST_PER_SECOND")
    return {
        "requests_per_second": requests / microseconds * 1e6,
        "microseconds": took / requests * 1e6,
        "p99_milliseconds": slowest / 1e3,
    }


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address) as answer:  # noqa: S310  # our own server
            return bool(answer.status == 200)
    except OSError:
        return False


def _processor_seconds(server: psutil.Process) -> float:
    times = [process.cpu_times() for process in (server, *server.children(recursive=True))]
    return sum(time.user + time.system for time in times)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=int, default=20_000, help="in each of the ways (default 20,000)")
    count = parser.parse_args().reports
    with tempfile.TemporaryDirectory(prefix="panapp-benchmark-") as name:
        prepare(Path(name))
        from django.core.wsgi import get_wsgi_application

        from panapp.wsgi import application as ingest

        recipe = published()
        path = f"/api/v1/recipes/{recipe.identifier}/reports/"
        ways: list[tuple[str, Any, str, int, str]] = [
            ("one per request", ingest, path, 1, "201"),
            ("batches of 1,000", ingest, f"{path}batch/", 1_000, "200"),
            ("one per request, through the middleware", get_wsgi_application(), path, 1, "201"),
        ]
        rows: dict[str, dict[str, float]] = {}
        for title, application, address, size, expected in ways:
            number = count if application is ingest else count // 10
            reports = made_reports(recipe.published, number)
            singles = [json.dumps(report).encode() for report in reports]
            bodies = (
                singles
                if size == 1
                else [
                    json.dumps({"reports": reports[start : start + size]}).encode()
                    for start in range(0, len(reports), size)
                ]
            )
            # What a process does once, and each thread with its first request, is no report's cost.
            few = bodies[: 2 * THREADS] if size == 1 else bodies[:1]
            brought(application, address, few, expected)
            bodies = bodies[len(few) :]
            before = bare(recipe.published, singles[: count // 10])
            seconds, took = brought(application, address, bodies, expected)
            reference = (before + bare(recipe.published, singles[: count // 10])) / 2
            each = seconds / (len(bodies) * size) * 1e6
            rows[title] = {
                "bare_microseconds": reference,
                "microseconds": each,
                "ratio": each / reference,
                "p99_milliseconds": took[int(len(took) * 0.99)] * 1e3,
            }
            print(
                f"{title}: {each:.0f} µs a report, {each / reference:.1f} times bare ({reference:.1f} µs); "
                f"slowest hundredth from {rows[title]['p99_milliseconds']:.1f} ms"
            )
        reports = made_reports(recipe.published, count)
        http = over_http(path, [json.dumps(report).encode() for report in reports], Path(name))
        if http is not None:
            rows["over HTTP, by wrk"] = http
            print(
                f"over HTTP, by wrk: {http['requests_per_second']:.0f} reports a second, "
                f"{http['microseconds']:.0f} µs each; "
                f"slowest hundredth from {http['p99_milliseconds']:.1f} ms"
            )
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=2) + "\n")
    single, batches = rows["one per request"], rows["batches of 1,000"]
    met = (
        single["ratio"] <= MOST_TIMES_BARE
        and batches["ratio"] <= MOST_TIMES_BARE_IN_BATCHES
        and single["p99_milliseconds"] <= LONGEST_MILLISECONDS
    )
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
