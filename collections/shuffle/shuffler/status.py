"""What a shuffler says publicly about itself: its recipes, how full they are in coarse steps, its log."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from panprivacy.formats.rounded_counts import rounded_count
from panprivacy.formats.times import format_time
from partners.required_settings import required
from partners.server_status import recipe_status, server_status, time_status
from shuffle.shuffler.models import Batch


def status(batches: Sequence[Batch]) -> dict[str, Any]:
    """Everything that a page with these batches shows, as plain JSON values."""
    return {
        **server_status(required(settings.SHUFFLER_URL, "PANAPP_SHUFFLER_URL")),
        "batches": [_public(batch) for batch in batches],
    }


def _public(batch: Batch) -> dict[str, Any]:
    return {
        "identifier": batch.identifier,
        **recipe_status(batch.document),
        "cohort_size": batch.cohort_size,
        # A reader must not see that one more device has sent, unless the reader sends messages too
        # (rounded_counts.py).
        "users": rounded_count(batch.users, batch.cohort_size),
        "full": batch.was_full,
        "state": batch.state,
        "state_said": batch.get_state_display(),
        "created_at": format_time(batch.created_at),
        "ended_at": time_status(batch.ended_at),
        "outcome": batch.outcome,
    }
