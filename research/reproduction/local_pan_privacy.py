"""LPP: the numbers of Theorem 7 (sums of randomized bits) and Theorem 13 (sums of discrete Gaussians).

Feldman, McMillan, Rothblum & Talwar, *Local Pan-Privacy for Federated Analytics* (ICML 2025). Both theorems
state only that a parameter exists, and the order of the error; here are the parameters and the constants.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import scipy

from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum, smallest_scale, variance
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse
from research.reproduction.sampled_gaussian import noise_multiplier
from research.statements import Figure, Line, Panel, Paper, Role, Statement

PAPER = Paper.LOCAL_PAN_PRIVACY

TARGET = (1.0, 1e-6)
"""(ε, δ) of the sum for which parameters are solved; the theorems ask for ε below 1, or at 1 in the limit."""

VALUE_RANGE = 10
"""Largest value, for the sums of discrete Gaussians."""

DEVICES = (1_000, 10_000, 100_000, 1_000_000)

_DEVICES_DRAWN = (*(factor * 10**power for power in (2, 3, 4, 5) for factor in (1, 2, 5)), 1_000_000)

_SCALED_DEVICES_DRAWN = (100, 1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 50_000, 100_000, 500_000)


def claims() -> Iterator[Statement]:
    """Every number, in the order of the paper. Takes some seconds in all."""
    yield from _theorem_7()
    yield from _theorem_13()


# Theorem 7 -----------------------------------------------------------------------


def largest_epsilon0(n: int, epsilon: float, delta: float) -> float:
    """The ε₀ of Theorem 7: the largest at which the sum of n randomized bits is (ε, δ)-private."""

    def excess(epsilon0: float) -> float:
        found = RandomizedResponseSum(n=n, epsilon0=epsilon0).delta(epsilon)
        return math.log(max(found, 1e-300)) - math.log(delta)

    # Up to ε₀ = ε every sum is ε-private; from there on δ grows.
    return float(scipy.optimize.brentq(excess, epsilon, 40.0, xtol=1e-9))


def standard_error(n: int, epsilon0: float) -> float:
    """Standard deviation of the estimated count from n randomized bits: √(n·e^ε₀)/(e^ε₀ − 1), in devices."""
    return math.sqrt(n) / (2 * math.sinh(epsilon0 / 2))


def normal_approximation_epsilon(n: int, epsilon0: float, delta: float) -> float:
    """ε of a Gaussian sum with the variance of n randomized bits: what it is often taken for. No bound."""
    return Gaussian(sigma=standard_error(n, epsilon0)).epsilon(delta)


def error_of_theorem_7(epsilon: float, delta: float) -> float:
    """√(ln(1/δ))/ε, the printed order of the error, in devices."""
    return math.sqrt(math.log(1 / delta)) / epsilon


def _theorem_7() -> Iterator[Statement]:
    epsilon, delta = TARGET
    constants = []
    statement = partial(Statement, place="Theorem 7", relation=Relation.REPLACE, delta=delta)
    for n in DEVICES:
        epsilon0 = largest_epsilon0(n, epsilon, delta)
        constants.append(standard_error(n, epsilon0) / error_of_theorem_7(epsilon, delta))
        yield statement(
            quantity=f"largest ε₀ with ε = 1 for the sum, n = {n:,}",
            value=epsilon0,
            method="exact sum over outcomes, for the worst assignment of the other bits",
            why="“There is an ε₀.”",
        )
    yield statement(
        quantity="standard error as a multiple of √(ln(1/δ))/ε, the largest for n = 1,000 to 1,000,000",
        printed="O(1)",
        value=max(constants),
        method="√(n·e^ε₀)/(e^ε₀ − 1) at those ε₀",
        agrees=max(constants) < 2 and max(constants) / min(constants) < 1.1,
        expected=True,
        why="The constant hardly changes from a thousand devices to a million.",
    )
    for n, epsilon0 in ((1_000, 1.0), (10_000, 2.0)):
        claim = partial(statement, f"ε of the sum, n = {n:,}, ε₀ = {epsilon0:g}")
        yield claim(
            RandomizedResponseSum(n=n, epsilon0=epsilon0).epsilon(delta),
            method="exact sum over outcomes, for the worst assignment of the other bits",
        )
        yield claim(
            ShuffledRandomizedResponse(n=n, epsilon0=epsilon0).epsilon(delta),
            method="Feldman, McMillan & Talwar 2022, numerical",
            why="A proved bound on the same sum.",
        )
        yield claim(
            normal_approximation_epsilon(n, epsilon0, delta),
            method="normal approximation: no bound",
            why="It under-reports.",
        )


# Theorem 13 ----------------------------------------------------------------------


def continuous_scale(n: int, value_range: int, epsilon: float, delta: float) -> float:
    """s by the continuous rule: n summands of variance s² taken for one Gaussian of variance n·s²."""
    return value_range * noise_multiplier(1.0, 1, epsilon, delta) / math.sqrt(n)


def _theorem_13() -> Iterator[Statement]:
    epsilon, delta = TARGET
    n = 10_000
    continuous = continuous_scale(n, VALUE_RANGE, epsilon, delta)
    exact = smallest_scale(n, VALUE_RANGE, epsilon, delta)
    case = "n = 10,000 values from 0 to 10"
    statement = partial(Statement, place="Theorem 13", relation=Relation.REPLACE, delta=delta)
    yield statement(
        quantity=f"smallest scale s with ε = 1 for the sum, {case}",
        value=exact,
        method="exact distribution of the sum of discrete Gaussians",
        why="“There is a σ.”",
    )
    found = DiscreteGaussianSum(n=n, scale=continuous, value_range=VALUE_RANGE).epsilon(delta)
    yield statement(
        quantity=f"ε of the sum with s = {continuous:.5f} by the continuous rule, {case}",
        value=found,
        method="exact distribution of the sum of discrete Gaussians",
        why="The rule promises ε = 1. The variance of N_Z(0, s²) is below s² when s is small: "
        f"here {variance(continuous):.4f} instead of {continuous**2:.4f}. The sum does not have the "
        f"variance n·s² that the rule counts on.",
    )


# Figures -------------------------------------------------------------------------


def figures() -> Iterator[Figure]:
    """What the theorems leave to the reader, drawn. Takes some seconds."""
    epsilon, delta = TARGET
    line = partial(Line.over, _DEVICES_DRAWN)
    yield Figure(
        key="lpp-theorem-7",
        title="Theorem 7",
        caption="Error of a count from randomized bits whose sum is (1, 10⁻⁶)-private, against "
        "√(ln(1/δ))/ε, and against bits that are 1-private each.",
        x_title="devices, n",
        y_title="standard error, in devices",
        panels=(
            Panel(
                "ε = 1, δ = 10⁻⁶, one device replaced",
                tuple(map(float, _DEVICES_DRAWN)),
                (
                    line("√(ln(1/δ))/ε", Role.BASELINE, lambda _: error_of_theorem_7(epsilon, delta)),
                    line("each bit 1-private", Role.AGGREGATED, lambda n: standard_error(n, epsilon)),
                    line(
                        "the sum (1, 10⁻⁶)-private",
                        Role.SAMPLED,
                        lambda n: standard_error(n, largest_epsilon0(n, epsilon, delta)),
                    ),
                ),
            ),
        ),
        choices="The paper has no figure of it. Chosen: ε = 1, δ = 10⁻⁶.",
    )
    line = partial(Line.over, _SCALED_DEVICES_DRAWN)
    yield Figure(
        key="lpp-theorem-13",
        title="Theorem 13",
        caption="What the continuous rule gives a sum of discrete Gaussians: ε against the ε = 1 that it "
        "promises. The more devices share the noise, the less of it each adds, until almost every device "
        "adds 0.",
        x_title="devices, n",
        y_title="ε of the sum at δ = 10⁻⁶",
        panels=(
            Panel(
                "values from 0 to 10, one device replaced",
                tuple(map(float, _SCALED_DEVICES_DRAWN)),
                (
                    line("promised", Role.BASELINE, lambda _: epsilon),
                    line("s by the continuous rule", Role.AGGREGATED, _epsilon_by(continuous_scale)),
                    line("s by the exact sum", Role.SAMPLED, _epsilon_by(smallest_scale)),
                ),
            ),
        ),
        choices="The paper has no figure of it. Chosen: values from 0 to 10, ε = 1, δ = 10⁻⁶.",
    )


def _epsilon_by(rule: Callable[[int, int, float, float], float]) -> Callable[[int], float]:
    """ε of the sum of n values, with the scale by a rule for the (ε, δ) of `TARGET`."""
    epsilon, delta = TARGET

    def found(n: int) -> float:
        scale = rule(n, VALUE_RANGE, epsilon, delta)
        return DiscreteGaussianSum(n=n, scale=scale, value_range=VALUE_RANGE).epsilon(delta)

    return found
