"""Numbers that other processes find again."""

import math

import pytest

from ledger.numbers import CachedNumbers
from panprivacy.accounting import loss_cache, version
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.loss_cache import symmetric_loss_of
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum


def summed(n: int) -> PrivacyEvent:
    return RandomizedResponseSum(n=n, epsilon0=1.0)


def test_processes_of_the_ledger_have_this_memory() -> None:
    assert isinstance(loss_cache._memory, CachedNumbers)


def test_kept_loss_has_all_digits_and_is_of_one_event_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, event = CachedNumbers(), summed(20)
    loss = symmetric_loss_of(event)
    kept.loss_remember(event, 0.0, loss)
    found = kept.loss_recall(event, 0.0)
    assert found is not None
    assert (found.losses.tolist(), found.masses.tolist()) == (loss.losses.tolist(), loss.masses.tolist())
    assert found.infinite == loss.infinite
    assert kept.loss_recall(event, 0.25) is None
    assert kept.loss_recall(summed(21), 0.0) is None
    monkeypatch.setattr(version, "SOFTWARE", ("another",))
    assert kept.loss_recall(event, 0.0) is None


@pytest.mark.parametrize("epsilon", [1 / 3, 0.0, math.inf])
def test_kept_epsilon_is_exact_and_of_one_event(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    kept, event = CachedNumbers(), summed(20)
    kept.epsilon_remember(event, 1e-6, epsilon)
    assert kept.epsilon_recall(event, 1e-6) == epsilon
    assert kept.epsilon_recall(event, 1e-7) is None
    assert kept.epsilon_recall(summed(21), 1e-6) is None
    monkeypatch.setattr(version, "SOFTWARE", ("another",))
    assert kept.epsilon_recall(event, 1e-6) is None
