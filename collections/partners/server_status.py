"""The common part of the public status of a partner server, such as a helper or a shuffler."""

import json
from datetime import datetime
from typing import Any

from django.conf import settings

from log.audit.models import Entry
from panprivacy.formats import base64_text
from panprivacy.formats.times import format_time
from storage.signing_key import verification_key

LATEST_ENTRIES = 50

TOLD = ("name", "question", "statistic", "epsilon", "cohort_size", "closes_at", "simulation")
"""Fields of a recipe's document; some recipes have no `epsilon`."""


def server_status(url: str) -> dict[str, Any]:
    """Address, key, smallest cohort and the end of the log, as plain JSON values.

    Args:
        url: the server's own base address.
    """
    return {
        "url": url,
        "verification_key": base64_text.encode(verification_key().public_bytes_raw()),
        "smallest_cohort": settings.SMALLEST_COHORT,
        "log": [
            {
                "index": entry.index,
                "at": format_time(entry.at),
                "action": entry.action,
                "said": entry.get_action_display(),
                "subject": entry.subject,
                "details": entry.details,
                "hash": entry.entry_hash,
            }
            for entry in Entry.objects.order_by("-index")[:LATEST_ENTRIES]
        ],
    }


def recipe_status(document: str) -> dict[str, Any]:
    """What is shown of a recipe that the server takes part in, as plain JSON values: as in its document, even
    if another version wrote that and the rest cannot be read here."""
    members = json.loads(document)
    return {name: members.get(name) for name in TOLD}


def time_status(time: datetime | None) -> str | None:
    """A time that may be in the future, in its JSON form."""
    return None if time is None else format_time(time)
