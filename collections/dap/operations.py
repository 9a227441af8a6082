"""What both aggregators do to a task: begin it, use it, claim reports, end it.

Locks are taken in the order that models.py gives; every operation that adds holds the task's row
weakly, so that adding never waits for adding, and collecting and ending wait for all of it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import TypeVar

from django.db import connection, transaction
from django.db.models import Sum

from dap.errors import TaskConflictError, TaskEndedError
from dap.models import AggregatedReport, ReportRejection, Side, Task
from dap.partitions import IDENTIFIERS
from dap.secrets_at_rest import PEER_TOKEN, VERIFY_KEY, share_key_seal, share_key_unseal
from panprivacy.encryption.interface import PrivateKey
from panprivacy.protocols.dap.basics import HpkeConfig, Role
from panprivacy.protocols.dap.dialects import DIALECTS, DRAFT_18, Dialect
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.vdafs import verifier_for
from panprivacy.protocols.prio3.interface import Verifier
from storage.claims import values_claim
from storage.erasable_keys import KeyErasedError
from storage.sealing import secret_erase, secret_seal, secret_unseal

T = TypeVar("T")

ROLES = {Side.LEADER: Role.LEADER, Side.HELPER: Role.HELPER}


def configuration_of(task: Task) -> TaskConfiguration:
    """What all participants agreed on."""
    return TaskConfiguration.decode(bytes(task.configuration))


def dialect_of(task: Task) -> Dialect:
    """How this server and the other one of a task speak."""
    return DIALECTS[task.dialect]


def task_named(*, task_id: bytes, side: Side) -> Task | None:
    """Our half of a task; None if there is none."""
    return Task.objects.filter(task_id=task_id, side=side).first()


@transaction.atomic
def task_store(
    *,
    task_id: bytes,
    side: Side,
    configuration: TaskConfiguration,
    verify_key: bytes,
    collector_config: HpkeConfig,
    peer_url: str,
    peer_key: bytes,
    now: datetime,
    share_key: PrivateKey | None = None,
    document: str = "",
    dialect: Dialect = DRAFT_18,
    peer_token: bytes | None = None,
) -> tuple[Task, bool]:
    """Take part in a task, or find that we do already.

    Args:
        task_id: 32 bytes.
        side: what we are in it.
        verify_key: of the VDAF, shared by both aggregators and drawn before any report; sealed here.
        collector_config: to whom aggregate shares are sealed.
        peer_url, peer_key: base address and Ed25519 verification key (32 bytes) of the other aggregator; no
            key if it bears a token.
        share_key: private key of pan-private shares; sealed here. None for a plain task.
        document: canonical JSON of the recipe; empty for a plain task.
        dialect: how both speak.
        peer_token: encoded `Token` of the leader, or `TokenHash` by which the helper recognizes it; sealed
            here. None if requests are signed.

    Returns:
        The task, and whether it is new.

    Raises:
        TaskConflictError: a task with this identifier exists and differs in anything.
        TaskEndedError: it exists and has ended.
    """
    stored = _stored(task_id, side)
    if stored is None:
        stored, is_new = _store(
            Task(
                task_id=task_id,
                side=side,
                configuration=configuration.encode(),
                collector_config=collector_config.encode(),
                peer_url=peer_url,
                peer_key=peer_key,
                document=document,
                dialect=dialect.name,
                created_at=now,
            ),
            verify_key,
            share_key,
            peer_token,
        )
        if is_new:
            return stored, True
    if stored.state == Task.State.ENDED:
        raise TaskEndedError(_ended(stored))
    same = (
        bytes(stored.configuration) == configuration.encode()
        and bytes(stored.collector_config) == collector_config.encode()
        and (stored.peer_url, bytes(stored.peer_key)) == (peer_url, peer_key)
        and (stored.document, stored.dialect) == (document, dialect.name)
        and task_verify_key(stored) == verify_key
        and _key_bytes(task_share_key(stored)) == _key_bytes(share_key)
        and task_peer_token(stored) == peer_token
    )
    if not same:
        raise TaskConflictError("a task with this identifier exists, and is another one")
    return stored, False


def _stored(task_id: bytes, side: Side) -> Task | None:
    return Task.objects.select_for_update().filter(task_id=task_id, side=side).first()


def _store(
    task: Task, verify_key: bytes, share_key: PrivateKey | None, peer_token: bytes | None
) -> tuple[Task, bool]:
    """Store it with its keys sealed, unless another process stores the same one at this moment."""
    owner = _owner(bytes(task.task_id), task.side)
    task.verify_key = secret_seal(verify_key, kind=VERIFY_KEY, owner=owner)
    if peer_token is not None:
        task.peer_token = secret_seal(peer_token, kind=PEER_TOKEN, owner=owner)
    task.share_key = None if share_key is None else share_key_seal(share_key, owner=owner)
    # Waits for the other that does, and then inserts nothing.
    Task.objects.bulk_create([task], ignore_conflicts=True)
    stored = Task.objects.select_for_update().get(task_id=task.task_id, side=task.side)
    if bytes(stored.verify_key or b"") == task.verify_key:  # sealed with a nonce of its own: it is this one
        IDENTIFIERS.make(stored.pk)
        return stored, True
    _keys_erase(task)
    return stored, False


def _keys_erase(task: Task) -> None:
    for sealed in (task.verify_key, task.share_key, task.peer_token):
        secret_erase(sealed)


def task_verify_key(task: Task) -> bytes:
    """The VDAF verification key. Raises TaskEndedError once it is deleted."""
    key = _unsealed(task, task.verify_key, partial(secret_unseal, kind=VERIFY_KEY))
    if key is None:
        raise TaskEndedError(_ended(task))
    return key


def task_share_key(task: Task) -> PrivateKey | None:
    """The private key of pan-private shares; None for a plain task.

    Raises:
        TaskEndedError: the task's keys are deleted.
    """
    return _unsealed(task, task.share_key, share_key_unseal)


def task_peer_token(task: Task) -> bytes | None:
    """The token of a task, or its hash, as `task_store` was given it; None if requests are signed.

    Raises:
        TaskEndedError: the task's keys are deleted.
    """
    return _unsealed(task, task.peer_token, partial(secret_unseal, kind=PEER_TOKEN))


def _unsealed(task: Task, sealed: bytes | memoryview | None, unseal: Callable[..., T]) -> T | None:
    """A secret of a task; None if it has none. Raises TaskEndedError."""
    if task.state == Task.State.ENDED:
        raise TaskEndedError(_ended(task))
    if sealed is None:
        return None
    try:
        return unseal(sealed, owner=_owner(bytes(task.task_id), task.side))
    except KeyErasedError as error:  # it ended after it was read
        task.refresh_from_db()
        raise TaskEndedError(_ended(task)) from error


def verifier_of(task: Task) -> Verifier:
    """The task's VDAF with its keys, unsealed anew each time. Raises TaskEndedError once they are deleted."""
    return verifier_for(
        configuration_of(task),
        bytes(task.task_id),
        ROLES[Side(task.side)],
        task_verify_key(task),
        share_key=task_share_key(task),
    )


