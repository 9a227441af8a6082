"""Where clients come with their reports: plain views, because this is the hot path."""

import structlog
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from dap.http import DapProblem, empty_response, read_body, require_message_type
from dap.models import Side, Task
from dap.operations import task_named
from leader.upload_limits import UploadTooLargeError, upload_check
from leader.uploads import reports_upload
from panprivacy.dap.codec import InvalidMessageError
from panprivacy.dap.media import media_type
from panprivacy.dap.upload import UploadErrors, UploadRequest

logger = structlog.get_logger(__name__)


def task_of(task_id: bytes) -> Task:
    """The leader's half of a task. Raises DapProblem `unrecognizedTask`."""
    task = task_named(task_id=task_id, side=Side.LEADER)
    if task is None:
        raise DapProblem.of("unrecognizedTask", "This leader has no task with this identifier.")
    return task


@csrf_exempt  # nothing here depends on a session: there is nothing to forge
def reports(request: HttpRequest, task_id: bytes) -> HttpResponse:
    """Take in reports; say of each that was not taken why."""
    try:
        return _upload(request, task_of(task_id))
    except DapProblem as problem:
        response = problem.about(task_id).response()
        if problem.status == 405:
            response["Allow"] = "POST"
        return response
    except OperationalError:
        # Nothing was stored: the transaction is whole or not at all. Sending again is safe.
        logger.exception("database_unavailable")
        detail = "The reports were not stored. Send them again."
        return DapProblem.plain("unavailable", "The server is busy", 503, detail).response()


@csrf_exempt
def nothing(request: HttpRequest) -> HttpResponse:
    """The answer where there is no resource."""
    detail = "No resource of a leader has this address."
    return DapProblem.plain("not-found", "There is nothing here", 404, detail).response()


def _upload(request: HttpRequest, task: Task) -> HttpResponse:
    if request.method != "POST":
        raise DapProblem.plain("method-not-allowed", "The method is not allowed", 405, "Allowed: POST.")
    require_message_type(request, UploadRequest)
    body = read_body(request, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    try:
        upload_check(body)
        uploaded = UploadRequest.decode(body).reports
    except UploadTooLargeError as error:
        raise DapProblem.plain("too-many-reports", "The upload is too large", 413, str(error)) from None
    except InvalidMessageError as error:
        raise DapProblem.of("invalidMessage", str(error)) from None
    rejected = reports_upload(task=task, reports=uploaded, now=timezone.now())
    if not rejected:
        return empty_response()
    return HttpResponse(UploadErrors(tuple(rejected)).encode(), content_type=media_type(UploadErrors))
