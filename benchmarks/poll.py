"""What the poll for recipes with work costs, and how long a recipe waits behind others' slow work.

Run from the repository's root: `python -m benchmarks.poll`, and with DATABASE_URL for PostgreSQL on this
machine. Publishes recipes that wait, and measures processor time of this process and of its backend:

1. of a poll that finds nothing;
2. of a poll that finds five recipes, and of their steps.

Then it starts workers as `make demo` does, fills one queue after the other with slow tasks, and measures how
long a recipe takes from closing to its result.
"""

import argparse
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.local_site import MEMBERS, prepare

WITH_WORK = 5
POLLS, POLLS_WITH_WORK = 200, 20
SLOW_TASKS = 8
"""In the filled queue: more than its children."""

LOOK_UPS = 4_000
"""Of a slow task: each asks the database for a chunk that does not exist."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipes", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory))
        poll(options.recipes)
        fairness()


def poll(recipes: int) -> None:
    from publishing.publication import recipe_publish_file
    from recipes.steps import step_due, steps_claim
    from results.aggregation.tasks import steps_send
    from results.tasks import advance_collection

    waiting = [
        recipe_publish_file(members=MEMBERS, actor=None, simulation=True, partners={}) for _ in range(recipes)
    ]

    def steps() -> None:
        for identifier, claim in steps_claim().items():
            advance_collection(identifier=identifier, claim=claim)

    steps()
    print(f"{recipes:,} recipes that wait: {measured(steps_send, POLLS)}")

    def some_steps() -> None:
        for recipe in waiting[:WITH_WORK]:
            step_due(recipe=recipe)
        steps()

    print(f"{WITH_WORK} of them with work, and their steps: {measured(some_steps, POLLS_WITH_WORK)}")


def measured(work: Callable[[], object], times: int) -> str:
    """Processor time for each call, in words."""
    backend = backend_seconds()
    began, database = time.process_time(), backend()
    for _ in range(times):
        work()
    process = 1_000 * (time.process_time() - began) / times
    return f"{process:.1f} ms, and the database {1_000 * (backend() - database) / times:.1f} ms"


def backend_seconds() -> Callable[[], float]:
    """Reads the processor time of PostgreSQL's process for this one; nothing with SQLite, which is in it."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return lambda: 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    ticks = os.sysconf("SC_CLK_TCK")

    def seconds() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    return seconds


def fairness() -> None:
    from kombu import Connection

    from simulations.installation.services import running_services
    from storage.queues import QueueNames

    os.environ.pop("CELERY_BROKER_URL", None)  # one of its own
    names = QueueNames.of("panapp")
    with running_services(workers=2, devices=2, apart=True) as services:
        print(f"no other work: {released_after():.1f} s from closing to the result")
        with Connection(services.broker_url) as connection:
            for queue in (names.plans, names.simulations, names.notifications, names.default):
                for _ in range(SLOW_TASKS):
                    slow_task_send(queue, connection)
                time.sleep(2)
                print(f"{queue} filled with slow tasks: {released_after():.1f} s")
                left = connection.default_channel.queue_purge(queue)
                print(f"  {left} of them still waited")


def slow_task_send(queue: str, connection: Any) -> None:
    from results.aggregation.tasks import process_chunk

    look_ups = [str(uuid.uuid4())] * LOOK_UPS
    process_chunk.map(look_ups).apply_async(queue=queue, connection=connection)


def released_after() -> float:
    """Seconds from closing to the result, the median of three recipes with one report each."""
    from publishing.publication import recipe_close, recipe_publish_file
    from results.models import Release

    seconds = []
    for _ in range(3):
        recipe = recipe_publish_file(members=MEMBERS, actor=None, simulation=True, partners={})
        began = time.monotonic()
        recipe_close(recipe=recipe, actor=None)
        while not Release.objects.filter(recipe=recipe).exists():
            time.sleep(0.02)
        seconds.append(time.monotonic() - began)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
