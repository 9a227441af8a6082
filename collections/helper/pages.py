"""The helper's tasks, keys and log, for everybody."""

from dap.models import Side, Task
from dap.status_pages import StatusPages
from helper.status import status

PAGES = StatusPages("helper", lambda: Task.objects.filter(side=Side.HELPER).order_by("-pk"), status)
