"""What a shuffler says of itself to everybody: its recipes, how full they are in coarse steps, its log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from panprivacy.coarse import coarse
from panprivacy.recipe import format_time
from peers.server_status import server_status
from shuffler.models import Batch
from shuffler.registering import recipe_of


def status(batches: Sequence[Batch]) -> dict[str, Any]:
    """Everything that a page with these batches shows, as plain JSON values."""
    return {
        **server_status(settings.SHUFFLER_URL),
        "batches": [_public(batch) for batch in batches],
    }


def _public(batch: Batch) -> dict[str, Any]:
    recipe = recipe_of(batch.document)
    return {
        "identifier": batch.identifier,
        "name": recipe.name,
        "question": recipe.question,
        "statistic": recipe.statistic,
        "epsilon": getattr(recipe.parameters, "epsilon", None),
        "simulation": recipe.simulation,
        "closes_at": format_time(recipe.closes_at),
        "cohort_size": batch.cohort_size,
        # Nobody is to see here that one device more has come, unless they send messages too (coarse.py).
        "users": coarse(batch.users, batch.cohort_size),
        "full": batch.was_full,
        "state": batch.state,
        "state_said": batch.get_state_display(),
        "created_at": format_time(batch.created_at),
        "ended_at": _time(batch.ended_at),
        "outcome": batch.outcome,
    }


def _time(time: datetime | None) -> str | None:
    return None if time is None else format_time(time)
