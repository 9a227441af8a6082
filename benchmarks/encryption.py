"""Encryption against phe as shipped (with gmpy2), everything in one run.

Run from the repository's root: `python -m benchmarks.encryption` or `python benchmarks/encryption.py`. Prints
µs per operation and the factor by which each row beats phe at 3072 bits, its default size, and writes the
same to `benchmarks/results/encryption.json`. Exits with 1 if the default scheme misses a bar.

Each round times every operation once, in turn, and the medians over rounds are compared: a
disturbance of the machine falls on all rows alike. Before each, a tenth as many repetitions
run untimed, so that every row finds its data in the processor's caches as it would in steady use.
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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import phe.util
from phe import paillier as phe_paillier

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES, generate_private_key
from panprivacy.encryption.interface import PrivateKey, PublicKey

OPERATIONS = ("encrypt", "rerandomize", "decrypt")
PEER = "phe 3072"
RESULT = ROOT / "benchmarks" / "results" / "encryption.json"
ROUND_SECONDS = 0.03
BARS = {"rerandomize": 800, "decrypt": 150}
"""Least factor of the default scheme, with tables, over phe at 3072 bits."""


@dataclass(frozen=True)
class Row:
    name: str
    ciphertext_bytes: int
    operations: dict[str, Callable[[], object]]


def peer_row(bits: int) -> Row:
    public, private = phe_paillier.generate_paillier_keypair(n_length=bits)
    number = public.encrypt(1)
    return Row(
        f"phe {bits}",
        2 * bits // 8,
        {
            "encrypt": lambda: public.encrypt(1),
            "rerandomize": number.obfuscate,
            "decrypt": lambda: private.decrypt(number),
        },
    )


def own_row(name: str, private: PrivateKey, public: PublicKey) -> Row:
    random_source: random.Random = secrets.SystemRandom()
    ciphertext = public.encrypt(1, random_source)
    allowed = range(2)
    return Row(
        name,
        public.ciphertext_bytes,
        {
            "encrypt": lambda: public.encrypt(1, random_source),
            "rerandomize": lambda: public.rerandomize(ciphertext, random_source),
            "decrypt": lambda: private.decrypt(ciphertext, allowed),
        },
    )


def rows() -> list[Row]:
    made = [peer_row(2048), peer_row(3072)]
    for scheme in SCHEMES:
        private = generate_private_key(scheme, secrets.SystemRandom())
        made.append(own_row(f"{scheme}, tables", private, private.public_key.with_tables()))
        made.append(own_row(f"{scheme}, constant-time", private, private.public_key))
    return made


def seconds(operation: Callable[[], object], repetitions: int) -> float:
    for _ in range(-(-repetitions // 10)):
        operation()
    start = time.perf_counter()
    for _ in range(repetitions):
        operation()
    return (time.perf_counter() - start) / repetitions


def measure(measured: list[Row], rounds: int) -> dict[str, dict[str, float]]:
    """Median seconds of each operation: row name → operation → seconds."""
    samples: dict[tuple[str, str], list[float]] = {}
    repetitions = {
        (row.name, operation): max(1, round(ROUND_SECONDS / seconds(row.operations[operation], 3)))
        for row in measured
        for operation in OPERATIONS
    }
    for _ in range(rounds):
        for row in measured:
            for operation in OPERATIONS:
                key = (row.name, operation)
                samples.setdefault(key, []).append(seconds(row.operations[operation], repetitions[key]))
    return {
        row.name: {operation: statistics.median(samples[row.name, operation]) for operation in OPERATIONS}
        for row in measured
    }


def table(measured: list[Row], medians: dict[str, dict[str, float]]) -> str:
    lines = [
        f"{'':34}" + "".join(f"{operation + ' µs':>16}{'×':>8}" for operation in OPERATIONS) + f"{'bytes':>8}"
    ]
    for row in measured:
        cells = "".join(
            f"{medians[row.name][operation] * 1e6:>16,.1f}"
            f"{medians[PEER][operation] / medians[row.name][operation]:>8,.1f}"
            for operation in OPERATIONS
        )
        lines.append(f"{row.name:34}{cells}{row.ciphertext_bytes:>8}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=25, help="rounds over all operations (default 25)")
    rounds = parser.parse_args().rounds
    if not phe.util.HAVE_GMP:
        raise RuntimeError("phe does not use gmpy2: the comparison would be unfair to it")

    measured = rows()
    medians = measure(measured, rounds)
    best = medians[f"{DEFAULT_SCHEME}, tables"]
    factors = {operation: medians[PEER][operation] / best[operation] for operation in BARS}

    print(f"Medians of {rounds} interleaved rounds; × is the factor over {PEER}.\n")
    print(table(measured, medians))
    print()
    for operation, bar in BARS.items():
        verdict = "met" if factors[operation] >= bar else "not met"
        print(f"{DEFAULT_SCHEME} {operation}: {factors[operation]:,.0f}×, bar {bar}×: {verdict}")

    RESULT.parent.mkdir(exist_ok=True)
    result = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: version(name) for name in ("coincurve", "phe", "gmpy2")},
        "rounds": rounds,
        "rows": [
            {
                "name": row.name,
                "ciphertext_bytes": row.ciphertext_bytes,
                "microseconds": {name: value * 1e6 for name, value in medians[row.name].items()},
                "factor_over_peer": {
                    name: medians[PEER][name] / value for name, value in medians[row.name].items()
                },
            }
            for row in measured
        ],
        "peer": PEER,
        "bars": {name: {"least": bar, "measured": factors[name]} for name, bar in BARS.items()},
    }
    RESULT.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(factors[operation] >= bar for operation, bar in BARS.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
