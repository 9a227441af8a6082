"""The end of a simulation, also of one whose command was interrupted or failed: nobody else would end it."""

from contextlib import suppress

from django.contrib.auth.models import AbstractBaseUser

from recipes.errors import RecipeStateError
from recipes.models import Recipe
from releases.operations import result_withhold
from trust_models.publishing import recipe_close

INTERRUPTED = "the command that simulated it was interrupted"
FAILED = "the command that simulated it failed"


def simulation_close(*, recipe: Recipe, actor: AbstractBaseUser | None) -> None:
    """Close a simulation, unless something else did: a helper's end, a full batch, the beat at its time."""
    with suppress(RecipeStateError):
        recipe_close(recipe=recipe, actor=actor)


def simulation_give_up(*, recipe: Recipe, error: BaseException, actor: AbstractBaseUser | None) -> None:
    """Close a simulation, and withhold its result unless it is there already.

    Args:
        error: what ended the command; only whether it was an interruption becomes public.
    """
    reason = FAILED if isinstance(error, Exception) else INTERRUPTED
    simulation_close(recipe=recipe, actor=actor)
    with suppress(RecipeStateError):
        result_withhold(recipe=recipe, reason=reason, actor=actor)
