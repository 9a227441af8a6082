"""What a helper says of itself to everybody: its tasks, its keys and its log.

Who watches this page may also hold copies of a device's state and send reports made from them, which verify
or not depending on what is encrypted there. So of tasks of real devices, plain ones among them, it tells
neither how many reports verified nor how many were rejected, for whatever reason, before or after their end:
what is told is the exact count of a sum that was given out, in the log. Administrators see the rest with
`manage.py helper_tasks list`. Simulated devices have nothing to hide.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from dap.hpke_keys import HPKE_KEYS
from dap.models import Side, Task
from dap.operations import configuration_of
from dap.selectors import collected_among, counts_of, rejections_among
from panprivacy import base64_text
from panprivacy.coarse import coarse, coarse_rejections
from panprivacy.dap.vdafs import vdaf_name
from panprivacy.recipe import recipe_of
from panprivacy.times import format_time
from peers.required import required
from peers.server_status import recipe_status, server_status, time_status

UNTOLD: Mapping[str, Any] = {"reports": None, "rejections": None}
"""What there is to say of the reports of real devices."""


def status(tasks: Sequence[Task]) -> dict[str, Any]:
    """Everything that a page with these tasks shows, as plain JSON values."""
    return {
        **server_status(required(settings.HELPER_URL, "PANAPP_HELPER_URL")),
        "tasks": tasks_status(tasks),
        "hpke_keys": [
            {
                "id": key.config_id,
                "created_at": format_time(key.created_at),
                "retired_at": time_status(key.retired_at),
            }
            for key in HPKE_KEYS.known()
        ],
    }


def tasks_status(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Tasks as everybody may know them, in as many queries for a hundred as for one."""
    recipes = {task.pk: recipe_status(recipe_of(task.document)) for task in tasks if task.document}
    simulated = [task for task in tasks if task.pk in recipes and recipes[task.pk]["simulation"]]
    collected = collected_among(tasks)
    counts, rejections = counts_of(simulated), rejections_among(simulated, Side.HELPER)
    told = {task.pk: _told(task, counts.get(task.pk, 0), rejections.get(task.pk, {})) for task in simulated}
    return [
        {
            **_public(task, collected=task.pk in collected),
            "recipe": recipes.get(task.pk),
            **told.get(task.pk, UNTOLD),
        }
        for task in tasks
    ]


def _told(task: Task, count: int, rejections: Mapping[str, int]) -> Mapping[str, Any]:
    """What is told of the reports of simulated devices: live, but in coarse steps, as of the leader."""
    smallest = configuration_of(task).min_batch_size
    return {
        "reports": {"count": coarse(count, smallest), "at_least": count >= smallest},
        "rejections": coarse_rejections(rejections, smallest),
    }


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
