"""How fast workers sum stored reports; run by `benchmarks.end_to_end` in a process of its own.

`python -m benchmarks.summing WORKERS CHUNKS` prints chunks per second, from the first commit of a
sub-aggregate to the last, so that starting the workers does not count.
"""

import os
import secrets
import sys
import time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")

import django

import panapp  # noqa: F401  # puts the apps on the import path

django.setup()

from django.core.management import call_command

from benchmarks.end_to_end import RECIPE
from publishing.publication import recipe_close, recipe_publish_file
from reports.models import StoredReports
from results.aggregation.models import SubAggregate
from simulations.installation.services import running_services

CHUNK_REPORTS = 2_000


def main() -> None:
    workers, chunks = int(sys.argv[1]), int(sys.argv[2])
    call_command("migrate", verbosity=0)
    recipe = recipe_publish_file(members=RECIPE, actor=None, simulation=True)
    key = recipe.published.public_key.with_tables()
    source = secrets.SystemRandom()
    payload = b"".join(bytes(key.encrypt(i & 1, source)) for i in range(CHUNK_REPORTS))
    for _ in range(chunks):
        StoredReports.objects.create(recipe=recipe, count=CHUNK_REPORTS, payload=payload)
    recipe_close(recipe=recipe, actor=None)
    with running_services(workers=workers, environment={"PANAPP_CHUNK_REPORTS": str(CHUNK_REPORTS)}):
        first = last = 0.0
        begun = done = 0
        while done < chunks:
            time.sleep(0.02)
            so_far = SubAggregate.objects.filter(recipe=recipe).first()
            if so_far is None and done:
                break  # released, and so deleted: the last chunk had been counted within 0.02 s
            counted = so_far.reports // CHUNK_REPORTS if so_far is not None else 0
            if counted > done:
                last = time.perf_counter()
                # Both workers must be at work before the clock starts.
                if not begun and counted >= 2 * workers:
                    first, begun = last, counted
            done = max(done, counted)
    print((done - begun) / (last - first))


if __name__ == "__main__":
    main()
