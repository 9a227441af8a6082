"""How long a plan takes a worker, with everything cold.

Run from the repository's root: `python -m benchmarks.planner`. For each of a spread of parameters over every
statistic it measures, in one process and with all caches empty, the time from the question to the first part,
which has the expected error, and to all that is quick.

Prints a table and writes `benchmarks/results/planner.json`. Exits with 1 if a first part took too long.
"""

import argparse
import functools
import gc
import itertools
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "planner.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")

import django

import panapp  # noqa: F401  # puts the apps on the import path

django.setup()

from panprivacy.formats.errors import FieldError
from panprivacy.planning.plan import Depth, Question, plan_of, plans_of

MOST_SECONDS = 0.3

OWN: list[tuple[str, dict[str, Any]]] = [
    ("count_nonzero", {}),
    ("histogram", {"k": 5}),
    ("histogram", {"k": 100}),
    ("mean", {"k": 10, "guarantee": "aggregator"}),
    ("mean", {"k": 10, "guarantee": "local"}),
]


def questions() -> list[Question]:
    """Every statistic, small and large cohorts, weak and strong ε, with sampling and without."""
    found = []
    spread = itertools.product(OWN, (100, 10_000, 1_000_000), (0.1, 1.0, 8.0), (1.0, 0.1))
    for (statistic, own), cohort_size, epsilon, sampling_rate in spread:
        parameters = {
            "steps": 7,
            "epsilon": epsilon,
            "delta": 1e-6,
            "cohort_size": cohort_size,
            "sampling_rate": sampling_rate,
            **own,
        }
        members = {
            "statistic": statistic,
            "parameters": parameters,
            "population_size": round(2 * cohort_size / sampling_rate),
            "unknown": "epsilon",
            "targets": {"margin": 2.0, "aggregator_epsilon": 1.0, "aggregator_delta": 1e-6},
        }
        found.append(Question.from_mapping(members))
    return found


def forget() -> None:
    """Empty every cache of the library, so that each preview starts cold."""
    for cache in [thing for thing in gc.get_objects() if isinstance(thing, functools._lru_cache_wrapper)]:
        if getattr(cache, "__module__", "").startswith("panprivacy."):
            cache.cache_clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="measure the tasks, too (minutes)")
    arguments = parser.parse_args()
    asked = questions()
    plan_of(asked[0], Depth.QUICK)  # imports, which a worker has behind it
    rows = []
    for question in asked:
        forget()
        started = time.perf_counter()
        try:
            parts = plans_of(question, Depth.QUICK)
            next(parts)
            first = time.perf_counter() - started
            for _ in parts:
                pass
        except FieldError:
            continue  # no such mechanism: a refusal
        quick = time.perf_counter() - started
        row: dict[str, Any] = {**question.as_dict(), "seconds": first, "quick_seconds": quick}
        if arguments.whole:
            forget()
            started = time.perf_counter()
            plan_of(question)
            row["whole_seconds"] = time.perf_counter() - started
        rows.append(row)
    worst = max(rows, key=lambda row: row["seconds"])
    summary = {
        "plans": len(rows),
        "median_seconds": statistics.median(row["seconds"] for row in rows),
        "maximum_seconds": worst["seconds"],
        "quick_median_seconds": statistics.median(row["quick_seconds"] for row in rows),
        "quick_maximum_seconds": max(row["quick_seconds"] for row in rows),
    }
    if arguments.whole:
        summary["whole_median_seconds"] = statistics.median(row["whole_seconds"] for row in rows)
        summary["whole_maximum_seconds"] = max(row["whole_seconds"] for row in rows)
    for name, value in summary.items():
        print(f"{name:24} {value:.3f}" if isinstance(value, float) else f"{name:24} {value}")
    print("slowest:", json.dumps({name: worst[name] for name in ("statistic", "parameters")}))
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"summary": summary, "plans": rows}, indent=2) + "\n")
    if summary["maximum_seconds"] > MOST_SECONDS:
        print(f"a first part took more than {MOST_SECONDS} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
