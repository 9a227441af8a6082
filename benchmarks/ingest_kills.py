"""Kills of the process that takes in reports, and of its connection to the database, under load.

Run from the repository's root: `python -m benchmarks.ingest_kills`, with DATABASE_URL of an empty database
that nothing else uses. Each round forks a process in which eight threads bring reports to the WSGI
application, one per request; first those that previous rounds left unanswered. A random time after the first
answer, mostly under 0.1 s, the process is killed. In every second round on PostgreSQL its connections are
terminated before that; with `--restart`, its server is restarted once.

At the end every report that was acknowledged must be stored, every stored one once, and no report refused as
a copy or for another reason. Prints the counts; exits with 1 if they do not agree.
"""

import argparse
import json
import os
import random
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import ingest
from benchmarks.local_site import prepare

THREADS = 8
PATIENCE_SECONDS = 30.0
RECORD_BYTES = 16
ACKNOWLEDGED, SEEN_BEFORE, FAILED, REFUSED = b"\x01", b"\x02", b"\x03", b"\x04"
"""Marks after a number in the pipe: 201; 409 as a duplicate; 503; anything else."""


def bring(application: Any, path: str, waiting: Sequence[tuple[int, bytes]], pipe: int) -> None:
    """Bring these reports until killed; write to the pipe what was answered, when it was."""
    turns = iter(waiting)
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number, body = next(turns, (-1, b""))
            if number < 0:
                return
            statuses: list[str] = []
            text = b"".join(application(ingest.environ_of(path, body), partial(ingest.note, statuses)))
            if statuses[0].startswith("201"):
                mark = ACKNOWLEDGED
            elif statuses[0].startswith("503"):
                mark = FAILED
            elif json.loads(text).get("reason") == "duplicate_nonce":
                mark = SEEN_BEFORE
            else:
                sys.stderr.write(f"{statuses[0]}: {text.decode()}\n")
                mark = REFUSED
            # As short as it is, it is written whole.
            os.write(pipe, number.to_bytes(RECORD_BYTES - 1) + mark)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def round_of(child: Any, seconds: float, terminate: Any) -> bytes:
    """What a forked process wrote until it was killed after so long."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            child(writing)
        except BaseException as error:
            sys.stderr.write(f"{error!r}\n")
            os._exit(70)
        signal.pause()
    os.close(writing)
    # From the first answer on: threads and connections are made anew in each round.
    select.select([reading], [], [], PATIENCE_SECONDS)
    time.sleep(seconds)
    if terminate is not None:
        terminate()
        time.sleep(seconds / 2)
    gone, status = os.waitpid(process, os.WNOHANG)
    if gone:
        raise RuntimeError(f"the process ended by itself: {status}")
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with os.fdopen(reading, "rb") as file:
        return file.read()


def terminate_connections() -> None:
    """End all others to this database, as an administrator does."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    disconnect()


def disconnect() -> None:
    """Nothing of a connection may be shared with a forked process, nor the threads of their pool."""
    from django.db import connection

    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument(
        "--restart", default="", help="command that restarts the database's server, run in the middle round"
    )
    arguments = parser.parse_args()
    kills, restart = arguments.kills, shlex.split(arguments.restart)
    with tempfile.TemporaryDirectory(prefix="panapp-kills-") as name:
        prepare(Path(name))
        from django.db import connection

        from panapp.wsgi import application
        from reports.models import ReportNonce, StoredReports

        recipe = ingest.published()
        path = f"/api/v1/recipes/{recipe.identifier}/reports/"
        # Encrypted beforehand; the numbers in the pipe are places in this list.
        made = [json.dumps(report).encode() for report in ingest.made_reports(recipe.published, 200 * kills)]
        # Everything is imported before the first fork.
        ingest.brought(application, path, made[:1], "201")
        on_postgresql = connection.vendor == "postgresql"
        acknowledged, seen_before = {0}, set[int]()
        failed = terminated = unanswered = 0
        tried = 1
        again: list[int] = []
        moment = random.SystemRandom()
        for number in range(kills):
            new = range(tried, min(tried + 400, len(made)))
            order = [*again, *new]
            disconnect()
            terminate = terminate_connections if on_postgresql and number % 2 else None
            terminated += terminate is not None
            if restart and number == kills // 2:
                terminate = partial(subprocess.run, restart, check=True, stdout=subprocess.DEVNULL)
            written = round_of(
                partial(bring, application, path, [(place, made[place]) for place in order]),
                moment.expovariate(1 / 0.05),
                terminate,
            )
            answered = set[int]()
            for start in range(0, len(written), RECORD_BYTES):
                place = int.from_bytes(written[start : start + RECORD_BYTES - 1])
                mark = written[start + RECORD_BYTES - 1 : start + RECORD_BYTES]
                if mark == FAILED:
                    failed += 1
                    continue
                if mark == REFUSED:
                    raise RuntimeError(f"report {place} was refused, see above")
                answered.add(place)
                twice = place in acknowledged
                (acknowledged if mark == ACKNOWLEDGED else seen_before).add(place)
                if twice:
                    raise RuntimeError(f"report {place} was acknowledged and brought again")
            # Threads take the reports in their order, so that these were in hand or would have been next.
            last = max([*answered, tried - 1])
            tried = min(last + THREADS + 1, len(made))
            again = [place for place in range(1, tried) if place not in acknowledged | seen_before][:200]
            unanswered += len(again)
        from panprivacy.formats import base64_text

        rows = ReportNonce.objects.filter(recipe=recipe)
        nonces = {bytes(nonce) for nonce in rows.values_list("nonce", flat=True)}
        stored = sum(StoredReports.objects.filter(recipe=recipe).values_list("count", flat=True))
        payloads = StoredReports.objects.filter(recipe=recipe).values_list("payload", flat=True)
        size = recipe.published.public_key.ciphertext_bytes
        pieces = [
            bytes(payload)[at : at + size] for payload in payloads for at in range(0, len(payload), size)
        ]
        once = set(pieces)
        contents = {place: json.loads(made[place]) for place in acknowledged | seen_before}
        lost = [
            place
            for place, content in contents.items()
            if base64_text.decode(content["nonce"]) not in nonces
            or base64_text.decode(content["ciphertexts"][0]) not in once
        ]
        print(
            f"{connection.vendor}: {kills} kills of the process, before {terminated} of them its connections "
            f"were terminated; {len(acknowledged):,} reports acknowledged, {len(seen_before):,} had been "
            f"stored without an answer, {failed:,} answers were 503, {unanswered:,} reports brought again; "
            f"{stored:,} stored, {len(nonces):,} nonces, {len(pieces) - len(once)} twice, "
            f"{len(lost)} lost"
        )
        return int(bool(lost) or not stored == len(nonces) == len(pieces) == len(once))


if __name__ == "__main__":
    sys.exit(main())
