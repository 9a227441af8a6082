"""Tasks of plain Prio3 shares, without a recipe: any DAP client may report to them."""

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from dap.leader.models import Collector
from dap.leader.operations import COLLECTOR_CONFIG_ID, task_create
from dap.leader.registrations import registration_forget, registration_note
from dap.models import Task
from dap.operations import configuration_of, dialect_of, task_peer_token, task_verify_key
from dap.task_checks import (
    MOST_PRECISION,
    janus_parameters_check,
    require_janus,
    require_sealable,
    require_within,
)
from dap.task_files import HELPER, LEADER, TaskParameters
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.tls_messages import InvalidMessageError, Message
from panprivacy.protocols.dap.basics import TASK_ID_BYTES, BatchMode, HpkeConfig, Interval
from panprivacy.protocols.dap.dialects import JANUS
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.task import MOST_BATCH_SIZE, TaskConfiguration, task_interval_extension
from panprivacy.protocols.dap.tokens import BEARER, Token, TokenHash
from panprivacy.protocols.dap.vdafs import PRIO3, UnsupportedVdafError, prio3_of, vdaf_name
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.prio3.prio3 import VERIFY_KEY_SIZE
from partners.helper_calls import plain_task_register
from partners.partner import Partner
from storage.columns import stored

VDAFS: Mapping[str, int] = {vdaf_name(number).lower(): number for number in PRIO3}
"""Name on the command line → the VDAF's code point."""

BATCH_MODES: Mapping[str, BatchMode] = {mode.name.lower().replace("_", "-"): mode for mode in BatchMode}

TOKEN_BYTES = 32
"""Random bytes of a token."""


@dataclass(frozen=True, kw_only=True)
class PlainTask:
    """The configuration of a new plain task.

    Attributes:
        vdaf: one of `VDAFS`.
        parameters: those of the VDAF, by name.
        min_batch_size: fewest reports of a batch, 2 to `MOST_BATCH_SIZE`; the helper may ask for more.
        batch_mode: one of `BATCH_MODES`.
        time_precision: unit of the times of reports, 1 to `MOST_PRECISION` seconds.
        start, duration: seconds since 1970 and seconds, multiples of `time_precision`: reports of other
            times are refused. Both None for no bounds.
        collector_config, collector_verification_key: of a collector elsewhere, and the Ed25519 key (32 bytes)
            under which it signs. Both None if this process is the collector.
        collector_token: of the token that a collector elsewhere bears instead of signing.
    """

    vdaf: str
    parameters: Mapping[str, int]
    min_batch_size: int
    batch_mode: str
    time_precision: int
    start: int | None = None
    duration: int | None = None
    collector_config: HpkeConfig | None = None
    collector_verification_key: bytes | None = None
    collector_token: TokenHash | None = None

    def configuration(self, *, leader_url: str, helper_url: str, task_info: bytes) -> TaskConfiguration:
        """The public parameters of the task.

        Raises:
            FieldError: a value that is not in its range.
        """
        _require_one_of("vdaf", self.vdaf, VDAFS)
        _require_one_of("batch_mode", self.batch_mode, BATCH_MODES)
        require_within("min_batch_size", self.min_batch_size, 2, MOST_BATCH_SIZE)
        require_within("time_precision", self.time_precision, 1, MOST_PRECISION)
        vdaf_type = VDAFS[self.vdaf]
        interval = self._task_interval()
        configuration = TaskConfiguration(
            task_info=task_info,
            leader_aggregator_endpoint=leader_url,
            helper_aggregator_endpoint=helper_url,
            time_precision=self.time_precision,
            min_batch_size=self.min_batch_size,
            batch_mode=BATCH_MODES[self.batch_mode],
            batch_config=b"",
            vdaf_type=vdaf_type,
            vdaf_configuration=self._vdaf_configuration(PRIO3[vdaf_type][0]),
            extensions=() if interval is None else (task_interval_extension(interval),),
        )
        try:
            prio3_of(configuration)
        except UnsupportedVdafError as error:
            raise _named(error) from error
        return configuration

    def _vdaf_configuration(self, message: type[Message]) -> bytes:
        names = {field.name for field in dataclasses.fields(message)}
        for name in sorted(names - set(self.parameters)):
            raise FieldError(name, f"must be given for {self.vdaf}")
        for name in sorted(set(self.parameters) - names):
            raise FieldError(name, f"is no parameter of {self.vdaf}")
        try:
            return message(**self.parameters).encode()
        except InvalidMessageError as error:
            raise FieldError(error.field, error.problem) from None

    def _task_interval(self) -> Interval | None:
        if self.start is None and self.duration is None:
            return None
        if self.start is None or self.duration is None:
            missing = "start" if self.start is None else "duration"
            raise FieldError(missing, "must be set if the other of start and duration is")
        return interval_of(self.start, self.duration, self.time_precision)


