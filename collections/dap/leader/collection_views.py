"""Collection jobs of an external collector, by requests that it signs."""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from dap.errors import TaskEndedError
from dap.http import about_task, empty_response, require_message_type
from dap.leader.collection import collection_job_create, collection_job_delete
from dap.leader.errors import CollectionRefusedError
from dap.leader.models import CollectionJob, Collector
from dap.leader.views import task_of
from dap.models import Task
from dap.operations import configuration_of
from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.collection import CollectionJobReq, CollectionJobResp, InvalidExtensionError
from panprivacy.protocols.dap.media import PROBLEMS, media_type
from partners.problems import dap_problem
from partners.signed_views import signed
from storage.columns import stored_bytes
from web.failures import View
from web.problems import RETRY_SECONDS, Problem, not_found

LARGEST_BODY = 64 * 1024


def for_collector(*methods: str) -> Callable[[View], View]:
    """A view for the collector of the task in its address only. It is called with the request's body,
    whose signature holds; every answer is signed by us."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        def answer(request: HttpRequest, task_id: bytes, **arguments: Any) -> HttpResponse:
            guarded = signed(
                methods=methods,
                peer_key=lambda: _collector_key(task_id),
                base_url=lambda: _base_url(task_of(task_id)),
                most=lambda: LARGEST_BODY,
                about=about_task,
            )(view)
            return guarded(request, task_id=task_id, **arguments)

        return answer

    return decorate


@for_collector("POST")
def collection_jobs(request: HttpRequest, body: bytes, task_id: bytes) -> HttpResponse:
    """Begin a collection job, or find it."""
    require_message_type(request, CollectionJobReq)
    try:
        query = CollectionJobReq.decode(body)
        job = collection_job_create(task=task_of(task_id), request=query, now=timezone.now())
    except InvalidExtensionError as error:
        raise dap_problem("invalidExtension", str(error)) from None
    except InvalidMessageError as error:
        raise dap_problem("invalidMessage", str(error)) from None
    except CollectionRefusedError as error:
        raise dap_problem(error.problem, error.detail) from None
    except TaskEndedError as error:
        raise Problem("task-ended", "The task has ended", 409, str(error)) from None
    return _represent(job)


@for_collector("GET", "DELETE")
def collection_job(request: HttpRequest, body: bytes, task_id: bytes, job_id: bytes) -> HttpResponse:
    """The state of the job; or delete it."""
    jobs = CollectionJob.objects.select_related("task").filter(task=task_of(task_id))
    job = jobs.filter(pk=uuid.UUID(bytes=job_id)).first()
    if job is not None and request.method == "DELETE":
        collection_job_delete(job=job)
        return empty_response()
    if job is None or job.state == CollectionJob.State.DELETED:
        raise not_found("There is no collection job with this identifier.")
    return _represent(job)


def _represent(job: CollectionJob) -> HttpResponse:
    if job.state == CollectionJob.State.FAILED:
        if job.problem in PROBLEMS:
            raise dap_problem(job.problem, job.detail)
        raise Problem("helper-refused", "The helper refused", 400, job.detail)
    if job.state == CollectionJob.State.READY:
        response = HttpResponse(stored_bytes(job.response), content_type=media_type(CollectionJobResp))
    else:
        response = empty_response()
        response["Retry-After"] = str(RETRY_SECONDS)
    address = f"{_base_url(job.task)}/tasks/{base64_text.encode_url(bytes(job.task.task_id))}"
    response["Location"] = f"{address}/collection_jobs/{base64_text.encode_url(job.pk.bytes)}"
    return response


def _collector_key(task_id: bytes) -> bytes:
    collector = Collector.objects.filter(task=task_of(task_id)).first()
    if collector is None or collector.verification_key is None:
        detail = "This task has no collector that asks over the network."
        raise Problem("no-collector", "There is no such collector", 403, detail)
    return bytes(collector.verification_key)


def _base_url(task: Task) -> str:
    return configuration_of(task).leader_aggregator_endpoint
