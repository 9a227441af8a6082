"""The points of Example 5 are stored as measured, and lie on its line."""

import math

import pytest
import scipy

from research.reproduction import results
from research.reproduction.measured_rounds import FAILURE_PROBABILITY, POINTS, RATE
from research.reproduction.samplable_anonymous_aggregation import MEASURED_ROUNDS


@pytest.fixture(scope="module")
def stored() -> dict[str, list[float]]:
    [figure] = [one for one in results.committed()["figures"] if one["key"] == "saa-measured-rounds"]
    [panel] = figure["panels"]
    assert panel["x"] == list(POINTS)
    return {line["name"]: line["y"] for line in panel["series"]}


def test_points_lie_on_the_line_of_example_5(stored: dict[str, list[float]]) -> None:
    """Each fails with 1e-6: by its noise, or as more or fewer devices took part than are to be expected."""
    tail = FAILURE_PROBABILITY / 2
    for rounds, computed, found in zip(POINTS, stored["computed"], stored["measured"], strict=True):
        assert computed == pytest.approx(MEASURED_ROUNDS.line(rounds), rel=1e-5)
        low, high = MEASURED_ROUNDS.ends(computed, failures=tail)
        spread = scipy.stats.norm.isf(tail / 2) / math.sqrt(MEASURED_ROUNDS.devices * RATE * rounds)
        assert low / (1 + spread) < found < high / (1 - spread)


def test_points_are_those_that_were_measured(stored: dict[str, list[float]]) -> None:
    measured = list(MEASURED_ROUNDS.measured(2))
    assert stored["measured"][:2] == pytest.approx(measured, rel=1e-5)
