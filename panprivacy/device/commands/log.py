"""The public log, by a command's options and with its remembered state."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

from panprivacy.device.log_check import LogCheck
from panprivacy.device.log_memory import LogMemory
from panprivacy.device.transport import ServedRecipe, Transport
from panprivacy.recipe.log.checks import CheckReport
from panprivacy.recipe.log.policy_file import read_policy

UNCHECKED = "The public log is not checked: no --log-policy."


def log_options() -> argparse.ArgumentParser:
    """Whether and how the log is checked."""
    log = argparse.ArgumentParser(add_help=False)
    log.add_argument(
        "--log-policy",
        type=Path,
        metavar="FILE",
        help="refuse a recipe that is not in the public log as this file asks: log, witnesses, quorum (C2SP)",
    )
    log.add_argument(
        "--log-state",
        type=Path,
        metavar="FILE",
        help="the file in which the device remembers what it saw of the log, for all recipes; goes with "
        "--log-policy",
    )
    return log


def log_require(options: argparse.Namespace, served: ServedRecipe, site: Transport) -> None:
    """Check the public log, if the options ask for it, and remember its state."""
    with log_followed(options) as log:
        if log is not None:
            print_log_check(log.require(served, site), sys.stdout)


def log_followed(options: argparse.Namespace) -> AbstractContextManager[LogCheck | None]:
    """The log, by the options and with its remembered state, for all checks of one command."""
    if (options.log_policy is None) != (options.log_state is None):
        raise ValueError("--log-policy and --log-state go together")
    return nullcontext() if options.log_policy is None else log_opened(options)


@contextmanager
def log_opened(options: argparse.Namespace) -> Iterator[LogCheck]:
    """The same; memory is kept if the options name a file."""
    if options.log_policy is None:
        raise ValueError("--log-state goes with --log-policy")
    policy = read_policy(options.log_policy)
    with nullcontext() if options.log_state is None else LogMemory(options.log_state) as memory:
        yield LogCheck(policy, memory)


def print_log_check(checked: CheckReport, to: TextIO) -> None:
    """Print what was checked, and what was not."""
    to.writelines(f"{sentence}\n" for sentence in (*checked.sentences, *checked.unchecked))
