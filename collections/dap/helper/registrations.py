"""Which tasks the helper takes part in: it checks for itself everything that it will answer for."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from dap.helper.actions import TASK_REGISTERED
from dap.helper.models import ShareKey
from dap.helper.partitions import ANSWERS
from dap.helper.rounds import round_claim, round_require
from dap.helper.task_ends import UNUSED_KEY_LIFETIME
from dap.models import Side, Task
from dap.operations import task_named, task_share_key, task_store
from dap.secrets_at_rest import share_key_seal, share_key_unseal
from dap.task_checks import janus_parameters_check, require_sealable
from dap.task_files import HELPER, TaskParameters
from log.audit.operations import entry_append
from panprivacy.encryption import generate_private_key, require_scheme
from panprivacy.encryption.interface import PrivateKey
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.dialects import DRAFT_18, JANUS, Dialect
from panprivacy.protocols.dap.task import MOST_BATCH_SIZE, TaskConfiguration, base_address
from panprivacy.protocols.dap.tokens import TokenHash
from panprivacy.protocols.dap.vdafs import prio3_of
from panprivacy.protocols.prio3.prio3 import VERIFY_KEY_SIZE
from panprivacy.recipe.dap_task import task_of
from panprivacy.statistics.trust_models.members import require_url
from panprivacy.statistics.trust_models.two_server import TwoServers
from partners.problems import conflict, refused
from partners.recipe_document import recipe_read
from partners.required_settings import required
from storage.connections import connection_release
from storage.sealing import secret_erase, secrets_delete
from storage.signing_key import signing_key, verification_key


def share_key_make(*, request: bytes, scheme: str, now: datetime) -> Mapping[str, Any]:
    """A key pair for the helper's shares of one recipe.

    Args:
        request: 16 bytes of the leader's choice; the same ones give the same key.
        scheme: registered name of the encryption scheme.

    Returns:
        The public key as JSON.

    Raises:
        Problem: an unknown scheme, or one other than at the first request.
    """
    found = ShareKey.objects.filter(request=request).first()
    if found is None:
        connection_release()  # some schemes search for seconds
        try:
            private_key = generate_private_key(require_scheme(scheme), secrets.SystemRandom())
        except FieldError as error:
            raise refused(str(error)) from None
        found = _share_key_store(request, private_key, now)
    if found.scheme != scheme:
        raise conflict("A key was made for this request, in another scheme.")
    public: Mapping[str, Any] = found.public
    return public


@transaction.atomic
def _share_key_store(request: bytes, private_key: PrivateKey, now: datetime) -> ShareKey:
    """The stored key of the request: this one, unless another process made one at the same moment."""
    sealed = share_key_seal(private_key, owner=request)
    found, is_new = ShareKey.objects.get_or_create(
        request=request,
        defaults={
            "scheme": private_key.public_key.scheme,
            "public": private_key.public_key.to_json(),
            "sealed": sealed,
            "created_at": now,
        },
    )
    if not is_new:
        secret_erase(sealed)
    return found


def recipe_task_register(
    *,
    task_id: bytes,
    document: str,
    request: bytes,
    verify_key: bytes,
    collector_config: bytes,
    rounds: str,
    now: datetime,
) -> bytes:
    """Take part in a two-server recipe.

    Args:
        task_id: 32 bytes; must be the SHA-256 of the document.
        document: the recipe's canonical JSON, exactly.
        request: the one for which our key in the document was made; ignored if it has none.
        verify_key: of the VDAF.
        collector_config: encoded HpkeConfig.
        rounds: canonical JSON of the document of all rounds, if the recipe is one of them; else empty.

    Returns:
        Our Ed25519 signature of the recipe, 64 bytes: the same for the same recipe.

    Raises:
        Problem, FieldError: something is not as it must be; the detail names it.
        TaskConflictError, TaskEndedError: another task has this identifier, or it has ended.
    """
    recipe = recipe_read(document=document, identifier=task_id.hex())
    ours = recipe.servers
    if not isinstance(ours, TwoServers):
        raise FieldError("trust", "must be two_server")
    if ours.helper_url != settings.HELPER_URL:
        raise FieldError("helper.url", f"must be {settings.HELPER_URL}")
    if ours.helper_verification_key != verification_key().public_bytes_raw():
        raise FieldError("helper.verification_key", "must be ours")
    expected_id, configuration = task_of(recipe)
    if expected_id != task_id:
        raise FieldError("task_id", "must be the recipe's identifier")
    round_require(recipe=recipe, document=rounds)
    with transaction.atomic():
        share_key = None
        if ours.helper_key_members is not None:
            share_key = _share_key(task_id, request)
            if share_key.public_key.to_json() != dict(ours.helper_key_members):
                raise FieldError("helper.public_key", "must be the one that was made for this request")
        task = _store(
            task_id=task_id,
            configuration=configuration,
            verify_key=verify_key,
            collector_config=_collector_config(collector_config),
            now=now,
            share_key=share_key,
            document=document,
        )
        if recipe.round is not None:
            round_claim(place=recipe.round, task=task, now=now)
        secrets_delete(ShareKey.objects.filter(request=request), "sealed")
    return recipe.sign(signing_key())


def plain_task_register(
    *, task_id: bytes, configuration: bytes, verify_key: bytes, collector_config: bytes, now: datetime
) -> None:
    """Take part in a task of plain Prio3 shares, whatever client reports to it.

    Args:
        task_id: 32 bytes.
        configuration: encoded TaskConfiguration; its addresses may end in a slash.
        verify_key: of the VDAF.
        collector_config: encoded HpkeConfig.

    Raises:
        FieldError: a field is not as it must be.
        TaskConflictError, TaskEndedError: another task has this identifier, or it has ended.
    """
    try:
        decoded = TaskConfiguration.decode(configuration)
        require_url("leader_aggregator_endpoint", base_address(decoded.leader_aggregator_endpoint))
        if base_address(decoded.helper_aggregator_endpoint) != settings.HELPER_URL:
            raise FieldError("helper_aggregator_endpoint", f"must be {settings.HELPER_URL}")
        if decoded.min_batch_size > MOST_BATCH_SIZE:
            raise FieldError("min_batch_size", f"must be at most {MOST_BATCH_SIZE}")
        prio3_of(decoded)
    except ValueError as error:
        raise FieldError("task_configuration", str(error)) from None
    with transaction.atomic():
        _store(
            task_id=task_id,
            configuration=decoded,
            verify_key=verify_key,
            collector_config=_collector_config(collector_config),
            now=now,
        )


def janus_task_register(*, parameters: TaskParameters, now: datetime) -> Task:
    """Take part in a task of a leader that runs Janus, as a file of an operator has it. Idempotent.

    Raises:
        FieldError: a field is not as it must be.
        TaskConflictError, TaskEndedError: another task has this identifier, or it has ended.
    """
    own_url = required(settings.HELPER_URL, "PANAPP_HELPER_URL")
    janus_parameters_check(parameters, role=HELPER, own_url=own_url)
    with transaction.atomic():
        return _store(
            task_id=parameters.task_id,
            configuration=parameters.configuration,
            verify_key=parameters.verify_key,
            collector_config=parameters.collector_config,
            now=now,
            dialect=JANUS,
            token_hash=parameters.token_hash,
        )


def decode_bytes(name: str, value: str) -> bytes:
    """Base64 of a registration; Problem that names the field if it is not."""
    try:
        return base64_text.decode(value)
    except base64_text.Base64Error:
        raise refused(f"{name}: must be base64.") from None


def _share_key(task_id: bytes, request: bytes) -> PrivateKey:
    """The key that was made for the request; it has moved if the recipe is already registered."""
    found = ShareKey.objects.select_for_update().filter(request=request).first()
    if found is not None:
        return share_key_unseal(found.sealed, owner=request)
    task = task_named(task_id=task_id, side=Side.HELPER)
    key = task_share_key(task) if task is not None else None
    if key is None:
        detail = f"No key waits for this request; one is kept for {UNUSED_KEY_LIFETIME.days} day only."
        raise conflict(detail)
    return key


def _store(
    *,
    task_id: bytes,
    configuration: TaskConfiguration,
    verify_key: bytes,
    collector_config: HpkeConfig,
    now: datetime,
    share_key: PrivateKey | None = None,
    document: str = "",
    dialect: Dialect = DRAFT_18,
    token_hash: TokenHash | None = None,
) -> Task:
    """Take part, with a leader that signs, or whose token has this hash."""
    if configuration.min_batch_size < settings.SMALLEST_COHORT:
        raise FieldError("min_batch_size", f"this helper takes tasks of at least {settings.SMALLEST_COHORT}")
    if len(verify_key) != VERIFY_KEY_SIZE:
        raise FieldError("verify_key", f"must be {VERIFY_KEY_SIZE} bytes, not {len(verify_key)}")
    task, is_new = task_store(
        task_id=task_id,
        side=Side.HELPER,
        configuration=configuration,
        verify_key=verify_key,
        collector_config=collector_config,
        peer_url=configuration.leader_aggregator_endpoint,
        peer_key=required(settings.LEADER_KEY, "PANAPP_LEADER_KEY") if dialect.is_signed else b"",
        now=now,
        share_key=share_key,
        document=document,
        dialect=dialect,
        peer_token=None if token_hash is None else token_hash.to_bytes(),
    )
    if is_new:
        ANSWERS.make(task.pk)
        entry_append(
            action=TASK_REGISTERED,
            subject=bytes(task.task_id).hex(),
            actor=None,
            details={
                "leader": configuration.leader_aggregator_endpoint,
                "min_batch_size": configuration.min_batch_size,
            },
        )
    return task


def _collector_config(encoded: bytes) -> HpkeConfig:
    try:
        config = HpkeConfig.decode(encoded)
    except InvalidMessageError as error:
        raise FieldError("collector_hpke_config", str(error)) from None
    require_sealable(config, secrets.SystemRandom())
    return config
