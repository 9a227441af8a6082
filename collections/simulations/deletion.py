"""Deleting a private simulation, of a recipe or of a series, with everything that is stored of it."""

from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ManyToOneRel, Model, QuerySet

from log.audit.operations import entry_append
from recipes.models import Recipe
from reports.partitions import REPORTS
from results.models import Release
from series.models import Round, Series
from simulations.actions import SIMULATION_DELETED
from simulations.errors import SimulationRefusedError
from simulations.models import SeriesSimulation, Simulation
from simulations.operations import locked, simulation_cancel
from simulations.series_simulations import series_simulation_cancel


@transaction.atomic
def simulation_delete(*, simulation: Simulation, actor: User | None) -> None:
    """Delete a private simulation: its recipe, keys, reports, sums, result and devices, all or nothing. One
    that runs is cancelled first. The log keeps that there was one, and that it was deleted.

    Raises:
        SimulationRefusedError: it is public, and stays for good, or a round of a series, which is deleted as
            a whole; or it is deleted already.
    """
    if Round.objects.filter(recipe=simulation.recipe_id).exists():
        raise SimulationRefusedError("it is a round of a series, which can only be deleted as a whole")
    _simulation_delete(simulation, actor)


def series_simulation_delete(*, simulation: SeriesSimulation, actor: User | None) -> None:
    """Delete the private simulation of a series, with all of its rounds; as `simulation_delete`.

    Raises:
        SimulationRefusedError: it is public, and stays for good, or deleted already.
    """
    if not simulation.series.private:
        raise SimulationRefusedError("the simulation is public, and public series stay")
    with suppress(SimulationRefusedError):
        # Ahead of the transaction: then no further round begins.
        series_simulation_cancel(simulation=simulation, actor=actor)
    with transaction.atomic():
        simulation = locked(simulation)
        for own in Simulation.objects.filter(recipe__round__series=simulation.series_id):
            _simulation_delete(own, actor)
        _delete(Series.objects.filter(pk=simulation.series_id))


def _simulation_delete(simulation: Simulation, actor: User | None) -> None:
    # In this order everywhere: the simulation's row first.
    simulation = locked(simulation)
    recipe = Recipe.objects.select_for_update().get(pk=simulation.recipe_id)
    if not recipe.private:
        raise SimulationRefusedError("the simulation is public, and public recipes stay")
    if not Release.objects.filter(recipe=recipe).exists():
        # Keys, reports and sums go as at every end without a result.
        simulation_cancel(simulation=simulation, actor=actor)
    REPORTS.clear(recipe.pk)
    _delete(Recipe.objects.filter(pk=recipe.pk))
    entry_append(action=SIMULATION_DELETED, subject=simulation.subject, actor=actor, details={})


def _delete(rows: QuerySet[Any]) -> None:
    """Delete rows, and first all rows that point at them, of whatever app. The database refuses this of what
    belongs to a public recipe."""
    for relation in rows.model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel):
            model: type[Model] = relation.related_model
            # Those were cleared: on PostgreSQL directly after the commit.
            if model._meta.db_table not in _CLEARED:
                _delete(model._base_manager.filter(**{f"{relation.field.name}__in": rows}))
    # Without asking all pointing rows once more, and without loading any.
    rows._raw_delete(rows.db)


_CLEARED = {table.name for table in REPORTS.tables}
