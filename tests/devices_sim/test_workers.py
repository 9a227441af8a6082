"""Processes that share their work, and an interrupt from the terminal, which reaches them all."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from devices_sim.workers import run_workers
from tests.devices_sim.loaded import are_loaded

ROOT = Path(__file__).resolve().parents[2]


def doubled(units: Iterable[int]) -> Iterator[int]:
    for unit in units:
        yield 2 * unit


def interrupted_as_it_loads() -> Callable[[Iterable[int]], Iterator[int]]:
    os.kill(os.getpid(), signal.SIGINT)
    return doubled


class Interrupted:
    """What a process loads before it does anything."""

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return interrupted_as_it_loads, ()

    def __call__(self, units: Iterable[int]) -> Iterator[int]:
        raise NotImplementedError


def test_interrupt_of_a_process_that_still_loads_is_left_to_the_one_that_started_it() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert sorted(run_workers(Interrupted(), [1, 2, 3], processes=2)) == [2, 4, 6]
    # Which is still interrupted itself.
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert signal.SIGINT not in before


def test_processes_start_if_the_temporary_folder_has_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / (100 * "x")
    folder.mkdir()
    script = "from devices_sim.workers import processes_prepare; processes_prepare()"
    environment = {**os.environ, "TMPDIR": str(folder)}
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, check=True)


def test_processes_have_loaded_what_a_fleet_needs_before_they_begin():
    assert list(run_workers(are_loaded, ["devices_sim.fleet", "no_such_module"], 1)) == [True, False]
