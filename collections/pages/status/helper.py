"""The helper's tasks, keys and log, for the public."""

from dap.helper.status import status
from dap.models import Side, Task
from pages.status.server import StatusPages

PAGES = StatusPages("helper", lambda: Task.objects.filter(side=Side.HELPER).order_by("-pk"), status)
