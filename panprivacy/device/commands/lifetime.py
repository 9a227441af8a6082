"""The budget of all recipes that a device ever joins, by a command's options."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from panprivacy.device.lifetime import LifetimeBudget, LifetimeMemory
from panprivacy.device.rounds_check import Turn


@contextmanager
def lifetime_memory(options: argparse.Namespace) -> Iterator[LifetimeMemory | None]:
    """The memory, locked, if the options name a budget; ValueError if they name only half of it."""
    if (options.lifetime_epsilon is None) != (options.lifetime_state is None):
        raise ValueError("--lifetime-epsilon and --lifetime-state go together")
    if options.lifetime_state is None:
        yield None
        return
    with LifetimeMemory(options.lifetime_state) as memory:
        yield memory


def lifetime_budget(
    options: argparse.Namespace, memory: LifetimeMemory | None, turn: Turn | None
) -> LifetimeBudget | None:
    """The budget, for a recipe that is this round or none."""
    if memory is None:
        return None
    once = turn is not None and turn.rounds.once
    return LifetimeBudget(memory, options.lifetime_epsilon, once=once)
