"""Rounds of a recipe: what a device remembers of them, and its check of the document of all rounds."""

import argparse
from contextlib import AbstractContextManager, nullcontext

from panprivacy.device.commands.options import limits_of
from panprivacy.device.log_check import LogCheck
from panprivacy.device.rounds_check import Turn, round_require
from panprivacy.device.rounds_memory import RoundsMemory
from panprivacy.device.transport import ServedRecipe, Transport
from panprivacy.recipe.parts.round import FIELD as ROUND


def rounds_memory(
    options: argparse.Namespace, served: ServedRecipe
) -> AbstractContextManager[RoundsMemory | None]:
    """The memory of rounds, if the recipe is one; ValueError if the options name none then."""
    if ROUND not in served.document:
        return nullcontext()
    if options.rounds_state is None:
        raise ValueError("this recipe is a round of one in rounds: --rounds-state is needed")
    return RoundsMemory(options.rounds_state)


def turn_of(
    options: argparse.Namespace,
    served: ServedRecipe,
    site: Transport,
    memory: RoundsMemory | None,
    log: LogCheck | None,
) -> Turn | None:
    """Check the document of all rounds, and note the round, if the recipe is one."""
    if memory is None:
        return None
    issuer_key = getattr(options, "issuer_key", None)  # values without tokens have none
    recipe = served.verified(options.verification_key, options.helper_key or options.shuffler_key, issuer_key)
    return round_require(
        recipe,
        site,
        options.verification_key,
        memory=memory,
        log=log,
        limits=None if options.simulation else limits_of(options),
    )
