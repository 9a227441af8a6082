"""What a helper says of itself to everybody: its tasks, its keys and its log.

Who watches this page may also hold copies of a device's state and send reports made from them. So counts
are coarse until the sum they belong to is out, and reports that failed verification, of which the count
could answer a question about what is encrypted in such a copy, are not told of while the task runs.
"""

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings

from audit.models import Entry
from dap.http import own_verification_key
from dap.models import Side, Task
from dap.operations import configuration_of
from dap.selectors import hpke_keys_known, is_any_collected, rejections_of, report_count
from panprivacy.coarse import coarse, coarse_rejections
from panprivacy.dap.basics import ReportError
from panprivacy.recipe import Recipe, format_time

FOUND_BY_VERIFICATION = frozenset({ReportError.VDAF_VERIFY_ERROR.reason, ReportError.INVALID_MESSAGE.reason})
"""Reasons that depend on what is inside a share."""

LATEST_ENTRIES = 50
TASKS_SHOWN = 200


def status() -> dict[str, Any]:
    """Everything that the page shows, as plain JSON values."""
    tasks = Task.objects.filter(side=Side.HELPER).order_by("-pk")[:TASKS_SHOWN]
    return {
        "url": settings.HELPER_URL,
        "verification_key": base64.b64encode(own_verification_key()).decode(),
        "smallest_cohort": settings.SMALLEST_COHORT,
        "tasks": [task_status(task) for task in tasks],
        "hpke_keys": [
            {
                "id": key.config_id,
                "created_at": format_time(key.created_at),
                "retired_at": _time(key.retired_at),
            }
            for key in hpke_keys_known()
        ],
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


def task_status(task: Task) -> dict[str, Any]:
    """One task, as everybody may know it."""
    configuration = configuration_of(task)
    smallest = configuration.min_batch_size
    count, collected = report_count(task), is_any_collected(task)
    return {
        "identifier": bytes(task.task_id).hex(),
        "recipe": _recipe(task.document) if task.document else None,
        "vdaf_type": configuration.vdaf_type,
        "cohort_size": smallest,
        "leader": task.peer_url,
        "state": task.state,
        "state_said": task.get_state_display(),
        # A batch that was collected has its exact count in the log, of the moment when it was.
        "reports": {"count": coarse(count, smallest), "at_least": count >= smallest},
        "collected": collected,
        "rejections": _public_rejections(task, smallest),
        "created_at": format_time(task.created_at),
        "ended_at": _time(task.ended_at),
        "outcome": task.outcome,
    }


def _public_rejections(task: Task, cohort_size: int) -> dict[str, int]:
    hidden = frozenset() if task.state == Task.State.ENDED else FOUND_BY_VERIFICATION
    counts = rejections_of(task, Side.HELPER)
    shown = {reason: count for reason, count in counts.items() if reason not in hidden}
    return coarse_rejections(shown, cohort_size)


@lru_cache(maxsize=256)
def _recipe(document: str) -> Mapping[str, Any]:
    recipe = Recipe.from_document(json.loads(document))
    return {
        "name": recipe.name,
        "question": recipe.question,
        "statistic": recipe.statistic,
        "epsilon": getattr(recipe.parameters, "epsilon", None),
        "closes_at": format_time(recipe.closes_at),
    }


def _time(time: datetime | None) -> str | None:
    return None if time is None else format_time(time)
