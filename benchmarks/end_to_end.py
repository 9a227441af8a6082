"""`collect` as a whole, against the bare cryptography it contains; everything in one run.

Run from the repository's root: `python -m benchmarks.end_to_end [--million]`. It measures

- a collection of 100,000 lazy devices (count_nonzero, T = 30) through the REST API and one worker, as a ratio
  to the time of the same number of encryptions and decryptions alone, one core, before and after it;
- the peak memory of its processes (VmHWM), and with `--million` how it grows with ten times the devices;
- how much faster two workers on two cores sum the same reports than one.

Prints a table and writes `benchmarks/results/end_to_end.json`. Exits with 1 if a bar is not met.
"""

import argparse
import json
import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "end_to_end.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

DEVICES = 100_000
STEPS = 30
MOST_TIMES_BARE = 1.6
MOST_MEGABYTES = 600
MOST_GROWTH = 1.2
LEAST_SPEED_UP = 1.7
RECIPE = {
    "name": "Benchmark",
    "question": "On how many devices did it happen?",
    "statistic": "count_nonzero",
    "steps": STEPS,
    "epsilon": 1.0,
    "delta": 1e-6,
    "cohort_size": 1_000,
}


@dataclass(frozen=True)
class Run:
    """One `collect`: its own answer, its wall-clock time, and each process's peak memory in MB."""

    answer: dict[str, Any]
    seconds: float
    peaks: dict[str, float]


def bare_seconds(operations: int) -> float:
    """Time of this number of encryptions and decryptions, with tables, on one core."""
    from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key

    source = secrets.SystemRandom()
    private = generate_private_key(DEFAULT_SCHEME, source)
    public = private.public_key.with_tables()
    started = time.perf_counter()
    ciphertexts = [public.encrypt(i & 1, source) for i in range(operations)]
    for ciphertext in ciphertexts:
        private.decrypt(ciphertext, range(2))
    return time.perf_counter() - started


def write_events(path: Path, devices: int) -> None:
    """Three in ten devices have one to four events."""
    source = random.Random(1)
    with path.open("w") as file:
        file.write("device,step,events\n")
        for device in range(devices):
            if source.random() < 0.3:
                for step in source.sample(range(1, STEPS + 1), source.randint(1, 4)):
                    file.write(f"d{device},{step},1\n")
            else:
                file.write(f"d{device},1,0\n")


def collect(devices: int, directory: Path) -> Run:
    """Run `collect` on an empty database and watch its processes."""
    recipe, events = directory / "recipe.json", directory / f"events-{devices}.csv"
    recipe.write_text(json.dumps(RECIPE))
    write_events(events, devices)
    environment = {**os.environ, "PANAPP_DATA_DIR": str(directory / f"data-{devices}")}
    environment.pop("DATABASE_URL", None)
    environment.pop("CELERY_BROKER_URL", None)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "collect", str(recipe), "--events", str(events), "--json"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    peaks: dict[str, float] = {}
    while process.poll() is None:
        record_peaks(process.pid, peaks)
        time.sleep(0.1)
    seconds = time.perf_counter() - started
    if process.returncode != 0 or process.stdout is None:
        raise RuntimeError(f"collect failed with exit code {process.returncode}")
    return Run(json.loads(process.stdout.read()), seconds, peaks)


def record_peaks(pid: int, peaks: dict[str, float]) -> None:
    """Raise the peak of every kind of process in the tree to what the kernel reports."""
    try:
        tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in tree:
        try:
            name = role(process.cmdline())
            status = Path(f"/proc/{process.pid}/status").read_text()
        except (psutil.NoSuchProcess, psutil.ZombieProcess, OSError):
            continue
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        if found:
            peaks[name] = max(peaks.get(name, 0.0), int(found[1]) / 1024)


def role(command: list[str]) -> str:
    line = " ".join(command)
    names = {
        "granian": "web",
        " worker": "worker",
        "valkey": "broker",
        "forkserver": "devices",
    }
    return next((name for part, name in names.items() if part in line), "collect")


def summing_rate(workers: int, directory: Path, chunks: int = 50) -> float:
    """Chunks per second that this number of workers sums, from the first to the last commit."""
    environment = {"PANAPP_DATA_DIR": str(directory / f"workers-{workers}")}
    script = [sys.executable, "-m", "benchmarks.summing", str(workers), str(chunks)]
    variables = {
        name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "CELERY_BROKER_URL"}
    }
    done = subprocess.run(
        script, cwd=ROOT, env={**variables, **environment}, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--million", action="store_true", help="also collect from 1,000,000 devices (minutes)"
    )
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    bars: list[tuple[str, float, str, bool]] = []
    with tempfile.TemporaryDirectory(prefix="panapp-benchmark-") as name:
        directory = Path(name)
        before = bare_seconds(DEVICES)
        run = collect(DEVICES, directory)
        bare = (before + bare_seconds(DEVICES)) / 2
        ratio = run.seconds / bare
        bars.append(
            (f"collect of {DEVICES:,} ÷ bare", ratio, f"≤ {MOST_TIMES_BARE}", ratio <= MOST_TIMES_BARE)
        )
        peak = max(run.peaks.values())
        bars.append(("largest process, MB", peak, f"≤ {MOST_MEGABYTES}", peak <= MOST_MEGABYTES))
        results |= {"bare_seconds": bare, "collect_seconds": run.seconds, "seconds": run.answer["seconds"]}
        results["peak_megabytes"] = run.peaks
        print(
            f"bare encryptions and decryptions: {bare:.1f} s; "
            f"collect: {run.seconds:.1f} s {run.answer['seconds']}"
        )
        print(
            "peak memory, MB: " + ", ".join(f"{name} {peak:.0f}" for name, peak in sorted(run.peaks.items()))
        )
        if arguments.million:
            million = collect(10 * DEVICES, directory)
            peak = max(million.peaks.values())
            growth = max(million.peaks[name] / run.peaks[name] for name in run.peaks if name in million.peaks)
            bars.append(("largest process at 10×, MB", peak, f"≤ {MOST_MEGABYTES}", peak <= MOST_MEGABYTES))
            bars.append(
                ("largest growth of a process at 10×", growth, f"≤ {MOST_GROWTH}", growth <= MOST_GROWTH)
            )
            results |= {"million_seconds": million.seconds, "million_peak_megabytes": million.peaks}
            print(
                f"ten times the devices: {million.seconds:.1f} s; peak memory, MB: "
                + ", ".join(f"{name} {peak:.0f}" for name, peak in sorted(million.peaks.items()))
            )
        # One, two, one: a drift of the machine's speed falls on both sides.
        rates = [summing_rate(workers, directory / str(turn)) for turn, workers in enumerate((1, 2, 1))]
        speed_up = rates[1] / ((rates[0] + rates[2]) / 2)
        bars.append(("two workers ÷ one", speed_up, f"≥ {LEAST_SPEED_UP}", speed_up >= LEAST_SPEED_UP))
        results |= {"chunks_per_second": {"one worker": [rates[0], rates[2]], "two workers": rates[1]}}
    print()
    for label, value, bar, met in bars:
        print(f"{label:38}{value:>10.2f}   {bar:8}{'met' if met else 'not met'}")
    results["bars"] = [
        {"name": label, "measured": value, "bar": bar, "met": met} for label, value, bar, met in bars
    ]
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(met for *_, met in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
