import pytest

from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.planning.inversion import TOLERANCE, shown_epsilon


@pytest.mark.parametrize("epsilon", [0.02, 1.0, 8.0])
@pytest.mark.parametrize("near", [None, 1e-9, 1.0, 30.0])
def test_shown_epsilon_of_a_stated_guarantee_is_the_stated_one(epsilon: float, near: float | None) -> None:
    """δ has a step there: it is just met from then on, however far."""
    stated = EpsilonDelta(epsilon_given=epsilon, delta_given=1e-6, relation="replace")
    found = shown_epsilon(stated, 1e-6, near=near)
    assert epsilon * (1 - 1e-12) <= found <= epsilon * (1 + 2 * TOLERANCE)


@pytest.mark.parametrize("near", [None, 1e-9, 0.01, 5.0])
def test_shown_epsilon_keeps_delta_and_is_the_smallest_whatever_the_guess(near: float | None) -> None:
    event = RandomizedResponseSum(n=1_000, epsilon0=1.0)
    found = shown_epsilon(event, 1e-6, near=near)
    assert event.delta_bound(found) <= 1e-6 < event.delta_bound(found * (1 - 2 * TOLERANCE))
