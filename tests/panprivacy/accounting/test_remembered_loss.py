"""A loss that a memory knows is not computed again, and is the one that would be."""

from typing import Any

import numpy as np
import pytest

from panprivacy.accounting import remembered_loss
from panprivacy.accounting.composition import Repeated
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.privacy_loss import PrivacyLoss, symmetric_loss
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.remembered_loss import loss_prepare, symmetric_loss_of
from panprivacy.accounting.sampling import Sampled

QUICK = RandomizedResponseSum(n=50, epsilon0=1.0)


class Memory:
    def __init__(self) -> None:
        self.known: dict[tuple[PrivacyEvent, float], PrivacyLoss] = {}

    def recall(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        return self.known.get((event, dots_apart))

    def remember(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        self.known[event, dots_apart] = loss


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(remembered_loss, "_memories", [memory])
    symmetric_loss_of.cache_clear()
    return memory


def sampled(n: int) -> Sampled:
    return Sampled(event=QUICK, n=n, sampling_rate=0.2)


def test_loss_that_was_prepared_is_the_one_that_composing_computes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = sampled(20)
    loss_prepare(event, lambda: None)
    prepared, directly = memory.known[event, 0.0], symmetric_loss(event.delta_bound, event.dots_apart)
    assert np.array_equal(prepared.losses, directly.losses)
    assert np.array_equal(prepared.masses, directly.masses)
    assert prepared.infinite == directly.infinite
    monkeypatch.setattr(Sampled, "delta_bound", lambda *_: pytest.fail("computed again"))
    loss_prepare(event, lambda: pytest.fail("computed again"))
    assert symmetric_loss_of(event) is prepared
    assert Repeated(event=event, times=5).epsilon(1e-6) > 0


def test_loss_for_which_time_does_not_suffice_is_not_remembered(memory: Memory) -> None:
    points: list[Any] = []

    def checkpoint() -> None:
        points.append(None)
        if len(points) > 5:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        loss_prepare(sampled(21), checkpoint)
    assert not memory.known


def test_quick_events_are_computed_and_not_kept(memory: Memory) -> None:
    loss_prepare(QUICK, lambda: pytest.fail("nothing to prepare"))
    symmetric_loss_of(QUICK)
    assert not memory.known
