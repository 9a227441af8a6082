"""Verification of Prio3 in batches against the definition, both measured in one run.

Run from the repository's root: `python -m benchmarks.prio3` or `python benchmarks/prio3.py`. Prints µs per
report for what leader and helper do, with the factor over the definition, and what sharding takes on a
device; writes the same to `benchmarks/results/prio3.json`. Exits with 1 if a bar is not met.

A round times both verifiers in turn on the same reports, and medians over rounds are compared: a disturbance
of the machine falls on both alike. Before it counts, everything runs once. The definition gets fewer
reports than a batch has: it goes one by one, so that its time per report does not depend on how many.
"""

import argparse
import json
import platform
import secrets
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.protocols.prio3 import native
from panprivacy.protocols.prio3.interface import ReportInput, Transition, Verifier
from panprivacy.protocols.prio3.prio3 import (
    NONCE_SIZE,
    VERIFY_KEY_SIZE,
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)
from panprivacy.protocols.prio3.reference_verifier import ReferenceVerifier
from panprivacy.protocols.prio3.verifier import Prio3Verifier

RESULT = ROOT / "benchmarks" / "results" / "prio3.json"
CONTEXT = b"a task"
BATCH = 1000
SLOW_BATCH = 250
BAR = 5
"""Least factor over the definition, for the variants that bear it."""


@dataclass(frozen=True)
class Row:
    name: str
    vdaf: Prio3[Any]
    measurement: Any
    has_bar: bool = False


ROWS = (
    Row("Count", Prio3Count(), 1, has_bar=True),
    Row("Sum, up to 255", Prio3Sum(255), 100),
    Row("SumVec, 11 bits, chunk 4", Prio3SumVec(11, 1, 4), [1, 0] * 5 + [1], has_bar=True),
    Row("Histogram, 11, chunk 4", Prio3Histogram(11, 4), 7),
    Row("Histogram, 100, chunk 10", Prio3Histogram(100, 10), 70),
    Row("MultihotCountVec, 11, weight 3, chunk 4", Prio3MultihotCountVec(11, 3, 4), [True] * 3 + [False] * 8),
)

Step = Callable[[], object]


def reports_of(row: Row, count: int) -> tuple[list[ReportInput], list[ReportInput]]:
    """What leader and helper get."""
    leader, helper = [], []
    for _ in range(count):
        nonce, rand = secrets.token_bytes(NONCE_SIZE), secrets.token_bytes(row.vdaf.rand_size)
        public, (leader_share, helper_share) = row.vdaf.shard(CONTEXT, row.measurement, nonce, rand)
        leader.append(ReportInput(nonce, public, leader_share))
        helper.append(ReportInput(nonce, public, helper_share))
    return leader, helper


def steps_of(
    verifier: Verifier, leader: Sequence[ReportInput], helper: Sequence[ReportInput]
) -> dict[str, Step]:
    """The three steps of a verification, each on the previous one's output."""
    first = verifier.leader_init(leader)
    messages = [prepared.outbound for prepared in first if isinstance(prepared, Transition)]
    second = verifier.helper_init(helper, messages)
    answers = [prepared.outbound for prepared in second if isinstance(prepared, Transition)]
    states = [prepared.state for prepared in first if isinstance(prepared, Transition)]
    if len(messages) != len(leader) or len(answers) != len(helper):
        raise RuntimeError("an honest report was refused")
    return {
        "leader_init": lambda: verifier.leader_init(leader),
        "helper_init": lambda: verifier.helper_init(helper, messages),
        "leader_finish": lambda: verifier.leader_finish(states, answers),
    }


def seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure(row: Row, rounds: int) -> dict[str, Any]:
    """Median µs per report of every step, by both verifiers, and of sharding."""
    key = secrets.token_bytes(VERIFY_KEY_SIZE)
    leader, helper = reports_of(row, BATCH)
    few = slice(0, SLOW_BATCH)
    batch = steps_of(Prio3Verifier(row.vdaf, key, CONTEXT), leader, helper)
    slow = steps_of(ReferenceVerifier(row.vdaf, key, CONTEXT), leader[few], helper[few])
    nonce, rand = secrets.token_bytes(NONCE_SIZE), secrets.token_bytes(row.vdaf.rand_size)

    samples: dict[str, dict[str, list[float]]] = {"definition": {}, "batch": {}}
    shard = []
    for _ in range(rounds):
        for name in batch:
            samples["definition"].setdefault(name, []).append(seconds(slow[name]) / SLOW_BATCH)
            samples["batch"].setdefault(name, []).append(seconds(batch[name]) / BATCH)
        shard.append(seconds(lambda: row.vdaf.shard(CONTEXT, row.measurement, nonce, rand)))
    found = {
        of: {name: statistics.median(times) * 1e6 for name, times in steps.items()}
        for of, steps in samples.items()
    }
    totals = {of: sum(steps.values()) for of, steps in found.items()}
    return {
        "name": row.name,
        "microseconds": found,
        "total": totals,
        "factor": totals["definition"] / totals["batch"],
        "reports_per_second": 1e6 / totals["batch"],
        "shard": statistics.median(shard) * 1e6,
    }


def table(results: Sequence[dict[str, Any]]) -> str:
    steps = ("leader_init", "helper_init", "leader_finish")
    lines = [
        f"{'µs per report':40}"
        + "".join(f"{step:>15}" for step in steps)
        + f"{'sum':>9}{'definition':>12}{'×':>7}{'shard':>9}"
    ]
    for result in results:
        batch = result["microseconds"]["batch"]
        lines.append(
            f"{result['name']:40}"
            + "".join(f"{batch[step]:>15.1f}" for step in steps)
            + f"{result['total']['batch']:>9.1f}{result['total']['definition']:>12.1f}"
            + f"{result['factor']:>7.1f}{result['shard']:>9.0f}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds over all steps (default 15)")
    rounds = parser.parse_args().rounds

    results = [measure(row, rounds) for row in ROWS]
    print(f"Batches of {BATCH:,} reports, one process; medians of {rounds} interleaved rounds.")
    print(f"Batches are computed by {native.in_use()}.\n")
    print(table(results))
    print()
    bars = []
    for row, result in zip(ROWS, results, strict=True):
        if row.has_bar:
            verdict = "met" if result["factor"] >= BAR else "not met"
            print(f"{row.name}: {result['factor']:.1f}× the definition, bar {BAR}×: {verdict}")
            bars.append({"name": row.name, "least": BAR, "measured": result["factor"]})

    RESULT.parent.mkdir(exist_ok=True)
    written = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: version(name) for name in ("numpy", "pycryptodomex")},
        "computed_by": native.in_use(),
        "rounds": rounds,
        "batch": BATCH,
        "rows": results,
        "bars": bars,
    }
    RESULT.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(bar["measured"] >= bar["least"] for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
