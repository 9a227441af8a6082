"""Collection jobs of an external collector, by requests that it signs, or that bear its token."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dap.errors import IdentifierTakenError, TaskEndedError
from dap.http import ITEM, LIST, Caller, empty_response, for_caller, require_message_type
from dap.leader.collection import collection_job_create, collection_job_delete, collection_job_key
from dap.leader.errors import CollectionRefusedError
from dap.leader.models import CollectionJob, Collector
from dap.leader.operations import collector_dialect, collector_token
from dap.leader.views import task_of
from dap.models import Task
from dap.operations import configuration_of
from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.collection import CollectionJobReq, CollectionJobResp, InvalidExtensionError
from panprivacy.protocols.dap.dialects import DRAFT_18
from panprivacy.protocols.dap.media import PROBLEMS, media_type
from panprivacy.protocols.dap.task import base_address
from partners.problems import conflict, dap_problem
from storage.columns import stored_bytes
from web.problems import RETRY_SECONDS, Problem, not_found

LARGEST_BODY = 64 * 1024


def _collector(task_id: bytes) -> Caller:
    """The collector of a task."""
    collector = Collector.objects.select_related("task").filter(task__task_id=task_id).first()
    dialect = DRAFT_18 if collector is None else collector_dialect(collector)
    return Caller(
        dialect=dialect,
        peer_key=lambda: _collector_key(task_id),
        base_url=lambda: _base_url(task_of(task_id)),
        token=None if collector is None or dialect.is_signed else lambda: collector_token(collector),
    )


@for_caller(_collector, LIST, most=lambda: LARGEST_BODY)
def collection_jobs(request: HttpRequest, body: bytes, task_id: bytes) -> HttpResponse:
    """Begin a collection job, or find it."""
    job = _create(request, body, task_id)
    return _located(job, _represent(job))


def _create(request: HttpRequest, body: bytes, task_id: bytes, chosen: bytes | None = None) -> CollectionJob:
    require_message_type(request, CollectionJobReq)
    try:
        query = CollectionJobReq.decode(body)
        return collection_job_create(task=task_of(task_id), request=query, now=timezone.now(), chosen=chosen)
    except InvalidExtensionError as error:
        raise dap_problem("invalidExtension", str(error)) from None
    except InvalidMessageError as error:
        raise dap_problem("invalidMessage", str(error)) from None
    except CollectionRefusedError as error:
        raise dap_problem(error.problem, error.detail) from None
    except TaskEndedError as error:
        raise Problem("task-ended", "The task has ended", 409, str(error)) from None
    except IdentifierTakenError as error:
        raise conflict(str(error)) from None


@for_caller(_collector, ITEM, most=lambda: LARGEST_BODY)
def collection_job(request: HttpRequest, body: bytes, task_id: bytes, job_id: bytes) -> HttpResponse:
    """The state of the job; or begin it, if the collector chose its identifier; or delete it."""
    if request.method == "PUT":
        response = _represent(_create(request, body, task_id, job_id))
        response.status_code = 201
        return response
    task = task_of(task_id)
    collector = Collector.objects.filter(task=task).first()
    chooses = collector is not None and collector_dialect(collector).names_resources
    key = collection_job_key(task=task, chosen=job_id) if chooses else uuid.UUID(bytes=job_id)
    job = CollectionJob.objects.select_related("task").filter(task=task, pk=key).first()
    if job is not None and request.method == "DELETE":
        collection_job_delete(job=job)
        return empty_response()
    if job is None or job.state == CollectionJob.State.DELETED:
        raise not_found("There is no collection job with this identifier.")
    return _represent(job) if chooses else _located(job, _represent(job))


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
    return response


def _located(job: CollectionJob, response: HttpResponse) -> HttpResponse:
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
    return base_address(configuration_of(task).leader_aggregator_endpoint)
