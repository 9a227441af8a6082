"""A number that a memory knows is not computed again, and is the one that would be; and computations end
where their checkpoint says so."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from panprivacy.accounting import loss_cache
from panprivacy.accounting.composition import Repeated, _composed, _roughly_composed
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.interruption import interruptible, interruption_point
from panprivacy.accounting.loss_cache import epsilon_at, recalling_only, symmetric_loss_of
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.privacy_loss import PrivacyLoss, symmetric_loss
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import Sampled

QUICK = RandomizedResponseSum(n=50, epsilon0=1.0)


class Memory:
    def __init__(self) -> None:
        self.losses: dict[tuple[PrivacyEvent, float], PrivacyLoss] = {}
        self.epsilons: dict[tuple[PrivacyEvent, float], float] = {}

    def forget(self) -> None:
        self.losses.clear()
        self.epsilons.clear()

    def loss_recall(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        return self.losses.get((event, dots_apart))

    def loss_remember(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        self.losses[event, dots_apart] = loss

    def epsilon_recall(self, event: PrivacyEvent, delta: float) -> float | None:
        return self.epsilons.get((event, delta))

    def epsilon_remember(self, event: PrivacyEvent, delta: float, epsilon: float) -> None:
        self.epsilons[event, delta] = epsilon


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(loss_cache, "_memory", memory)
    another_process()
    return memory


def another_process() -> None:
    for kept in (symmetric_loss_of, epsilon_at, _composed, _roughly_composed):
        kept.cache_clear()


def sampled(n: int) -> Sampled:
    return Sampled(event=QUICK, n=n, sampling_rate=0.2)


def no_more() -> None:
    raise TimeoutError


def after(points: int) -> Callable[[], None]:
    """A checkpoint that lets so many points be computed."""
    left = iter(range(points))

    def checkpoint() -> None:
        if next(left, None) is None:
            raise TimeoutError

    return checkpoint


@pytest.mark.parametrize("event", [sampled(20), QUICK])
def test_loss_is_remembered_as_it_is_and_not_computed_again(memory, event):
    first, directly = symmetric_loss_of(event), symmetric_loss(event.delta_bound, event.dots_apart)
    assert memory.losses[event, 0.0] is first
    assert np.array_equal(first.losses, directly.losses)
    assert np.array_equal(first.masses, directly.masses)
    assert first.infinite == directly.infinite
    another_process()
    with interruptible(no_more):
        assert symmetric_loss_of(event) is first


@pytest.mark.parametrize("event", [sampled(20), QUICK])
def test_epsilon_is_remembered_with_all_its_digits_and_not_computed_again(memory, event):
    first = epsilon_at(event, 1e-6)
    assert memory.epsilons == {(event, 1e-6): event.epsilon(1e-6)}
    another_process()
    with interruptible(no_more):
        assert epsilon_at(event, 1e-6) == first
        with pytest.raises(TimeoutError):
            epsilon_at(event, 1e-7)


def test_numbers_for_which_time_does_not_suffice_are_not_remembered(memory):
    for compute in (symmetric_loss_of, lambda event: epsilon_at(event, 1e-6)):
        with interruptible(after(5)), pytest.raises(TimeoutError):
            compute(sampled(21))
    assert not memory.losses
    assert not memory.epsilons


def test_who_may_ask_for_any_number_finds_what_is_kept_and_keeps_nothing(memory):
    known, unknown = sampled(26), sampled(27)
    epsilon = epsilon_at(known, 1e-6)
    memory.epsilons[known, 1e-6] = 2 * epsilon
    another_process()
    with recalling_only():
        assert epsilon_at(known, 1e-6) == 2 * epsilon
        epsilon_at(unknown, 1e-6)
        symmetric_loss_of(unknown)
    assert list(memory.epsilons) == [(known, 1e-6)]
    assert not memory.losses


@pytest.mark.parametrize(
    "event",
    [
        sampled(22),
        Repeated(event=sampled(23), times=3),
        OneHotSum(n=24, k=3, epsilon0=1.0),
        Sampled(event=Repeated(event=QUICK, times=2), n=25, sampling_rate=0.2),
    ],
    ids=lambda event: event.kind,
)
def test_every_look_at_a_curve_can_be_the_last(memory, event):
    """Also of those nested in others: with k points allowed there is no k at which it goes on regardless."""
    counted: list[None] = []
    with interruptible(lambda: counted.append(None)):
        whole = epsilon_at(event, 1e-6)
    assert len(counted) > 5
    for points in (0, 1, len(counted) // 2, len(counted) - 1):
        memory.forget()
        another_process()
        with interruptible(after(points)), pytest.raises(TimeoutError):
            epsilon_at(event, 1e-6)
    another_process()
    assert epsilon_at(event, 1e-6) == whole


def test_checkpoint_is_of_its_block_and_thread_alone():
    reached: list[str] = []

    def elsewhere() -> None:
        interruption_point()
        reached.append("the other thread")

    with interruptible(no_more):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with interruptible(lambda: reached.append("inner")):
            interruption_point()
        with pytest.raises(TimeoutError):
            interruption_point()
    interruption_point()
    assert reached == ["the other thread", "inner"]
