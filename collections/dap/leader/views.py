"""Views for uploads of reports: plain ones, because this is the hot path."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from dap.http import about_task, empty_response, require_message_type
from dap.leader.upload_limits import upload_check
from dap.leader.uploads import reports_upload
from dap.limits import TooManyReportsError
from dap.models import Side, Task
from dap.operations import task_named
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.upload import UploadErrors, UploadRequest
from partners.problems import dap_problem
from storage.group_commit import QueueFullError, RowHeldError
from storage.kept_rows import KeptRows
from web.bodies import read_body
from web.failures import receiving
from web.problems import Problem, not_found, unavailable


def task_of(task_id: bytes) -> Task:
    """The leader's half of a task. Raises Problem `unrecognizedTask`."""
    task = task_named(task_id=task_id, side=Side.LEADER)
    if task is None:
        raise dap_problem("unrecognizedTask", "This leader has no task with this identifier.")
    return task


TASKS: KeptRows[bytes, Task] = KeptRows(task_of, lambda task: task.state == Task.State.OPEN)
"""Tasks that were open when they were read. Whether one still is open is checked when its reports are stored.
"""


UNDONE = "The reports were not stored. Send them again."


@receiving(undone=UNDONE, about=about_task)
def reports(request: HttpRequest, task_id: bytes) -> HttpResponse:
    """Take in reports; answer with the reason for each rejected one."""
    task = TASKS.get(task_id)
    require_message_type(request, UploadRequest)
    body = read_body(request, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    try:
        upload_check(body)
        uploaded = UploadRequest.decode(body).reports
    except TooManyReportsError as error:
        raise Problem("too-many-reports", "The upload is too large", 413, str(error)) from None
    except InvalidMessageError as error:
        raise dap_problem("invalidMessage", str(error)) from None
    try:
        rejected = reports_upload(task=task, reports=uploaded, now=timezone.now())
    except QueueFullError:
        raise unavailable(f"Too many uploads arrive at once. {UNDONE}") from None
    except RowHeldError:
        raise unavailable(f"The task is being changed. {UNDONE}") from None
    if not rejected:
        return empty_response()
    return HttpResponse(UploadErrors(tuple(rejected)).encode(), content_type=media_type(UploadErrors))


@csrf_exempt
def nothing(request: HttpRequest) -> HttpResponse:
    """The answer if there is no resource."""
    return not_found("No resource of a leader has this address.").response()
