"""What a helper says publicly about recipes with a joint key. How many reports it checked is in the published
result and in the list that it signed, and not here."""

from typing import Any

from joint_key.helper.models import JointRecipe
from panprivacy.formats.times import format_time
from partners.server_status import LATEST_ENTRIES, recipe_status, time_status


def recipes_status() -> list[dict[str, Any]]:
    """The latest recipes in which it takes part, newest first, as plain JSON values."""
    return [_public(row) for row in JointRecipe.objects.order_by("-pk")[:LATEST_ENTRIES]]


def _public(row: JointRecipe) -> dict[str, Any]:
    return {
        "identifier": row.identifier,
        "recipe": recipe_status(row.document),
        "state": row.state,
        "state_said": row.get_state_display(),
        "decrypted": row.part is not None,
        "created_at": format_time(row.created_at),
        "ended_at": time_status(row.ended_at),
        "outcome": row.outcome,
    }