@transaction.atomic
def task_close(*, task: Task) -> Task:
    """No more reports from clients; those already accepted are still aggregated. Idempotent."""
    task = task_lock(task=task)
    if task.state == Task.State.OPEN:
        task.state = Task.State.CLOSED
        task.save(update_fields=["state"])
    return task


@transaction.atomic
def task_end(*, task: Task, outcome: str, now: datetime) -> bool:
    """Delete the task's keys and shares; the count of reports and the outcome stay. Idempotent.

    Report identifiers go afterwards, by `task_remains_delete`: there may be millions.

    Returns:
        Whether this call ended it.
    """
    task = task_lock(task=task)
    if task.state == Task.State.ENDED:
        return False
    task.state = Task.State.ENDED
    _keys_erase(task)
    task.verify_key = task.share_key = task.peer_token = None
    task.ended_at, task.outcome = now, outcome[:300]
    task.save(update_fields=["state", "verify_key", "share_key", "peer_token", "ended_at", "outcome"])
    _buckets_forget(task)
    return True


def task_remains_delete(*, task: Task) -> None:
    """Delete the report identifiers of an ended task: all at once, or in transactions of bounded size.

    Safe to interrupt and to repeat: an ended task takes no report that they could keep out.

    Raises:
        ValueError: the task has not ended.
    """
    if not Task.objects.filter(pk=task.pk, state=Task.State.ENDED).exists():
        raise ValueError("the identifiers of a task that has not ended keep reports from counting twice")
    IDENTIFIERS.clear(task.pk)


