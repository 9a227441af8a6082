"""Exact accounting against dp-accounting and against the sums written out, everything in one run.

Run from the repository's root: `python -m benchmarks.accounting` or `python benchmarks/accounting.py`.
Prints milliseconds per computation, the factor over the peer of each row and how far both results are
apart, and writes the same to `benchmarks/results/accounting.json`.

Each round computes every row once, in turn, and the medians over rounds are compared. What the product keeps
between calls is emptied before each, so that every computation starts from empty caches.
"""

import argparse
import functools
import gc
import json
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.stats
from dp_accounting.pld import privacy_loss_distribution
from scipy.optimize import brentq

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from panprivacy.accounting.calibration import calibrated
from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum, smallest_scale
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampling
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse

RESULT = ROOT / "benchmarks" / "results" / "accounting.json"
N, EPSILON0, DELTA = 10_000, 2.0, 1e-6


@dataclass(frozen=True)
class Row:
    name: str
    own: Callable[[], float]
    peer_name: str = ""
    peer: Callable[[], float] | None = None


def summed_out(epsilon: float) -> float:
    """δ(ε) of the sum of n randomized bits, all others 0: all outcomes, by SciPy's binomial."""
    flip = 1 / (math.exp(EPSILON0) + 1)
    others = scipy.stats.binom.pmf(np.arange(N), N - 1, flip)
    with_zero = (1 - flip) * np.append(others, 0) + flip * np.insert(others, 0, 0)
    with_one = flip * np.append(others, 0) + (1 - flip) * np.insert(others, 0, 0)
    growth = math.exp(epsilon)
    return max(
        float(np.maximum(0, with_one - growth * with_zero).sum()),
        float(np.maximum(0, with_zero - growth * with_one).sum()),
    )


def summed_out_epsilon() -> float:
    return float(brentq(lambda epsilon: summed_out(epsilon) - DELTA, 1e-6, EPSILON0, xtol=1e-10))


def convolved_out_epsilon() -> float:
    """ε of the sum of 100 discrete Gaussians: one convolution after the other, outcomes added up."""
    n, scale, shift = 100, 0.5, 5
    x = np.arange(-300, 301)
    one = np.exp(-(x**2) / (2 * scale**2))
    one /= one.sum()
    total = one
    for _ in range(n - 1):
        total = np.convolve(total, one)[300:-300]
    moved = np.roll(total, shift)

    def excess(epsilon: float) -> float:
        return float(np.maximum(0, total - math.exp(epsilon) * moved).sum()) - DELTA

    return float(brentq(excess, 1e-3, 40, xtol=1e-9))


def peer_gaussian() -> float:
    single = privacy_loss_distribution.from_gaussian_mechanism(
        5.1, sampling_prob=0.02, value_discretization_interval=1e-5
    )
    return float(single.self_compose(2_500).get_epsilon_for_delta(1e-8))


def peer_composition() -> float:
    composed = None
    for i in range(20):
        one = privacy_loss_distribution.from_gaussian_mechanism(10 + i, value_discretization_interval=1e-4)
        composed = one if composed is None else composed.compose(one)
    return float(composed.get_epsilon_for_delta(DELTA))


def peer_sigma() -> float:
    def excess(sigma: float) -> float:
        single = privacy_loss_distribution.from_gaussian_mechanism(
            sigma, sampling_prob=0.01, value_discretization_interval=1e-4
        )
        return float(single.self_compose(1_000).get_epsilon_for_delta(DELTA)) - 1.0

    return float(brentq(excess, 1.0, 3.0, xtol=1e-6))


