"""The helper's tasks, recipes with a joint key, keys and log, for the public."""

from collections.abc import Sequence
from typing import Any

from dap.helper.status import status
from dap.models import Side, Task
from joint_key.helper.status import recipes_status
from pages.status.server import StatusPages


def _status(tasks: Sequence[Task]) -> dict[str, Any]:
    return {**status(tasks), "joint_recipes": recipes_status()}


PAGES = StatusPages("helper", lambda: Task.objects.filter(side=Side.HELPER).order_by("-pk"), _status)
