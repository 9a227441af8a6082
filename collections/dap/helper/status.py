"""What a helper says publicly about itself: its tasks, its keys and its log.

A reader of this page may also hold copies of a device's state and send reports made from them. Whether these
verify depends on what is encrypted there. So for no task, not even a plain one, does it show how many reports
verified or were rejected, for whatever reason, before or after its end. Administrators see both with
`manage.py helper_tasks list`.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from dap.hpke_keys import HPKE_KEYS
from dap.models import Task
from dap.operations import configuration_of
from dap.selectors import collected_among
from panprivacy.formats import base64_text
from panprivacy.formats.times import format_time
from panprivacy.protocols.dap.vdafs import vdaf_name
from partners.required_settings import required
from partners.server_status import recipe_status, server_status, time_status


def status(tasks: Sequence[Task]) -> dict[str, Any]:
    """Everything that a page with these tasks shows, as plain JSON values."""
    return {
        **server_status(required(settings.HELPER_URL, "PANAPP_HELPER_URL")),
        "tasks": tasks_status(tasks),
        "hpke_keys": [
            {
                "id": key.config_id,
                "kem": key.kem,
                "created_at": format_time(key.created_at),
                "retired_at": time_status(key.retired_at),
            }
            for key in HPKE_KEYS.known()
        ],
    }


def tasks_status(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Tasks as the public may see them, in as many queries for a hundred as for one."""
    recipes = {task.pk: recipe_status(task.document) for task in tasks if task.document}
    collected = collected_among(tasks)
    return [
        {**_public(task, collected=task.pk in collected), "recipe": recipes.get(task.pk)} for task in tasks
    ]


def _public(task: Task, *, collected: bool) -> dict[str, Any]:
    configuration = configuration_of(task)
    return {
        "identifier": bytes(task.task_id).hex(),
        "task_id": base64_text.encode_url(bytes(task.task_id)),
        "vdaf_type": configuration.vdaf_type,
        "vdaf": vdaf_name(configuration.vdaf_type),
        "cohort_size": configuration.min_batch_size,
        "leader": task.peer_url,
        "state": task.state,
        "state_said": task.get_state_display(),
        "collected": collected,
        "created_at": format_time(task.created_at),
        "ended_at": time_status(task.ended_at),
        "outcome": task.outcome,
    }
