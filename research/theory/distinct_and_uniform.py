"""How errors and sample sizes grow with the number k of possible values (RSP Figure 1), measured."""

import math

import numpy as np

from panprivacy.statistics.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.statistics.shuffle.interface import CONFIDENCE
from panprivacy.statistics.shuffle.uniformity import CALIBRATED_LEVEL, FINAL, PRELIMINARY
from panprivacy.statistics.simulation import source
from research.statements import Basis, Figure, Line, Statement, one_panel
from research.theory.demonstration import Demonstration
from research.theory.full_density import full_density
from research.theory.uniformity_users import (
    ALPHA,
    DELTA,
    EPSILON,
    TESTS,
    printed_central,
    printed_final,
    printed_preliminary,
    smallest_users,
)

KEY = "distinct-and-uniform"

USERS = 100
VALUES_DISTINCT = (64, 256, 1024, 4096)
REPETITIONS = 200

VALUES_UNIFORM = (16, 64, 256, 1024, 4096)


def different_values(k: int) -> int:
    """How many of k values the simulated users have."""
    return min(k // 2, USERS)


def measured_shuffle(k: int, seed: int) -> float:
    """Root mean square error of the shuffle protocol, in values."""
    random_source = source(seed, KEY, "shuffle", k)
    protocol = DistinctElements(
        DistinctElementsParameters(epsilon=EPSILON, delta=DELTA, cohort_size=USERS, k=k)
    )
    values = np.arange(USERS) % different_values(k)
    estimates = [
        protocol.estimate(protocol.randomize_all(values, random_source).tolist(), USERS).values[0]
        for _ in range(REPETITIONS)
    ]
    return float(np.sqrt(np.mean((np.array(estimates) - different_values(k)) ** 2)))


def measured_pan(k: int, seed: int) -> float:
    """The same of the pan-private density estimator with a cell for each of k items."""
    random_source = source(seed, KEY, "pan", k)
    density = full_density(EPSILON, k, 0)
    cells = np.arange(different_values(k))
    estimates = []
    for _ in range(REPETITIONS):
        state = density.start(random_source)
        density.process_batch(state, cells, random_source)
        estimates.append(k * density.estimate(state, random_source).values[0])
    return float(np.sqrt(np.mean((np.array(estimates) - different_values(k)) ** 2)))


def shuffle_error_bound(k: int) -> float:
    """e^ε/(e^ε − 1)·√(2k·ln(2/β)) of RSP Theorem 3.3, at confidence 1 − β."""
    return math.sqrt(2 * k * math.log(2 / (1 - CONFIDENCE))) / -math.expm1(-EPSILON)


def printed_lower_bound(k: int) -> float:
    """√(k/ε): RSP Figure 1, whose Ω hides a constant."""
    return math.sqrt(k / EPSILON)


def growth(k: tuple[int, ...], y: tuple[float, ...]) -> float:
    """The exponent a of the law y ∝ k^a that fits best."""
    return float(np.polyfit(np.log(k), np.log(y), 1)[0])


def _exponent(what: str, k: tuple[int, ...], y: tuple[float, ...]) -> Statement:
    return Statement(f"exponent of k in the {what}", growth(k, y), Basis.MEASURED)


def demonstrate(seed: int) -> Demonstration:
    """Both problems at growing k. Takes half a minute."""
    shuffle = tuple(measured_shuffle(k, seed) for k in VALUES_DISTINCT)
    pan = tuple(measured_pan(k, seed) for k in VALUES_DISTINCT)
    preliminary = tuple(smallest_users(k, PRELIMINARY, seed) for k in VALUES_UNIFORM)
    final = tuple(smallest_users(k, FINAL, seed) for k in VALUES_UNIFORM)
    distinct = Figure(
        key=f"{KEY}-distinct",
        title="Counting different values",
        caption=(
            "Both ways err by about the square root of the number of possible values, however many users "
            "there are. A curator who may see all values errs by 1/ε, whatever k is."
        ),
        x_title="possible values k",
        y_title="error, in values",
        panels=one_panel(
            VALUES_DISTINCT,
            Line("shuffle protocol", Basis.MEASURED, shuffle),
            Line("pan-private density", Basis.MEASURED, pan),
            Line.over(VALUES_DISTINCT, "shuffle, at most, 95%", Basis.BOUND, shuffle_error_bound),
            Line.over(VALUES_DISTINCT, "√(k/ε), necessary", Basis.PRINTED, printed_lower_bound),
        ),
    )
    uniform = Figure(
        key=f"{KEY}-uniform",
        title="Telling whether values are equally frequent",
        caption=(
            "The smallest number of users with which the test works. Counting over random groups of values "
            "pays when there are many. Printed formulas stand without their constants: only their slopes "
            "can be compared."
        ),
        x_title="possible values k",
        y_title="users",
        panels=one_panel(
            VALUES_UNIFORM,
            Line("preliminary test", Basis.MEASURED, preliminary),
            Line("final test", Basis.MEASURED, final),
            Line.over(VALUES_UNIFORM, "Theorem 4.2, slope ¾", Basis.PRINTED, printed_preliminary),
            Line.over(VALUES_UNIFORM, "Theorem 4.8, slope ⅔", Basis.PRINTED, printed_final),
            Line.over(VALUES_UNIFORM, "central, slope ½", Basis.PRINTED, printed_central),
        ),
    )
    return Demonstration(
        key=KEY,
        title="What it costs to have many possible values",
        sentence=(
            "If no party can be trusted with the values themselves, every possible value adds noise of its "
            "own, also those that no user has."
        ),
        measured=(
            f"Different values: root mean square error of {REPETITIONS} simulated collections, ε = "
            f"{EPSILON:g} (2ε in all), δ = 10⁻⁶ for the shuffle protocol, {USERS} users with min(k/2, "
            f"{USERS}) different values. Uniformity: ε = {EPSILON:g}, δ = 10⁻⁶, α = {ALPHA:g}: every other "
            f"value comes {1 + 2 * ALPHA:g} times as often as it should, the rest {1 - 2 * ALPHA:.2g} "
            f"times; the threshold lets {CALIBRATED_LEVEL:.0%} of uniform collections be called not uniform; "
            f"the smallest number of users, to within 2%, with which two thirds of {TESTS} others are "
            "noticed."
        ),
        proved=(
            "Shuffle protocols that withstand users who do not follow them, and pan-private algorithms, "
            "need an error in the order of √k to count different values (Theorems 3.3 and 3.10); a "
            "uniformity test in the order of k to the power ⅔ users suffices with groups (Theorem 4.8), and "
            "is necessary if δ = 0 (Theorem 4.11)."
        ),
        source="Connecting Robust Shuffle Privacy and Pan-Privacy, Figure 1, sections 3 and 4",
        seed=seed,
        charts=(distinct, uniform),
        facts=(
            _exponent("error, shuffle protocol", VALUES_DISTINCT, shuffle),
            _exponent("error, pan-private density", VALUES_DISTINCT, pan),
            Statement("exponent of k in the error, Figure 1", 0.5, Basis.PRINTED),
            _exponent("users, preliminary test", VALUES_UNIFORM, preliminary),
            Statement("exponent of k in the users, Theorem 4.2, without logarithms", 0.75, Basis.PRINTED),
            _exponent("users, final test", VALUES_UNIFORM, final),
            Statement("exponent of k in the users, Theorem 4.8, without logarithms", 2 / 3, Basis.PRINTED),
            Statement("exponent of k in the users, central model, large k", 0.5, Basis.PRINTED),
        ),
    )