def interval_of(start: int, duration: int, precision: int) -> Interval:
    """An interval in units of the time precision.

    Args:
        start: seconds since 1970.
        duration: seconds.
        precision: seconds.

    Raises:
        FieldError: not multiples of the precision, or no interval.
    """
    for name, value, least in (("start", start, 0), ("duration", duration, precision)):
        if value % precision or not least <= value < 2**53:
            raise FieldError(
                name,
                f"must be a multiple of the time precision of {precision} s, at least {least}, not {value}",
            )
    return Interval(start // precision, duration // precision)


def plain_task_create(
    *, plain: PlainTask, partner: Partner, now: datetime, random_source: random.Random
) -> Task:
    """Register a plain task at the helper and begin it here.

    Do not call it in a transaction: each request to the helper is stored before it is sent.

    Args:
        random_source: `secrets.SystemRandom()`; the task's identifier and keys come from it.

    Raises:
        FieldError: a value that is not in its range.
        PeerUnavailableError, PeerRefusedError: the helper did not answer, or refused; nothing was begun.
        RegistrationOverError: it took too long; nothing was begun.
    """
    task_id = _task_id(random_source)
    configuration = plain.configuration(
        leader_url=partner.leader_url,
        helper_url=partner.url,
        task_info=base64_text.encode_url(task_id).encode(),
    )
    verify_key = random_source.randbytes(VERIFY_KEY_SIZE)
    collector_config, collector_key = _collector(plain, random_source)
    registration_note(task_id=task_id, partner=partner, now=now)
    plain_task_register(
        partner,
        task_id=task_id,
        configuration=configuration,
        verify_key=verify_key,
        collector_config=collector_config,
    )
    with transaction.atomic():
        registration_forget(task_id=task_id)
        return task_create(
            task_id=task_id,
            configuration=configuration,
            verify_key=verify_key,
            collector_config=collector_config,
            collector_key=collector_key,
            collector_verification_key=plain.collector_verification_key,
            collector_token=plain.collector_token,
            helper_url=partner.url,
            helper_key=partner.verification_key,
            now=now,
        )


def janus_task_create(
    *, plain: PlainTask, leader_url: str, helper_url: str, now: datetime, random_source: random.Random
) -> Task:
    """Begin a plain task with a helper that runs Janus, which learns of it by a file (`helper_parameters`).

    Args:
        leader_url, helper_url: base addresses, ours and the helper's.
        random_source: `secrets.SystemRandom()`; identifier, keys and token come from it.

    Raises:
        FieldError: a value that is not in its range.
    """
    require_janus("janus", helper_url)
    task_id = _task_id(random_source)
    configuration = plain.configuration(
        leader_url=leader_url, helper_url=helper_url, task_info=base64_text.encode_url(task_id).encode()
    )
    collector_config, collector_key = _collector(plain, random_source)
    return task_create(
        task_id=task_id,
        configuration=configuration,
        verify_key=random_source.randbytes(VERIFY_KEY_SIZE),
        collector_config=collector_config,
        collector_key=collector_key,
        collector_verification_key=plain.collector_verification_key,
        collector_token=plain.collector_token,
        helper_url=helper_url,
        helper_key=b"",
        dialect=JANUS,
        helper_token=Token(BEARER, base64_text.encode_url(random_source.randbytes(TOKEN_BYTES))),
        now=now,
    )


def janus_task_import(*, parameters: TaskParameters, leader_url: str, now: datetime) -> Task:
    """Begin the task of a file with a helper that runs Janus. Idempotent.

    Args:
        leader_url: our own base address.

    Raises:
        FieldError: a field is not as it must be.
        TaskConflictError, TaskEndedError: as in `task_create`.
    """
    janus_parameters_check(parameters, role=LEADER, own_url=leader_url)
    return task_create(
        task_id=parameters.task_id,
        configuration=parameters.configuration,
        verify_key=parameters.verify_key,
        collector_config=parameters.collector_config,
        collector_token=parameters.collector_token_hash,
        helper_url=parameters.peer_url,
        helper_key=b"",
        dialect=JANUS,
        helper_token=parameters.token,
        now=now,
    )


def helper_parameters(task: Task) -> TaskParameters:
    """What the helper of a task must know, if it runs Janus.

    Raises:
        FieldError: another helper, which is asked over the network.
        TaskEndedError: the task's keys are deleted.
    """
    if dialect_of(task).is_signed:
        raise FieldError("task_id", "must be of a task whose helper runs Janus")
    token = Token.from_bytes(stored(task_peer_token(task)))
    return TaskParameters(
        role=HELPER,
        task_id=bytes(task.task_id),
        configuration=configuration_of(task),
        verify_key=task_verify_key(task),
        collector_config=HpkeConfig.decode(bytes(task.collector_config)),
        token_hash=token.hashed(),
    )


def describe_task(task: Task) -> dict[str, Any]:
    """What clients and collectors need to know, as plain values. Byte strings are base64url without padding,
    times seconds."""
    configuration = configuration_of(task)
    interval = configuration.task_interval
    precision = configuration.time_precision
    kind = PRIO3[configuration.vdaf_type][0]
    collector = Collector.objects.filter(task=task).first()
    return {
        "task_id": base64_text.encode_url(bytes(task.task_id)),
        "identifier": bytes(task.task_id).hex(),
        "state": task.state,
        "dialect": task.dialect,
        "leader": configuration.leader_aggregator_endpoint,
        "helper": configuration.helper_aggregator_endpoint,
        "vdaf": vdaf_name(configuration.vdaf_type).lower(),
        **dataclasses.asdict(kind.decode(configuration.vdaf_configuration)),
        "min_batch_size": configuration.min_batch_size,
        "batch_mode": next(name for name, mode in BATCH_MODES.items() if mode is configuration.batch_mode),
        "time_precision": precision,
        "task_interval": None
        if interval is None
        else {"start": interval.start * precision, "duration": interval.duration * precision},
        "collected_here": collector is not None and collector.hpke_key is not None,
        "collector_hpke_config": base64_text.encode_url(bytes(task.collector_config)),
        "task_configuration": base64_text.encode_url(bytes(task.configuration)),
    }


def _task_id(random_source: random.Random) -> bytes:
    """A fresh identifier that reads like none of the options of a command line."""
    while True:
        task_id = random_source.randbytes(TASK_ID_BYTES)
        if not base64_text.encode_url(task_id).startswith("-"):
            return task_id


def _collector(plain: PlainTask, random_source: random.Random) -> tuple[HpkeConfig, bytes | None]:
    known_by = [
        name for name in (plain.collector_verification_key, plain.collector_token) if name is not None
    ]
    if plain.collector_config is None and not known_by:
        # The helper of a plain task may be another product: DAP requires this KEM of all.
        return generate_keypair(COLLECTOR_CONFIG_ID, random_source, KemName.X25519)
    if plain.collector_config is None:
        raise FieldError("collector_hpke_config", "must be set if a collector key or token is")
    if len(known_by) != 1:
        raise FieldError(
            "collector_key", "this or the token's hash must be set if a collector's HPKE configuration is"
        )
    if plain.collector_token is not None and not settings.JANUS_PARTNERS:
        raise FieldError("collector_token_hash", "needs a partner in PANAPP_JANUS_PARTNERS")
    require_sealable(plain.collector_config, random_source)
    return plain.collector_config, None


def _require_one_of(field: str, value: str, allowed: Mapping[str, object]) -> None:
    if value not in allowed:
        raise FieldError(field, f"must be one of {', '.join(allowed)}, not {value!r}")


def _named(error: UnsupportedVdafError) -> FieldError:
    """The refusal of a VDAF's parameter under that parameter's name."""
    if isinstance(error.__cause__, FieldError):
        return FieldError(error.__cause__.field, error.__cause__.message)
    field, _, message = str(error).partition(": ")
    return FieldError(field, message) if message else FieldError("vdaf", str(error))
