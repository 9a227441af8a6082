"""The life of a task on the leader's side."""

from datetime import datetime

from django.db import transaction

from dap import operations as dap_operations
from dap.leader.end_notices import end_notice_owe
from dap.leader.models import AggregationJob, CollectionJob, Collector, Planning
from dap.leader.partitions import WAITING
from dap.leader.progress_signal import task_moved
from dap.leader.results import COLLECTOR_KEY
from dap.models import Side, Task
from dap.operations import task_lock, task_store
from panprivacy.encryption.interface import PrivateKey
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.dialects import DRAFT_18, JANUS, Dialect
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.tokens import Token, TokenHash
from storage.columns import stored_bytes
from storage.sealing import secret_erase, secret_seal, secret_unseal, secrets_delete

COLLECTOR_TOKEN = b"dap collector token\n"

COLLECTOR_CONFIG_ID = 0
"""Of the HPKE key of a collector in this process: it has one for each task."""


@transaction.atomic
def task_create(
    *,
    task_id: bytes,
    configuration: TaskConfiguration,
    verify_key: bytes,
    collector_config: HpkeConfig,
    helper_url: str,
    helper_key: bytes,
    now: datetime,
    collector_key: bytes | None = None,
    collector_verification_key: bytes | None = None,
    collector_token: TokenHash | None = None,
    share_key: PrivateKey | None = None,
    document: str = "",
    dialect: Dialect = DRAFT_18,
    helper_token: Token | None = None,
) -> Task:
    """Begin a task that the helper takes part in already. Idempotent.

    Args:
        task_id: 32 bytes.
        verify_key: of the VDAF, as the helper was given it.
        collector_config: to whom aggregate shares are sealed.
        helper_url, helper_key: base address and Ed25519 verification key (32 bytes) of the helper.
        collector_key: HPKE private key of `collector_config`, if this process is the collector; sealed here.
        collector_verification_key: Ed25519 key (32 bytes) of an external collector, which signs requests; for
            a plain task only.
        collector_token: of the token that an external collector bears instead; sealed here.
        share_key: the leader's private key of pan-private shares; None for a plain task.
        document: canonical JSON of the recipe; empty for a plain task. A recipe's task is collected as a
            whole, once, when it takes no more reports: it has a task interval, and its collector is here.
        dialect, helper_token: how we and the helper speak, and what we bear if it is not `helper_key`; sealed
            here.

    Raises:
        TaskConflictError: the task exists and differs in anything.
        TaskEndedError: it exists and has ended.
        ValueError: a recipe's task without key or interval, or with a collector elsewhere.
    """
    collects_on_close = document != ""
    if collects_on_close and (collector_key is None or configuration.task_interval is None):
        raise ValueError("a recipe's task must have a collector key and a task interval")
    if collects_on_close and (collector_verification_key, collector_token) != (None, None):
        raise ValueError("a recipe's task must have no collector elsewhere")
    task, is_new = task_store(
        task_id=task_id,
        side=Side.LEADER,
        configuration=configuration,
        verify_key=verify_key,
        collector_config=collector_config,
        peer_url=helper_url,
        peer_key=helper_key,
        share_key=share_key,
        document=document,
        dialect=dialect,
        peer_token=None if helper_token is None else helper_token.to_bytes(),
        now=now,
    )
    if is_new:
        WAITING.make(task.pk)
    # Its row is locked: no other process stores its collector.
    if not Collector.objects.filter(task=task).exists():
        sealed = None
        if collector_key is not None:
            sealed = secret_seal(collector_key, kind=COLLECTOR_KEY, owner=task_id)
        Collector.objects.create(
            task=task,
            hpke_key=sealed,
            verification_key=collector_verification_key,
            token=None
            if collector_token is None
            else secret_seal(collector_token.to_bytes(), kind=COLLECTOR_TOKEN, owner=task_id),
            collects_on_close=collects_on_close,
        )
    return task


def collector_dialect(collector: Collector) -> Dialect:
    """How a collector elsewhere and we speak, whatever the helper of its task speaks."""
    return DRAFT_18 if collector.token is None else JANUS


def collector_token(collector: Collector) -> TokenHash:
    """The hash of the token that a collector elsewhere bears. ValueError if it bears none."""
    owner = bytes(collector.task.task_id)
    return TokenHash.from_bytes(
        secret_unseal(stored_bytes(collector.token), kind=COLLECTOR_TOKEN, owner=owner)
    )


@transaction.atomic
def task_lose(*, task: Task, words: str) -> None:
    """The helper reported that it has left a task: no report is accepted any more, and every collection is
    refused with the helper's reason. Idempotent; the first words stay.

    Args:
        words: the helper's reason, as shown.
    """
    locked = task_lock(task=task)
    if locked.state != Task.State.ENDED and not locked.outcome:
        locked.state, locked.outcome = Task.State.CLOSED, f"The helper says: {words}"[:300]
        locked.save(update_fields=["state", "outcome"])
        task_moved.send(Task, task_id=bytes(task.task_id))


@transaction.atomic
def task_end(*, task: Task, reason: str, now: datetime) -> None:
    """The end of a task: reports, shares, keys and results are deleted on both sides; counts and the outcome
    stay. Idempotent.

    The helper is notified until it has acknowledged it; report identifiers go before that (end_notices.py).

    Args:
        reason: why, in words that both sides show.
    """
    if not dap_operations.task_end(task=task, outcome=reason, now=now):
        return
    for model in (AggregationJob, CollectionJob, Planning):
        model.objects.filter(task=task).delete()
    # Before the reports: the key is erased first after the commit.
    for collector in Collector.objects.filter(task=task):
        secret_erase(collector.token)
    secrets_delete(Collector.objects.filter(task=task), "hpke_key")
    WAITING.clear(task.pk)
    end_notice_owe(task=task, reason=reason, now=now)
    # Last: its receiver locks a row, and so do those who lock what is deleted here.
    task_moved.send(Task, task_id=bytes(task.task_id))
