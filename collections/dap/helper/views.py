"""The helper's resources for leaders: ours for one that signs, and DAP's in the dialect of each task."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dap.errors import IdentifierTakenError, TaskConflictError, TaskEndedError
from dap.helper.aggregate_shares import aggregate_share_release
from dap.helper.aggregation_jobs import aggregation_job_create
from dap.helper.answers import answer_named
from dap.helper.limits import AGGREGATE_SHARE_BYTES, AGGREGATION_JOB_BYTES, COUNT_BYTES, REGISTRATION_BYTES
from dap.helper.models import AggregationJob, Answer, ReleasedShare
from dap.helper.registrations import (
    decode_bytes,
    plain_task_register,
    recipe_task_register,
    share_key_make,
)
from dap.helper.report_count import count_sign, decode_count
from dap.helper.task_ends import helper_task_end, upkeep
from dap.http import ITEM, LIST, Caller, Methods, about_task, for_caller, require_message_type
from dap.models import Side, Task
from dap.operations import dialect_of, task_named, task_peer_token
from dap.selectors import is_any_collected, rejections_of, report_count
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.tls_messages import InvalidMessageError, Message
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
)
from panprivacy.protocols.dap.collection import AggregateShare, AggregateShareReq
from panprivacy.protocols.dap.dialects import DRAFT_18
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.tokens import TokenHash
from partners.json_bodies import json_response, read_json
from partners.problems import conflict, dap_problem, refused
from partners.request_ids import request_of
from partners.required_settings import required
from partners.signed_views import signed
from storage import clock
from storage.columns import stored
from web.failures import View
from web.problems import Problem, not_found

RECIPE_MEMBERS = {"document", "request", "verify_key", "collector_hpke_config"}
ROUND_MEMBERS = {*RECIPE_MEMBERS, "rounds"}
PLAIN_MEMBERS = {"task_configuration", "verify_key", "collector_hpke_config"}


def _for_leader(*methods: str, most: int) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        return signed(
            methods=methods,
            peer_key=_leader_key,
            base_url=_own_url,
            most=_at_most(most),
            about=about_task,
        )(view)

    return decorate


def _leader_key() -> bytes:
    if settings.LEADER_KEY is None:
        raise Problem("no-leader", "There is no such leader", 403, "No leader that signs is set up here.")
    return settings.LEADER_KEY


def _of_task(view: View) -> View:
    """Hands the view its task, and answers its refusals. A task that has ended is unknown, but the answer
    still gives the reason why it ended.
    """

    @wraps(view)
    def with_task(request: HttpRequest, body: bytes, *, task_id: bytes, **arguments: bytes) -> HttpResponse:
        try:
            return view(request, body, task=_task(task_id), **arguments)
        except TaskEndedError as error:
            raise dap_problem("unrecognizedTask", f"The task has ended: {error}") from None
        except IdentifierTakenError as error:
            raise conflict(str(error)) from None

    return with_task


def _leader(task_id: bytes) -> Caller:
    """The leader of a task."""
    task = task_named(task_id=task_id, side=Side.HELPER)
    dialect = DRAFT_18 if task is None else dialect_of(task)
    return Caller(
        dialect=dialect,
        peer_key=_leader_key,
        base_url=_own_url,
        token=None if task is None or dialect.is_signed else lambda: _token_of(task),
    )


def _of_task_in_its_dialect(*methods: Methods, most: int) -> Callable[[View], View]:
    """A resource of DAP, for the leader of the task in its address. The view is called as by `_of_task`."""

    def decorate(view: View) -> View:
        return for_caller(_leader, *methods, most=_at_most(most))(_of_task(view))

    return decorate


def _own_url() -> str:
    return required(settings.HELPER_URL, "PANAPP_HELPER_URL")


def _at_most(most: int) -> Callable[[], int]:
    return lambda: min(most, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def _token_of(task: Task) -> TokenHash:
    try:
        return TokenHash.from_bytes(stored(task_peer_token(task)))
    except TaskEndedError:  # its token is deleted: the reason is for those who bear it
        raise dap_problem("unrecognizedTask", "The task has ended.") from None


def _task(task_id: bytes) -> Task:
    task = task_named(task_id=task_id, side=Side.HELPER)
    if task is None:
        raise dap_problem("unrecognizedTask", "This helper does not take part in the task.")
    return task


def _signed(task: Task) -> Task:
    """A task of the leader that signs. Those of others are not its own."""
    if not dialect_of(task).is_signed:
        raise dap_problem("unrecognizedTask", "This helper does not take part in the task.")
    return task


@_for_leader("POST", most=REGISTRATION_BYTES)
def keys(request: HttpRequest, body: bytes) -> HttpResponse:
    """A key pair for the shares of a recipe that is about to be published."""
    content = read_json(request, body, {"request", "encryption"})
    now = timezone.now()
    upkeep(now=clock.settled_now())
    public = share_key_make(request=request_of(content["request"]), scheme=content["encryption"], now=now)
    return json_response({"public_key": public})


@_for_leader("GET", "PUT", "DELETE", most=REGISTRATION_BYTES)
def task(request: HttpRequest, body: bytes, *, task_id: bytes) -> HttpResponse:
    """Taking part in a task, its state, and its end."""
    if request.method == "PUT":
        try:
            return _task_put(request, body, task_id)
        except FieldError as error:
            raise refused(f"{error}.") from None
        except TaskConflictError:
            raise conflict("A task with this identifier exists, and differs.") from None
        except TaskEndedError as error:
            raise conflict(f"The task has ended: {error}") from None
    if request.method == "DELETE":
        reason = read_json(request, body, {"reason"})["reason"]
        helper_task_end(task=_signed(_task(task_id)), reason=reason, now=timezone.now())
        return json_response({})
    found = _signed(_task(task_id))
    return json_response(
        {
            "state": found.state,
            "report_count": report_count(found),
            "collected": is_any_collected(found),
            "rejections": rejections_of(found, Side.HELPER),
            "outcome": found.outcome,
        }
    )


def _task_put(request: HttpRequest, body: bytes, task_id: bytes) -> HttpResponse:
    is_plain = b'"task_configuration"' in body
    of_recipe = ROUND_MEMBERS if b'"rounds"' in body else RECIPE_MEMBERS
    content = read_json(request, body, PLAIN_MEMBERS if is_plain else of_recipe)
    verify_key = decode_bytes("verify_key", content["verify_key"])
    collector_config = decode_bytes("collector_hpke_config", content["collector_hpke_config"])
    now = timezone.now()
    upkeep(now=clock.settled_now())
    if is_plain:
        plain_task_register(
            task_id=task_id,
            configuration=decode_bytes("task_configuration", content["task_configuration"]),
            verify_key=verify_key,
            collector_config=collector_config,
            now=now,
        )
        return json_response({})
    signature = recipe_task_register(
        task_id=task_id,
        document=content["document"],
        request=request_of(content["request"]),
        verify_key=verify_key,
        collector_config=collector_config,
        rounds=content.get("rounds", ""),
        now=now,
    )
    return json_response({"signature": base64_text.encode(signature)})


@_for_leader("POST", most=COUNT_BYTES)
@_of_task
def count(request: HttpRequest, body: bytes, *, task: Task) -> HttpResponse:
    """Our signature of the number of reports that is published."""
    reports = decode_count(read_json(request, body, {"reports"})["reports"])
    signature = count_sign(task=_signed(task), reports=reports)
    return json_response({"report_count": report_count(task), "signature": base64_text.encode(signature)})


@_of_task_in_its_dialect(LIST, most=AGGREGATION_JOB_BYTES)
def aggregation_jobs(request: HttpRequest, body: bytes, *, task: Task) -> HttpResponse:
    """Create an aggregation job, or find it again."""
    return _create_job(request, body, task)


@_of_task_in_its_dialect(ITEM, lambda _: ("POST",), most=AGGREGATION_JOB_BYTES)
def aggregation_job(request: HttpRequest, body: bytes, *, task: Task, resource_id: bytes) -> HttpResponse:
    """An aggregation job: always finished, since every VDAF here takes one round."""
    if request.method == "PUT":
        return _create_job(request, body, task, resource_id)
    answer = _stored(AggregationJob, task, resource_id)
    if answer is None:
        raise dap_problem("unrecognizedAggregationJob", "This task has no such aggregation job.")
    if request.method == "POST":
        require_message_type(request, AggregationJobContinueReq)
        try:
            AggregationJobContinueReq.decode(dialect_of(task).read(AggregationJobContinueReq, body))
        except InvalidMessageError as error:
            raise dap_problem("invalidMessage", str(error)) from None
        raise dap_problem("stepMismatch", "The job is finished after its first step.")
    return _kept(request, task, AggregationJobResp, answer)


def _create_job(request: HttpRequest, body: bytes, task: Task, chosen: bytes | None = None) -> HttpResponse:
    require_message_type(request, AggregationJobInitReq)
    try:
        body = dialect_of(task).read(AggregationJobInitReq, body)
    except InvalidMessageError as error:
        raise dap_problem("invalidMessage", str(error)) from None
    job_id, answer = aggregation_job_create(task=task, body=body, now=timezone.now(), chosen=chosen)
    return _created(request, task, job_id, AggregationJobResp, answer)


@_of_task_in_its_dialect(LIST, most=AGGREGATE_SHARE_BYTES)
def aggregate_shares(request: HttpRequest, body: bytes, *, task: Task) -> HttpResponse:
    """Collect a batch, or find its share again."""
    return _release_share(request, body, task)


@_of_task_in_its_dialect(ITEM, most=AGGREGATE_SHARE_BYTES)
def aggregate_share(request: HttpRequest, body: bytes, *, task: Task, resource_id: bytes) -> HttpResponse:
    """A share that was released."""
    if request.method == "PUT":
        return _release_share(request, body, task, resource_id)
    answer = _stored(ReleasedShare, task, resource_id)
    if answer is None:
        raise not_found("This task has no such aggregate share.")
    return _kept(request, task, AggregateShare, answer)


def _release_share(
    request: HttpRequest, body: bytes, task: Task, chosen: bytes | None = None
) -> HttpResponse:
    require_message_type(request, AggregateShareReq)
    share_id, answer = aggregate_share_release(task=task, body=body, chosen=chosen)
    return _created(request, task, share_id, AggregateShare, answer)


def _stored(kind: type[Answer], task: Task, resource_id: bytes) -> bytes | None:
    if task.state == Task.State.ENDED:
        raise TaskEndedError(task.outcome)
    return answer_named(kind, task=task, resource_id=resource_id)


def _created(
    request: HttpRequest, task: Task, resource_id: bytes, message: type[Message], answer: bytes
) -> HttpResponse:
    dialect = dialect_of(task)
    response = HttpResponse(dialect.write(message, answer), content_type=media_type(message))
    if dialect.names_resources:
        response.status_code = 201
    else:
        response["Location"] = f"{request.path}/{base64_text.encode_url(resource_id)}"
    return response


def _kept(request: HttpRequest, task: Task, message: type[Message], answer: bytes) -> HttpResponse:
    """GET answers with it. DELETE is recorded and deletes nothing: the request may still be on its way a
    second time, and must then find the same answer. It is deleted when the task ends."""
    if request.method == "DELETE":
        return HttpResponse(b"", content_type=media_type(message))
    return HttpResponse(dialect_of(task).write(message, answer), content_type=media_type(message))
