"""The proved bound beside a found number."""

import pytest

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.question import proved_bound
from panprivacy.accounting.registry import event_from_mapping


@pytest.mark.parametrize("members", [
    {"kind": "randomized_response", "n": 250, "epsilon0": 2.0, "sampling_rate": 0.1},
    {"kind": "one_hot", "n": 250, "k": 5, "epsilon0": 2.0, "relation": "replace"},
])  # fmt: skip
def test_proved_bound_is_proved_and_above_the_number_found(members):
    event = event_from_mapping(members)
    bound = proved_bound(event)
    assert not event.proved
    assert bound.proved
    assert bound.neighbours is event.neighbours
    assert event.epsilon(1e-6) < bound.epsilon(1e-6) < 4 * event.epsilon(1e-6)


def test_proved_bound_is_the_proved_event_itself_or_none_if_unknown():
    assert proved_bound(Gaussian(sigma=1.0)) == Gaussian(sigma=1.0)
    found = OneHotSum(n=1_000, k=3, epsilon0=1.0)
    assert proved_bound(Repetition(event=found, times=2)) is None