def rows() -> list[Row]:
    responses = RandomizedResponseSum(n=N, epsilon0=EPSILON0)
    one_hot = OneHotSum(n=N, k=10, epsilon0=EPSILON0)
    reports = ShuffledRandomizedResponse(n=N, epsilon0=EPSILON0)
    rounds = Gaussian(sigma=5.1, sampling_rate=0.02, rounds=2_500)

    sampled = RandomizedResponseSum(n=N, epsilon0=EPSILON0, sampling_rate=0.1)
    sampled_reports = Sampling(event=reports, n=N, sampling_rate=0.1)
    discrete = DiscreteGaussianSum(n=100, scale=0.5, value_range=5)
    gaussians = [Gaussian(sigma=10.0 + i) for i in range(20)]
    different = [RandomizedResponseSum(n=N, epsilon0=2 + i / 10) for i in range(20)]

    def solved(event_class, name, **members):
        event = calibrated(event_class, members=members, solve_for=name, epsilon=1.0, delta=DELTA)
        return getattr(event, name)

    def solved_sigma() -> float:
        return solved(Gaussian, "sigma", sampling_rate=0.01, rounds=1_000)

    at = 0.08702
    fine, usual = "dp-accounting, 1e-5", "dp-accounting, 1e-4"
    return [
        Row(
            "δ of 10,000 randomized bits", lambda: responses.delta(at), "all outcomes", lambda: summed_out(at)
        ),
        Row("ε of the same", lambda: responses.epsilon(DELTA), "all outcomes", summed_out_epsilon),
        Row("ε₀ of the same", lambda: solved(RandomizedResponseSum, "epsilon0", n=N)),
        Row("ε of the same, sampled with q = 0.1", lambda: sampled.epsilon(DELTA)),
        Row("ε of one-hot vectors, k = 10", lambda: one_hot.epsilon(DELTA)),
        Row("ε of shuffled reports (FMT 2022)", lambda: reports.epsilon(DELTA)),
        Row("ε of sampled shuffled reports", lambda: sampled_reports.epsilon(DELTA)),
        Row(
            "ε of 100 discrete Gaussians",
            lambda: discrete.epsilon(DELTA),
            "all convolutions",
            convolved_out_epsilon,
        ),
        Row("s of 10,000 discrete Gaussians", lambda: smallest_scale(N, 10, 1.0, DELTA)),
        Row("ε of 2,500 sampled Gaussians", lambda: rounds.epsilon(1e-8), fine, peer_gaussian),
        Row("σ of 1,000 sampled Gaussians", solved_sigma, usual, peer_sigma),
        Row("ε of 20 different Gaussians", lambda: epsilon_of(gaussians, DELTA), usual, peer_composition),
        Row("ε of 20 different sums of bits", lambda: epsilon_of(different, DELTA)),
        Row("ε of 20 equal sums of bits", lambda: epsilon_of([responses] * 20, DELTA)),
    ]


def forget() -> None:
    """Empty every cache of the product."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and found.__module__.startswith("panprivacy."):
            found.cache_clear()


def timed(operation: Callable[[], float]) -> tuple[float, float]:
    forget()
    start = time.perf_counter()
    value = operation()
    return time.perf_counter() - start, value


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds over all computations (default 5)")
    rounds = parser.parse_args().rounds

    measured = rows()
    samples: dict[tuple[str, str], list[float]] = {}
    values: dict[tuple[str, str], float] = {}
    for turn in range(rounds + 1):
        for row in measured:
            for who, operation in (("own", row.own), ("peer", row.peer)):
                if operation is not None:
                    seconds, values[row.name, who] = timed(operation)
                    if turn > 0:  # the first round loads SciPy's parts
                        samples.setdefault((row.name, who), []).append(seconds)

    result = []
    print(f"Medians of {rounds} rounds, nothing kept between them; × is the factor over the peer.\n")
    print(f"{'':38}{'result':>12}{'ms':>10}   {'peer':22}{'ms':>10}{'×':>8}{'apart':>12}")
    for row in measured:
        own = statistics.median(samples[row.name, "own"])
        line = f"{row.name:38}{values[row.name, 'own']:>12.6g}{own * 1e3:>10.2f}"
        entry = {"name": row.name, "result": values[row.name, "own"], "milliseconds": own * 1e3}
        if row.peer is not None:
            peer = statistics.median(samples[row.name, "peer"])
            apart = values[row.name, "own"] / values[row.name, "peer"] - 1
            line += f"   {row.peer_name:22}{peer * 1e3:>10.2f}{peer / own:>8.1f}{apart:>12.1e}"
            entry |= {
                "peer": row.peer_name,
                "peer_milliseconds": peer * 1e3,
                "factor_over_peer": peer / own,
                "relative_difference": apart,
            }
        print(line)
        result.append(entry)

    RESULT.parent.mkdir(exist_ok=True)
    summary = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: version(name) for name in ("numpy", "scipy", "dp-accounting")},
        "rounds": rounds,
        "rows": result,
    }
    RESULT.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
