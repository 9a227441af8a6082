"""The budget of all recipes that a device ever joins, by a command's options."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panprivacy.device.lifetime import LifetimeBudget, LifetimeMemory
from panprivacy.device.rounds_check import Turn

BESIDE_STATE = "lifetime"
"""Name of the file, if no other is named, in the folder of the recipe's state."""


@contextmanager
def lifetime_memory(options: argparse.Namespace) -> Iterator[LifetimeMemory | None]:
    """The memory, locked, if the options name a budget; ValueError if they name a file without one, or a
    command without a state needs the file."""
    if options.lifetime_epsilon is None:
        if options.lifetime_state is not None:
            raise ValueError("--lifetime-state needs --lifetime-epsilon")
        yield None
        return
    state: Path | None = getattr(options, "state", None)
    path = options.lifetime_state or (state and state.with_name(BESIDE_STATE))
    if path is None:
        raise ValueError("--lifetime-epsilon needs --lifetime-state here")
    if path == state:
        raise ValueError(f"--state must be another file than that of the lifetime, {path}")
    with LifetimeMemory(path) as memory:
        yield memory


def lifetime_budget(
    options: argparse.Namespace, memory: LifetimeMemory | None, turn: Turn | None
) -> LifetimeBudget | None:
    """The budget, for a recipe that is this round or none."""
    if memory is None:
        return None
    once = turn is not None and turn.rounds.once
    return LifetimeBudget(memory, options.lifetime_epsilon, once=once)
