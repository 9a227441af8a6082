"""`task create`, `list`, `collect`, `end`, `export` and `import`: DAP tasks of plain Prio3 shares."""

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dap.errors import TaskConflictError, TaskEndedError
from dap.identifiers import readable_arguments, task_id_of
from dap.leader.aggregation import aggregation_job_drive
from dap.leader.collection import collection_job_create, collection_job_delete, collection_job_drive
from dap.leader.errors import CollectionRefusedError, RegistrationOverError
from dap.leader.models import CollectionJob, Collector
from dap.leader.operations import task_end
from dap.leader.peers import peer_of
from dap.leader.periodic_check import tasks_advance
from dap.leader.plain_tasks import (
    BATCH_MODES,
    VDAFS,
    PlainTask,
    describe_task,
    helper_parameters,
    interval_of,
    janus_task_create,
    janus_task_import,
    plain_task_create,
)
from dap.leader.results import Refusal, TaskResult, collection_result
from dap.leader.selectors import progress_of, times_uncollected
from dap.models import Side, Task
from dap.operations import configuration_of, task_named
from dap.selectors import rejections_of
from dap.task_files import task_file_read, task_file_write
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig, Interval
from panprivacy.protocols.dap.collection import CollectionJobReq, Query
from panprivacy.protocols.dap.task import base_address
from panprivacy.protocols.dap.tokens import BEARER, DAP_AUTH, TokenHash
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.roles import HELPER, why_no_answer
from storage.database import require_migrated_database

INPUT_ERROR = 2
NO_RESULT = 3
PARAMETERS = ("length", "max_measurement", "max_weight", "max_value", "chunk_length")
TOKEN_TYPES = {"bearer": BEARER, "dap": DAP_AUTH}
POLL_SECONDS = 0.5


