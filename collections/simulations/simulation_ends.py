"""The end of a simulation, also of one that was cancelled, interrupted or failed."""

from contextlib import suppress

from django.contrib.auth.models import User

from publishing.publication import recipe_close
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from results.operations import result_withhold
from simulations.models import DeviceChunk, Simulation
from storage import clock


def simulation_close(*, recipe: Recipe, actor: User | None) -> None:
    """Close a simulation, unless something else did: a helper's end, a full batch, the beat at its time."""
    with suppress(RecipeStateError):
        recipe_close(recipe=recipe, actor=actor)


def simulation_give_up(*, recipe: Recipe, reason: str, actor: User | None) -> None:
    """Close a simulation, and withhold its result unless it is there already.

    Args:
        reason: what ended it, as a clause; it is public.
    """
    simulation_close(recipe=recipe, actor=actor)
    with suppress(RecipeStateError):
        result_withhold(recipe=recipe, reason=reason, actor=actor)


def simulation_end(simulation: Simulation, state: Simulation.State, problem: str) -> None:
    simulation.state, simulation.problem = state, problem
    simulation.ended_at = clock.database_now()
    simulation.save(update_fields=("state", "problem", "ended_at"))
    DeviceChunk.objects.filter(simulation=simulation).delete()
