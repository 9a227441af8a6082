"""What recomputing a bundle takes: time for a report, and memory that does not grow with their number.

Run from the repository's root: `python -m benchmarks.recompute [--reports N] [--times T] [--workers W]
[--distinct D]`. It makes bundles of N (default 2,000) and T·N (default 4·N) reports, and runs
`python -m panprivacy.recompute` on each with W workers (default 2). Each report has a token of its own; of
encrypted bits there are D (default 500), which are repeated: checking a copy takes as long. It prints
seconds, processor time of all processes, and the peak memory of the largest process. Exits with 1 if a report
takes more than 9 ms (10,000 in 90 s), or if T times as many reports take over a quarter more memory.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from panprivacy.recipe.accepted_list import SHOWN_BYTES, record_nonce
from panprivacy.recompute.bundle import write_bundle
from tests.panprivacy.recompute.scene import Scene, scene

MOST_SECONDS = 0.009
MOST_GROWTH = 1.25


@dataclass(frozen=True)
class Taken:
    """Of one run: seconds, processor time of all of its processes, and the largest one's memory in MB."""

    seconds: float
    processor: float
    memory: float

    def line(self, reports: int) -> str:
        return (
            f"{reports:,} reports: {self.seconds:.1f} s, {self.seconds / reports * 1e3:.2f} ms a report; "
            f"{self.processor:.1f} s of processor time; {self.memory:.0f} MB in the largest process"
        )


def bundled(folder: Path, reports: int, distinct: int) -> None:
    """Write a bundle of this number of reports."""
    made = scene(min(distinct, reports))
    source = random.Random(reports)
    bits = [record[SHOWN_BYTES:] for record in made.records]
    ones = [made.is_one(bit) for bit in bits]
    places = [number % len(bits) for number in range(reports)]
    records = [made.joint.signed(bits[place], source) for place in places]
    count = sum(ones[place] for place in places)
    full = Scene(made.joint, sorted(records, key=record_nonce), count, source)
    write_bundle(folder, full.content(), full.records)


def recomputed(folder: Path, workers: int) -> Taken:
    """Run the command; it must hold."""
    command = [sys.executable, "-m", "panprivacy.recompute", str(folder), "--workers", str(workers)]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("the bundle does not hold")
    return Taken(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--distinct", type=int, default=500)
    options = parser.parse_args()
    taken = []
    for reports in dict.fromkeys((options.reports, options.times * options.reports)):
        with TemporaryDirectory() as place:
            bundled(Path(place, "bundle"), reports, options.distinct)
            taken.append(recomputed(Path(place, "bundle"), options.workers))
        print(taken[-1].line(reports))
    slow = taken[0].seconds > MOST_SECONDS * options.reports
    return int(slow or taken[-1].memory > MOST_GROWTH * taken[0].memory)


if __name__ == "__main__":
    sys.exit(main())