class Command(BaseCommand):
    help = "Run DAP tasks of plain Prio3 shares with the helper of this installation. Prints JSON."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="begin a task on both sides")
        create.add_argument("--vdaf", required=True, help=", ".join(VDAFS))
        for name in PARAMETERS:
            create.add_argument(f"--{name.replace('_', '-')}", type=int, help="of the VDAF, if it has one")
        create.add_argument("--min-batch-size", type=int, required=True, help="fewest reports of a result")
        create.add_argument("--batch-mode", default="time-interval", help=", ".join(BATCH_MODES))
        create.add_argument("--time-precision", type=int, default=3600, help="seconds (default 3600)")
        create.add_argument("--start", type=int, help="first time of reports, in seconds since 1970")
        create.add_argument("--duration", type=int, help="seconds from then on in which reports may be made")
        create.add_argument("--collector-hpke-config", help="of a collector elsewhere (base64url)")
        create.add_argument("--collector-key", help="its Ed25519 verification key (base64url)")
        create.add_argument(
            "--collector-token-hash",
            help="instead of the key, the SHA-256 of its token: `bearer:` or `dap:`, and base64url",
        )
        create.add_argument("--janus", help="base address of a helper that runs Janus, in place of ours")
        actions.add_parser("list", help="the tasks that have no recipe")
        collect = actions.add_parser("collect", help="collect a batch and print its result")
        collect.add_argument("task_id", help="as `task create` prints it, in base64url or hexadecimal")
        collect.add_argument("--start", type=int, help="of the batch interval, in seconds since 1970")
        collect.add_argument("--duration", type=int, help="of the batch interval, in seconds")
        collect.add_argument("--timeout", type=float, default=300.0, help="seconds to wait (default 300)")
        end = actions.add_parser("end", help="end a task on both sides; its reports and keys are deleted")
        end.add_argument("task_id", help="as `task create` prints it, in base64url or hexadecimal")
        end.add_argument("--reason", default="ended by the leader", help="in words that both sides show")
        export = actions.add_parser(
            "export", help="print the file of a task for its helper, which runs Janus"
        )
        export.add_argument("task_id", help="as `task create` prints it, in base64url or hexadecimal")
        importing = actions.add_parser(
            "import", help="begin the task of a file for `janus_cli provision-tasks`, with role Leader"
        )
        importing.add_argument("file", type=Path)

    def run_from_argv(self, argv: list[str]) -> None:
        super().run_from_argv(readable_arguments(argv))

    def handle(self, *args: Any, **options: Any) -> None:
        action: Callable[[dict[str, Any]], None] = getattr(
            self, {"import": "import_"}.get(options["action"], options["action"])
        )
        try:
            require_migrated_database()
            action(options)
        except (FieldError, CollectionRefusedError, TaskConflictError, TaskEndedError, OSError) as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        except RegistrationOverError as error:
            raise CommandError(f"nothing was begun, try again: {error}") from None
        except PeerRefusedError as error:
            raise CommandError(f"the helper refuses: {error}", returncode=INPUT_ERROR) from None

    def create(self, options: dict[str, Any]) -> None:
        """Begin a task."""
        plain = PlainTask(
            vdaf=options["vdaf"],
            parameters={name: options[name] for name in PARAMETERS if options[name] is not None},
            min_batch_size=options["min_batch_size"],
            batch_mode=options["batch_mode"],
            time_precision=options["time_precision"],
            start=options["start"],
            duration=options["duration"],
            collector_config=_collector_config(options["collector_hpke_config"]),
            collector_verification_key=_collector_key(options["collector_key"]),
            collector_token=_collector_token(options["collector_token_hash"]),
        )
        if options["janus"] is not None:
            task = janus_task_create(
                plain=plain,
                leader_url=_leader_url(),
                helper_url=base_address(options["janus"]),
                now=timezone.now(),
                random_source=secrets.SystemRandom(),
            )
            self._print(describe_task(task))
            return
        partner = HELPER.configured()
        if partner is None:
            raise CommandError(f"{HELPER.missing}. {HELPER.how_to_set_up}", returncode=INPUT_ERROR)
        try:
            task = plain_task_create(
                plain=plain, partner=partner, now=timezone.now(), random_source=secrets.SystemRandom()
            )
        except PeerUnavailableError as error:
            raise CommandError(f"no task was begun: {why_no_answer(HELPER, partner, error)}") from None
        self._print(describe_task(task))

    def list(self, options: dict[str, Any]) -> None:
        """Every task without a recipe."""
        tasks = Task.objects.filter(side=Side.LEADER, document="").order_by("pk")
        self._print([describe_task(task) | _standing(task) for task in tasks])

    def collect(self, options: dict[str, Any]) -> None:
        """Collect a batch, whether workers run too or not."""
        task = _task(options["task_id"])
        if not Collector.objects.filter(task=task).exclude(hpke_key=None).exists():
            raise FieldError("task_id", "the collector of this task is elsewhere")
        request = CollectionJobReq(_query(task, options["start"], options["duration"]))
        job = collection_job_create(task=task, request=request, now=timezone.now())
        result = _wait_for(job, options["timeout"])
        if result is None:
            raise CommandError(_why_not_yet(job), returncode=NO_RESULT)
        standing = _standing(task)
        if isinstance(result, Refusal):
            self._print({**_named(task), "problem": result.problem, **standing})
            raise CommandError(result.detail, returncode=NO_RESULT)
        self._print({**_named(task), **_as_json(task, result), **standing})
        if configuration_of(task).batch_mode is BatchMode.LEADER_SELECTED:
            # The query for the next batch reads just the same; until this job is deleted, it is the same.
            collection_job_delete(job=job)

    def end(self, options: dict[str, Any]) -> None:
        """End a task."""
        task = _task(options["task_id"])
        task_end(task=task, reason=options["reason"], now=timezone.now())
        task.refresh_from_db()
        self._print({**_named(task), "state": task.state, "outcome": task.outcome})

    def export(self, options: dict[str, Any]) -> None:
        """Print the file with which the helper takes part. It holds secrets."""
        self.stdout.write(task_file_write(helper_parameters(_task(options["task_id"]))))

    def import_(self, options: dict[str, Any]) -> None:
        """Begin the task of a file."""
        parameters = task_file_read(options["file"].read_bytes())
        task = janus_task_import(parameters=parameters, leader_url=_leader_url(), now=timezone.now())
        self._print(describe_task(task))

    def _print(self, content: object) -> None:
        self.stdout.write(json.dumps(content))


def _task(text: str) -> Task:
    try:
        task = task_named(task_id=task_id_of(text), side=Side.LEADER)
    except ValueError:
        task = None
    if task is None:
        raise FieldError("task_id", "no task has this identifier")
    if task.document:
        raise FieldError("task_id", "is a recipe's, which publishes its one result; see `manage.py recipe`")
    return task