def task_lock(*, task: Task) -> Task:
    """The task, locked against additions and changes by other transactions until this one ends."""
    return Task.objects.select_for_update().get(pk=task.pk)


def task_hold(*, task: Task, waits: bool = True) -> Task.State | None:
    """The task's state, which stays what it is until the transaction ends; nor is a batch of the task
    collected until then.

    Args:
        waits: whether to wait for a transaction that holds the task exclusively; otherwise returns None at
            once.
    """
    sql, parameters = Task.objects.filter(pk=task.pk).values("state").query.sql_with_params()
    if connection.features.has_select_for_update:
        # Weak: jobs of one task wait for each other at the bucket only. SQLite needs none, since a
        # transaction holds the only write lock from its beginning.
        sql += " FOR KEY SHARE" if waits else " FOR KEY SHARE SKIP LOCKED"
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        row = cursor.fetchone()
    if row is None and waits:
        raise Task.DoesNotExist
    return None if row is None else Task.State(row[0])


def task_hold_alive(*, task: Task) -> None:
    """`task_hold`, of a task that has not ended. Raises TaskEndedError."""
    if task_hold(task=task) == Task.State.ENDED:
        task.refresh_from_db()
        raise TaskEndedError(_ended(task))


@transaction.atomic
def reports_claim(*, task: Task, report_ids: Iterable[bytes]) -> set[bytes]:
    """Use up report identifiers; each can be used once per task.

    Call it in the transaction that makes use of them.

    Returns:
        Those that were fresh.

    Raises:
        TaskEndedError: nothing was claimed.
    """
    task_hold_alive(task=task)
    return values_claim(
        AggregatedReport._meta.db_table,
        owner_column="task_id",
        owner=task.pk,
        column="report_id",
        values=set(report_ids),
    )


@transaction.atomic
def rejections_add(*, task: Task, side: Side, reasons: Mapping[str, int]) -> None:
    """Add to the counts of rejected reports.

    Args:
        side: who rejected them.
        reasons: `ReportError.reason` to how many.
    """
    # All rows are locked in one order, so that two transactions never wait for each other.
    for reason, count in sorted(reasons.items()):
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {ReportRejection._meta.db_table} AS total "  # noqa: S608  # our own table
                "(task_id, side, reason, count) VALUES (%s, %s, %s, %s) ON CONFLICT (task_id, side, reason) "
                "DO UPDATE SET count = total.count + excluded.count",
                [task.pk, side.value, reason, count],
            )


def _buckets_forget(task: Task) -> None:
    """Replace all buckets by one that records how many reports there were, and whether any were collected.

    The checksum of a bucket of one report is the hash of its identifier, which with a copy of a device's
    state would prove that the device reported; identifier and times would reveal when.
    """
    count = task.buckets.aggregate(total=Sum("report_count"))["total"]
    collected = task.buckets.filter(collected=True).exists()
    task.buckets.all().delete()
    if count:
        task.buckets.create(
            identifier=b"", aggregate_share=b"", checksum=b"", report_count=count, collected=collected
        )


def _owner(task_id: bytes, side: str) -> bytes:
    return task_id + str(side).encode()


def _key_bytes(key: PrivateKey | None) -> bytes | None:
    return None if key is None else key.to_bytes()


def _ended(task: Task) -> str:
    return task.outcome or "the task has ended"
