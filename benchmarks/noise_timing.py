"""How long the noise of a mean takes to draw, and a report to make, by how large the noise is.

Run from the repository's root: `python -m benchmarks.noise_timing` or `python benchmarks/noise_timing.py`.
Prints medians for small noise (below s) and for large (above 3·s), which take turns in one run, their ratio
and the spread within each, and writes the same to `benchmarks/results/noise_timing.json`.
"""

import argparse
import gc
import json
import platform
import random
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.statistics.events.discrete_gaussian import BITS, sample
from panprivacy.statistics.events.mean import Mean, MeanParameters

RESULT = ROOT / "benchmarks" / "results" / "noise_timing.json"
SMALL, LARGE = (0.0, 0.6), (0.998, 1.0)
"""The range of the number that is drawn for the magnitude: this gives below 0.85·s, and above 3·s."""


class Chosen(secrets.SystemRandom):
    """Gives the number that was chosen for the magnitude first, then what the system gives."""

    def __init__(self, ends: tuple[float, float]) -> None:
        super().__init__()
        low, high = (int(Fraction(end) * (1 << BITS)) for end in ends)
        self._chosen: int | None = low + secrets.randbelow(high - low)

    def getrandbits(self, k: int, /) -> int:
        if self._chosen is None:
            return super().getrandbits(k)
        found, self._chosen = self._chosen, None
        return found


def measured(operation: Callable[[random.Random], object], turns: int) -> dict[str, float]:
    times: dict[tuple[float, float], list[int]] = {SMALL: [], LARGE: []}
    gc.disable()
    for turn in range(turns + turns // 10):
        order = [SMALL, LARGE] if secrets.randbelow(2) else [LARGE, SMALL]
        for ends in order:
            source = Chosen(ends)
            start = time.perf_counter_ns()
            operation(source)
            if turn >= turns // 10:
                times[ends].append(time.perf_counter_ns() - start)
    gc.enable()
    small, large = (statistics.median(times[ends]) / 1_000 for ends in (SMALL, LARGE))
    quarter, _, three_quarters = statistics.quantiles(times[SMALL], n=4)
    return {
        "small_microseconds": small,
        "large_microseconds": large,
        "ratio": large / small,
        "quartiles_apart_microseconds": (three_quarters - quarter) / 1_000,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=20_000, help="draws of each kind (default 20,000)")
    turns = parser.parse_args().turns

    parameters = MeanParameters(
        steps=7, k=5, epsilon=1.0, delta=1e-6, cohort_size=1_000, guarantee="local"
    ).calibrated()
    scale, largest = Fraction(parameters.required_noise_scale), parameters.largest_noise
    mechanism = Mean(parameters)
    public_key = generate_private_key(DEFAULT_SCHEME, secrets.SystemRandom()).public_key
    state = mechanism.start(public_key, secrets.SystemRandom())
    rows = {
        "noise": measured(lambda source: sample(scale, largest, source), turns),
        "report": measured(lambda source: mechanism.report(public_key, state, source), turns // 10),
    }
    print(f"s = {float(scale):.4g}, table of {largest} entries; microseconds, medians of {turns:,} draws.\n")
    print(f"{'':8}{'|r| < s':>10}{'|r| > 3s':>10}{'ratio':>8}{'quartiles apart':>18}")
    for name, row in rows.items():
        print(
            f"{name:8}{row['small_microseconds']:>10.2f}{row['large_microseconds']:>10.2f}"
            f"{row['ratio']:>8.3f}{row['quartiles_apart_microseconds']:>18.2f}"
        )
    RESULT.parent.mkdir(exist_ok=True)
    summary = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "turns": turns,
        "rows": rows,
    }
    RESULT.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
