"""Processes that share their work, and an interrupt from the terminal, which reaches them all."""

import os
import signal
from collections.abc import Callable, Sequence

from devices_sim.workers import run_workers


def doubled(units: Sequence[int]) -> int:
    return sum(2 * unit for unit in units)


def interrupted_as_it_loads() -> Callable[[Sequence[int]], int]:
    os.kill(os.getpid(), signal.SIGINT)
    return doubled


class Interrupted:
    """What a process loads before it does anything."""

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return interrupted_as_it_loads, ()

    def __call__(self, units: Sequence[int]) -> int:
        raise NotImplementedError


def test_interrupt_of_a_process_that_still_loads_is_left_to_its_parent() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert sorted(run_workers(Interrupted(), [1, 2, 3], processes=2)) == [4, 8]
    # Which is still interrupted itself.
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert signal.SIGINT not in before
