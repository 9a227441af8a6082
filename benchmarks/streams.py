"""Items per second of the stream algorithms, against a plain program that hashes and remembers.

Run from the repository's root: `python -m benchmarks.streams` or `python benchmarks/streams.py`. Prints
million string items per second on one core, from the list of strings to the changed state, with the keyed
hash and the randomness of the system, and writes the same to `benchmarks/results/streams.json`. Exits with 1
if density or cropped mean misses a bar.

The peer hashes every item by `hashlib.blake2b` with a key and looks it up in a `dict`, in plain Python: what
the straightforward program would do before it draws a single bit. Each round times every row once, in turn,
and the medians over rounds are compared: a disturbance of the machine falls on all rows alike.

The last column is the time of an item after a long stream over that after a short one: what an item costs
must not depend on how many came before.
"""

import argparse
import hashlib
import json
import platform
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.statistics.streams import STREAM_STATISTICS
from panprivacy.statistics.streams.sample import Sample

RESULT = ROOT / "benchmarks" / "results" / "streams.json"
PEER = "blake2b and dict"
BATCH = 100_000
EARLIER_BATCHES = 50
"""Length of the long stream; the short one has a single batch."""

BAR = 1.0
"""Million items per second of the rows that have one."""

GROWTH_BAR = 1.5
"""Most that an item may cost late in a stream, over early: 1, and what a shared machine disturbs."""

SHORT = [f"N{number % 4_043:05d}" for number in range(BATCH)]
"""Like the tail numbers of aircraft: 6 bytes each."""

LONG = [f"user-{number % 40_000:06d}{'x' * (number % 10)}" for number in range(BATCH)]
"""Of 11 to 20 bytes."""

NUMBERS = [str(number * 7 % 1_000_000) for number in range(BATCH)]

ACCENTED = [f"né-{number % 40_000:06d}" for number in range(BATCH)]
"""Not ASCII, so that each is encoded by itself."""


@dataclass(frozen=True)
class Row:
    name: str
    process: Callable[[], None]
    """Takes in one batch."""
    barred: bool = False


def stream_row(
    name: str,
    statistic: str,
    stream: list[str],
    *,
    listed: bool = False,
    barred: bool = False,
    **members: Any,
) -> Row:
    """One algorithm with a state of its own, which every batch goes on with."""
    statistic_class = STREAM_STATISTICS[statistic]
    universe = sorted(set(stream)) if listed else None
    if universe is not None:
        members |= {"items": "listed", "universe_size": len(universe), "table_size": len(universe)}
    algorithm = statistic_class(statistic_class.parameters_class(epsilon=0.5, **members))
    source = secrets.SystemRandom()
    sample = Sample.draw(algorithm.parameters, universe, source)
    state = algorithm.start(source)
    return Row(name, lambda: algorithm.process_batch(state, sample.cells_of(stream), source), barred=barred)


def peer_row(items: list[str]) -> Row:
    key = secrets.token_bytes(16)
    cells = {
        hashlib.blake2b(item.encode(), key=key, digest_size=8).digest(): cell
        for cell, item in enumerate(sorted(set(items)))
    }
    seen = bytearray(len(cells))

    def process() -> None:
        for item in items:
            cell = cells.get(hashlib.blake2b(item.encode(), key=key, digest_size=8).digest())
            if cell is not None:
                seen[cell] = 1

    return Row(PEER, process)


def rows() -> list[Row]:
    large = {"universe_size": 1_000_000, "table_size": 100_000}
    return [
        peer_row(SHORT),
        stream_row("density, listed, 6 bytes", "density", SHORT, listed=True, barred=True),
        stream_row("density, hashed, 6 bytes", "density", SHORT, barred=True, **large),
        stream_row("density, hashed, 11–20 bytes", "density", LONG, barred=True, **large),
        stream_row("density, hashed, not ASCII", "density", ACCENTED, **large),
        stream_row("density, numbered", "density", NUMBERS, items="numbered", **large),
        stream_row("density, multiplicative", "density", SHORT, accuracy="multiplicative", **large),
        stream_row("cropped mean, listed, 6 bytes", "cropped_mean", SHORT, listed=True, t=10, barred=True),
        stream_row("cropped mean, listed, 11–20 bytes", "cropped_mean", LONG, listed=True, t=10, barred=True),
        stream_row("cropped mean, numbered", "cropped_mean", NUMBERS, items="numbered", t=10, **large),
    ]


def seconds(process: Callable[[], None]) -> float:
    start = time.perf_counter()
    process()
    return time.perf_counter() - start


def measure(measured: list[Row], rounds: int) -> dict[str, float]:
    """Median seconds of a batch: row name → seconds."""
    samples: dict[str, list[float]] = {row.name: [] for row in measured}
    for row in measured:
        row.process()  # untimed, so that tables are built and in the processor's caches
    for _ in range(rounds):
        for row in measured:
            samples[row.name].append(seconds(row.process))
    return {name: statistics.median(values) for name, values in samples.items()}


def growth(measured: list[Row], make: Callable[[], list[Row]], rounds: int) -> dict[str, float]:
    """Time of a batch after many, over that of a stream that has just begun: row name → median ratio."""
    for row in measured:
        for _ in range(EARLIER_BATCHES):
            row.process()
    fresh = make()
    ratios: dict[str, list[float]] = {row.name: [] for row in measured}
    for row in fresh:
        row.process()
    for _ in range(rounds):
        for late, early in zip(measured, fresh, strict=True):
            ratios[late.name].append(seconds(late.process) / seconds(early.process))
    return {name: statistics.median(values) for name, values in ratios.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds over all rows (default 9)")
    rounds = parser.parse_args().rounds

    measured = rows()
    medians = measure(measured, rounds)
    streams = [row for row in measured if row.name != PEER]
    growths = growth(streams, lambda: [row for row in rows() if row.name != PEER], rounds)

    print(f"Medians of {rounds} interleaved rounds of {BATCH:,} items; × is the factor over {PEER}.\n")
    print(f"{'':36}{'million/s':>10}{'×':>8}{'late/early':>12}")
    met = True
    for row in measured:
        rate = BATCH / medians[row.name] / 1e6
        late = growths.get(row.name)
        print(
            f"{row.name:36}{rate:>10.2f}{medians[PEER] / medians[row.name]:>8.2f}"
            + ("" if late is None else f"{late:>12.2f}")
        )
        met &= not row.barred or (rate >= BAR and (late or 0) <= GROWTH_BAR)
    print(f"\nbar of {BAR:g} million/s and {GROWTH_BAR:g} late/early: {'met' if met else 'not met'}")

    RESULT.parent.mkdir(exist_ok=True)
    result = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: version(name) for name in ("numpy",)},
        "rounds": rounds,
        "batch": BATCH,
        "rows": [
            {
                "name": row.name,
                "items_per_second": BATCH / medians[row.name],
                "factor_over_peer": medians[PEER] / medians[row.name],
                "late_over_early": growths.get(row.name),
            }
            for row in measured
        ],
        "met": met,
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
