"""Numbers that other processes find again."""

import math

import pytest

from ledger.numbers import CachedNumbers
from panprivacy.accounting import number_cache
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.number_cache import symmetric_loss_of
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum


def summed(n: int) -> PrivacyEvent:
    return RandomizedResponseSum(n=n, epsilon0=1.0)


def test_processes_of_the_ledger_have_this_memory() -> None:
    assert isinstance(number_cache._cache, CachedNumbers)


def test_kept_loss_has_all_digits_and_is_of_one_event_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, event = CachedNumbers(), summed(20)
    loss = symmetric_loss_of(event)
    kept.loss_set(event, 0.0, loss)
    found = kept.loss_get(event, 0.0)
    assert found is not None
    assert (found.losses.tolist(), found.masses.tolist()) == (loss.losses.tolist(), loss.masses.tolist())
    assert found.infinite == loss.infinite
    assert kept.loss_get(event, 0.25) is None
    assert kept.loss_get(summed(21), 0.0) is None
    monkeypatch.setattr(number_cache, "SOFTWARE", ("another",))
    assert kept.loss_get(event, 0.0) is None


@pytest.mark.parametrize("epsilon", [1 / 3, 0.0, math.inf])
def test_kept_epsilon_is_exact_and_of_one_event(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    kept, event = CachedNumbers(), summed(20)
    kept.epsilon_set(event, 1e-6, epsilon)
    assert kept.epsilon_get(event, 1e-6) == epsilon
    assert kept.epsilon_get(event, 1e-7) is None
    assert kept.epsilon_get(summed(21), 1e-6) is None
    monkeypatch.setattr(number_cache, "SOFTWARE", ("another",))
    assert kept.epsilon_get(event, 1e-6) is None
