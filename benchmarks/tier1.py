"""How long clearing a recipe with millions of reports takes on PostgreSQL, against a DELETE.

Run from the repository's root: `python -m benchmarks.tier1 [--reports N] [--waiting N] [--deleted N]
[--recipes N]`, with DATABASE_URL of a PostgreSQL database of its own. The rows are made by the database, not
by devices: nonces and digests of random bytes, and reports that wait, each alone in its row.

1. A recipe gets N nonces, N digests and as many waiting reports as `--waiting` names, and is withheld. Each
   statement that clears is timed, and so is what upkeep does afterwards.
2. Another recipe gets fewer (`--deleted`), which a DELETE of each table removes.
3. Other recipes are published, as many as `--recipes` names. With their partitions there, statements of the
   hot path are timed against what they take with four recipes, in microseconds by the clock.

Writes `benchmarks/results/tier1.json`. Exits with 1 if a statement that clears took longer than a second. A
COMMIT is reported, and not judged: it removes files after it released its locks, as fast as the disk does.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "tier1.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from benchmarks.ingest import prepare, published

MOST_SECONDS = 1.0
PART = 1_000_000
"""Rows that one statement makes."""

TIMES = 200
"""Of each statement of the hot path."""

FILLED = {
    "reports_reportnonce": "(recipe_id, nonce) SELECT %s, uuid_send(gen_random_uuid())",
    "reports_ciphertextdigest": "(recipe_id, digest) SELECT %s, uuid_send(gen_random_uuid())",
    # 66 bytes, like a ciphertext over secp256k1.
    "reports_storedreports": "(recipe_id, count, payload) "
    "SELECT %s, 1, decode(repeat(md5(g::text), 4) || '0102', 'hex')",
}


def fill(recipe: Any, rows: Mapping[str, int]) -> None:
    """This number of rows of each table."""
    from django.db import connection

    with connection.cursor() as cursor:
        for table, count in rows.items():
            for start in range(0, count, PART):
                last = min(PART, count - start)
                cursor.execute(
                    f"INSERT INTO {table} {FILLED[table]} FROM generate_series(1, {last}) AS g", [recipe.pk]
                )


@contextmanager
def timed(into: dict[str, float]) -> Iterator[None]:
    """The slowest of the statements that clear and begin alike, in seconds; of commits, too."""
    from django.db import connection

    def execute(call: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        started = time.perf_counter()
        try:
            return call(sql, parameters, many, context)
        finally:
            if any(word in sql for word in ("DELETE", "partitions_")):
                name = " ".join(sql.split()[:3])
                into[name] = max(into.get(name, 0.0), time.perf_counter() - started)

    commit = connection._commit

    def timed_commit() -> None:
        started = time.perf_counter()
        commit()
        into["COMMIT"] = max(into.get("COMMIT", 0.0), time.perf_counter() - started)

    connection._commit = timed_commit
    try:
        with connection.execute_wrapper(execute):
            yield
    finally:
        del connection._commit


def microseconds(work: Callable[[], object]) -> float:
    """The middle one of many times."""
    took = []
    for _ in range(TIMES):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return sorted(took)[TIMES // 2] * 1e6


def hot_path(recipe: Any) -> dict[str, float]:
    """What storing a report and finding work cost at the database, in microseconds, without a commit."""
    import secrets

    from django.db import connection, transaction

    from reports.models import ReportNonce
    from results.aggregation.operations import progress_of
    from results.metrics import CollectionsCollector
    from storage.claims import values_claim

    def claim() -> None:
        values_claim(
            ReportNonce._meta.db_table,
            owner_column="recipe_id",
            owner=recipe.pk,
            column="nonce",
            values=[secrets.token_bytes(16)],
        )

    def store() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO reports_storedreports (recipe_id, count, payload) VALUES (%s, 1, %s)",
                [recipe.pk, bytes(66)],
            )

    with transaction.atomic():
        return {
            "claim a nonce": microseconds(claim),
            "store a report": microseconds(store),
            "progress of a recipe": microseconds(lambda: progress_of(recipe)),
            "a scrape of the metrics": microseconds(lambda: list(CollectionsCollector().collect())),
        }


def withhold(recipe: Any) -> None:
    """The end of a recipe without a result."""
    from publishing.publication import recipe_close
    from results.operations import result_withhold

    recipe = recipe_close(recipe=recipe, actor=None)
    result_withhold(recipe=recipe, reason="it is a benchmark", actor=None)


def deleted(recipe: Any) -> dict[str, float]:
    """Seconds of a DELETE of each table's rows; none of it is kept."""
    from django.db import connection

    took = {}
    with connection.cursor() as cursor:
        for table in FILLED:
            started = time.perf_counter()
            cursor.execute(f"DELETE FROM {table} WHERE recipe_id = %s", [recipe.pk])
            took[table] = time.perf_counter() - started
    return took


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """All three parts."""
    from django.db import connection

    from storage.partitions import partitions_upkeep

    for _ in range(2):  # the first one computes tables
        recipe = published()
    few = hot_path(recipe)
    rows = dict.fromkeys(FILLED, arguments.reports) | {"reports_storedreports": arguments.waiting}
    large = published()
    fill(large, rows)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits "
            "WHERE inhrelid::regclass::text LIKE %s",
            [f"reports%\\_{large.pk}"],
        )
        (size,) = cursor.fetchone()
    withholding: dict[str, float] = {}
    upkeep: dict[str, float] = {}
    with timed(withholding):
        withhold(large)
    with timed(upkeep):
        partitions_upkeep()
    small = published()
    fill(small, dict.fromkeys(FILLED, arguments.deleted))
    rowwise = deleted(small)
    withhold(small)
    started = time.perf_counter()
    for _ in range(arguments.recipes):
        published()
    publishing = (time.perf_counter() - started) / max(arguments.recipes, 1)
    return {
        "rows": rows,
        "bytes": int(size),
        "withhold, seconds": withholding,
        "upkeep, seconds": upkeep,
        "DELETE, rows": arguments.deleted,
        "DELETE, seconds": rowwise,
        "recipes": arguments.recipes,
        "publishing a recipe, seconds": publishing,
        "microseconds with 4 recipes": few,
        "microseconds with all recipes": hot_path(recipe),
    }


def main() -> int:
    """Measure, print, write; 0 if no statement took too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--waiting", type=int, default=10_000_000)
    parser.add_argument("--deleted", type=int, default=1_000_000)
    parser.add_argument("--recipes", type=int, default=1_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory))
        from django.db import connection

        if connection.vendor != "postgresql":
            parser.error("DATABASE_URL must name a PostgreSQL database")
        result = measured(arguments)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
    clearing = [*result["withhold, seconds"].items(), *result["upkeep, seconds"].items()]
    return int(any(seconds > MOST_SECONDS for statement, seconds in clearing if statement != "COMMIT"))


if __name__ == "__main__":
    sys.exit(main())
