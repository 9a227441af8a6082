"""Collection jobs of an external collector, by requests that it signs, or that bear its token."""

import uuid
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from dap.errors import TaskEndedError
from dap.http import about_task, empty_response, require_message_type
from dap.leader.collection import collection_job_create, collection_job_delete, collection_job_key
from dap.leader.errors import CollectionRefusedError, IdentifierTakenError
from dap.leader.models import CollectionJob, Collector
from dap.leader.operations import collector_token
from dap.leader.views import task_of
from dap.models import Task
from dap.operations import configuration_of
from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.collection import CollectionJobReq, CollectionJobResp, InvalidExtensionError
from panprivacy.protocols.dap.dialects import DRAFT_18, JANUS, Dialect
from panprivacy.protocols.dap.media import PROBLEMS, media_type
from partners.problems import conflict, dap_problem
from partners.signed_views import bearing_token, signed
from storage.columns import stored_bytes
from web.failures import View
from web.problems import RETRY_SECONDS, Problem, not_found

LARGEST_BODY = 64 * 1024


def for_collector(methods: Callable[[Dialect], tuple[str, ...]]) -> Callable[[View], View]:
    """A view for the collector of the task in its address only. It is called with the request's body,
    whose signature holds, and every answer is signed by us; or the request bears the collector's token.

    Args:
        methods: HTTP methods of the resource in a dialect.
    """

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        def answer(request: HttpRequest, task_id: bytes, **arguments: Any) -> HttpResponse:
            collector = Collector.objects.select_related("task").filter(task__task_id=task_id).first()
            dialect = _dialect(collector)
            if collector is None or dialect.is_signed:
                guarded = signed(
                    methods=methods(dialect),
                    peer_key=lambda: _collector_key(task_id),
                    base_url=lambda: _base_url(task_of(task_id)),
                    most=lambda: LARGEST_BODY,
                    about=about_task,
                )(view)
            else:
                guarded = bearing_token(
                    methods=methods(dialect),
                    token=lambda: collector_token(collector),
                    most=lambda: LARGEST_BODY,
                    about=about_task,
                )(view)
            return guarded(request, task_id=task_id, **arguments)

        return answer

    return decorate


def _dialect(collector: Collector | None) -> Dialect:
    return DRAFT_18 if collector is None or collector.token is None else JANUS


@for_collector(attrgetter("list_methods"))
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


@for_collector(attrgetter("item_methods"))
def collection_job(request: HttpRequest, body: bytes, task_id: bytes, job_id: bytes) -> HttpResponse:
    """The state of the job; or begin it, if the collector chose its identifier; or delete it."""
    if request.method == "PUT":
        response = _represent(_create(request, body, task_id, job_id))
        response.status_code = 201
        return response
    task = task_of(task_id)
    chooses = _dialect(Collector.objects.filter(task=task).first()).names_resources
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
    return configuration_of(task).leader_aggregator_endpoint.removesuffix("/")
