"""Shuffling and analyzing 10 million one-bit messages, against NumPy's own permutation, all in one run.

Run from the repository's root: `python -m benchmarks.shuffle` or `python benchmarks/shuffle.py`. Prints
seconds and the factor over NumPy's permutation of the same bytes, which takes no cryptographic source; at
most 8 is asked for. It also measures how many messages per second users make, one by one as on devices, and
counted all at once as in simulations. Writes the same to `benchmarks/results/shuffle.json`.
"""

import argparse
import json
import platform
import random
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistics.shuffle.distinct_elements import DistinctElements
from panprivacy.statistics.shuffle.shuffler import permute

RESULT = ROOT / "benchmarks" / "results" / "shuffle.json"
MESSAGES = 10_000_000
BAR = 8.0
N, K = 10_000, 100


def seconds(operation: Callable[[], object]) -> float:
    start = time.perf_counter()
    operation()
    return time.perf_counter() - start


def shuffling(rounds: int) -> dict[str, float]:
    """Medians over rounds, the two taking turns."""
    source = secrets.SystemRandom()
    # One place: messages are 0 and 1. How often each is odd decides the estimate.
    statistic = DistinctElements(
        DistinctElements.parameters_class(epsilon=1.0, delta=1e-6, cohort_size=MESSAGES, k=2)
    )
    messages = np.frombuffer(source.randbytes(MESSAGES), dtype=np.uint8) & 1
    generator = np.random.default_rng(1)
    shuffled: list[float] = []
    analyzed: list[float] = []
    peer: list[float] = []
    for turn in range(rounds + 1):
        start = time.perf_counter()
        mixed = permute(messages, source)
        between = time.perf_counter()
        total = np.bincount(mixed, minlength=statistic.message_values)
        statistic.estimate(total.tolist(), MESSAGES)
        end = time.perf_counter()
        numpy_seconds = seconds(lambda: generator.permutation(messages))
        if turn > 0:  # the first round touches the memory
            shuffled.append(between - start)
            analyzed.append(end - between)
            peer.append(numpy_seconds)
    own = statistics.median([a + b for a, b in zip(shuffled, analyzed, strict=True)])
    numpy_median = statistics.median(peer)
    return {
        "messages": MESSAGES,
        "shuffle_seconds": statistics.median(shuffled),
        "analyze_seconds": statistics.median(analyzed),
        "numpy_permutation_seconds": numpy_median,
        "factor_over_numpy": own / numpy_median,
        "factor_allowed": BAR,
    }


def randomizing() -> list[dict[str, Any]]:
    """Messages per second of each statistic, for 10,000 users and 100 values."""
    rows = []
    values = np.arange(N) % K
    for name, statistic_class in SHUFFLE_STATISTICS.items():
        extra = {"alpha": 0.5} if "alpha" in statistic_class.parameters_class.names() else {}
        statistic = statistic_class(
            statistic_class.parameters_class(epsilon=1.0, delta=1e-6, cohort_size=N, k=K, **extra)
        )
        source, sent = secrets.SystemRandom(), 0
        start = time.perf_counter()
        for value in values[:200]:
            sent += len(statistic.randomize(int(value), source))
        one_by_one = sent / (time.perf_counter() - start)
        start = time.perf_counter()
        total = statistic.randomize_all(values, random.Random(1))
        at_once = int(total.sum()) / (time.perf_counter() - start)
        rows.append(
            {
                "statistic": name,
                "messages_per_user": sent / 200,
                "messages_per_second_on_a_device": one_by_one,
                "messages_per_second_simulated": at_once,
            }
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds over the shuffle (default 7)")
    rounds = parser.parse_args().rounds

    found = shuffling(rounds)
    print(f"{MESSAGES:,} one-bit messages, medians of {rounds} rounds in turn:\n")
    print(f"{'shuffled, operating system source':36}{found['shuffle_seconds']:>8.3f} s")
    print(f"{'analyzed':36}{found['analyze_seconds']:>8.3f} s")
    print(f"{'NumPy permutation of the same bytes':36}{found['numpy_permutation_seconds']:>8.3f} s")
    print(f"{'factor over NumPy (allowed: 8)':36}{found['factor_over_numpy']:>8.2f} ×\n")
    rows = randomizing()
    print(f"{N:,} users, {K} values{'messages/user':>20}{'per s on a device':>20}{'per s simulated':>20}")
    for row in rows:
        print(
            f"{row['statistic']:24}{row['messages_per_user']:>20,.0f}"
            f"{row['messages_per_second_on_a_device']:>20,.0f}{row['messages_per_second_simulated']:>20,.0f}"
        )

    RESULT.parent.mkdir(exist_ok=True)
    summary = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: version(name) for name in ("numpy", "scipy")},
        "rounds": rounds,
        "shuffling": found,
        "randomizing": rows,
    }
    RESULT.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if found["factor_over_numpy"] <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
