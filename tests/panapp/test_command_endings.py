"""How commands end whose output is closed or full, or that are interrupted: with a line at most."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRINTING = [
    "manage.py help",
    "manage.py collect --help",
    "-m devices_sim --help",
    "-m panprivacy.device --help",
    "-m panprivacy.protocols.prio3 check-vectors missing.json",
    "-m panapp.generate_secrets",
]
COLLECT = "manage.py collect examples/recipe.json --events examples/events.csv"

INTERRUPTING = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""
"""Python's `sitecustomize`, which it loads first: Ctrl-C comes when this module is loaded."""

LOST = """
import signal
from panprivacy.formats import console

class Interrupted:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def main():
    Interrupted()

console.run(main)
"""


def ended(command: list[str], stdout: int, **environment: str) -> tuple[int, str]:
    """Its exit status, and what it says on standard error."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "panapp.settings", **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", PRINTING[:-1])
def test_command_whose_output_has_no_reader_ends_without_a_word(command: str) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        status, said = ended([sys.executable, *command.split()], writes)
    finally:
        os.close(writes)
    assert (status, said) == (128 + signal.SIGPIPE, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", PRINTING)
def test_command_whose_output_is_full_says_so_in_a_line(command: str) -> None:
    with open("/dev/full", "w") as full:
        status, said = ended([sys.executable, *command.split()], full.fileno())
    assert status == 1
    assert said.splitlines()[-1] == "error: could not write the output: No space left on device"
    assert "Traceback" not in said


@pytest.mark.parametrize("command", PRINTING[1:3])
def test_command_whose_output_was_closed_before_it_began_says_so_in_a_line(command: str) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, *command.split()]
    assert ended(shell, subprocess.DEVNULL) == (1, "error: could not write the output: Bad file descriptor\n")


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("manage.py help", "django.core.management"),
        ("manage.py help", "recipes.models"),
        (COLLECT, "panprivacy.recipe.draft"),
        ("-m devices_sim --help", "devices_sim.fleet"),
        ("-m panprivacy.device --help", "panprivacy.device.command_line"),
        ("-m panprivacy.protocols.prio3 check-vectors missing.json", "panprivacy.formats.vector_files"),
        ("-m panapp.generate_secrets", "django"),
    ],
)
def test_command_that_is_interrupted_while_it_loads_ends_without_a_word(
    command: str, module: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING.format(module=module))
    interrupted = ended([sys.executable, *command.split()], subprocess.DEVNULL, PYTHONPATH=str(tmp_path))
    assert interrupted == (130, "")


def test_collect_interrupted_while_servers_load_ends_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        INTERRUPTING.format(module="simulations.installation.services")
    )
    command = [sys.executable, *COLLECT.split()]
    status, said = ended(command, subprocess.DEVNULL, PYTHONPATH=str(tmp_path))
    assert (status, len(said.splitlines())) == (130, 1)
    assert said.startswith("CommandError: interrupted")


def test_interrupt_in_a_finalizer_ends_the_command_without_a_word() -> None:
    assert ended([sys.executable, "-c", LOST], subprocess.DEVNULL) == (130, "")