def _named(task: Task) -> dict[str, str]:
    task_id = bytes(task.task_id)
    return {"task_id": base64_text.encode_url(task_id), "identifier": task_id.hex()}


def _from_base64url(field: str, text: str) -> bytes:
    try:
        decoded = base64_text.decode_url(text.rstrip("="))
    except base64_text.Base64Error:
        decoded = b""
    if not decoded:
        raise FieldError(field, "must be base64url")
    return decoded


def _collector_config(text: str | None) -> HpkeConfig | None:
    if text is None:
        return None
    try:
        return HpkeConfig.decode(_from_base64url("collector_hpke_config", text))
    except InvalidMessageError as error:
        raise FieldError("collector_hpke_config", f"must be an encoded HpkeConfig: {error}") from None


def _collector_key(text: str | None) -> bytes | None:
    if text is None:
        return None
    key = _from_base64url("collector_key", text)
    try:
        public_key_of(key)
    except KeyRefusedError as error:
        raise FieldError("collector_key", str(error)) from None
    return key


def _collector_token(text: str | None) -> TokenHash | None:
    if text is None:
        return None
    name = "collector_token_hash"
    prefix, _, digest = text.partition(":")
    try:
        return TokenHash(TOKEN_TYPES[prefix], _from_base64url(name, digest))
    except KeyError:
        raise FieldError(name, f"must begin with {' or '.join(f'{each}:' for each in TOKEN_TYPES)}") from None
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError(name, str(error)) from None


def _leader_url() -> str:
    if settings.LEADER_URL is None:
        raise FieldError("PANAPP_LEADER_URL", "must be set")
    return settings.LEADER_URL


def _query(task: Task, start: int | None, duration: int | None) -> Query:
    configuration = configuration_of(task)
    if configuration.batch_mode is BatchMode.LEADER_SELECTED:
        if start is not None or duration is not None:
            given = "start" if start is not None else "duration"
            raise FieldError(given, "is not for the batch mode leader-selected")
        return Query.of_next_batch()
    if (start is None) != (duration is None):
        missing = "start" if start is None else "duration"
        raise FieldError(missing, "must be set if the other of start and duration is")
    if start is not None and duration is not None:
        return Query.of_interval(interval_of(start, duration, configuration.time_precision))
    interval = times_uncollected(task=task)
    if interval is None:
        raise FieldError("task_id", "this task has no reports that are in no result yet")
    return Query.of_interval(interval)


def _wait_for(job: CollectionJob, timeout: float) -> TaskResult | Refusal | None:
    """Do what is due ourselves, whether workers run too or not: leases prevent double work."""
    deadline = time.monotonic() + timeout
    peer = peer_of(job.task)
    while True:
        due = tasks_advance(now=timezone.now(), only=job.task)
        for aggregation_job in due.aggregation_jobs:
            aggregation_job_drive(job=aggregation_job, peer=peer, now=timezone.now())
        for collection_job in due.collection_jobs:
            collection_job_drive(job=collection_job, peer=peer, now=timezone.now())
        job.refresh_from_db()
        result = collection_result(job)
        if result is not None or time.monotonic() >= deadline:
            return result
        if not due.aggregation_jobs:
            time.sleep(POLL_SECONDS)


def _why_not_yet(job: CollectionJob) -> str:
    progress = progress_of(task=job.task)
    words = (
        f"no result yet: {progress.counted:,} reports counted, {progress.waiting + progress.in_jobs:,} to be "
        f"verified, {configuration_of(job.task).min_batch_size:,} needed; ask again"
    )
    if progress.failing_since is None:
        return words
    return (
        f"{words} (the helper fails since {progress.failing_since:%Y-%m-%d %H:%M} UTC: {progress.last_error})"
    )


def _as_json(task: Task, result: TaskResult) -> dict[str, Any]:
    precision = configuration_of(task).time_precision
    interval: Interval = result.interval
    return {
        "report_count": result.report_count,
        "interval": {"start": interval.start * precision, "duration": interval.duration * precision},
        "values": list(result.values),
    }


def _standing(task: Task) -> dict[str, Any]:
    progress = progress_of(task=task)
    return {
        "reports_counted": progress.counted,
        "reports_waiting": progress.waiting + progress.in_jobs,
        "rejections": {side.value: rejections_of(task, side) for side in Side},
        "last_error": progress.last_error,
    }
