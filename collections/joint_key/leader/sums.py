"""From accepted reports to their count: the list to the helper, the list's hash into the log, and only then
both parts of the decryption.

The database decides: what the helper has checked is stored before the next part is sent, and the entry of the
log in the transaction that stores the helper's signature. The helper answers a repeated request with the same
bytes. So whatever is lost, doubled or killed, there is one list, and one count of it.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from joint_key.leader.actions import LIST_ACCEPTED
from joint_key.leader.models import JointSum
from log.public_log.selectors import proof_of_action
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.joint_key.groups import InvalidPointError, Scalar, decode_scalar, plus_1
from panprivacy.protocols.joint_key.keys import ProofRefusedError
from panprivacy.protocols.joint_key.public_key import SCHEME
from panprivacy.protocols.joint_key.sums import (
    CountNotFoundError,
    DecryptionPart,
    count_of,
    decode_total,
    encode_total,
)
from panprivacy.recipe.accepted_list import AcceptedList, ListRefusedError, part_digest, part_total
from panprivacy.statistics.trust_models.joint_key import ROLES, JointKeyServers
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.failed_requests import request_failed
from partners.joint_key_calls import list_sign, part_check, recipe_end, sum_decrypt
from recipes.log_entries import recipe_entry_append
from recipes.models import Recipe, RecipeKey
from recipes.steps import step_due
from reports.proven_rows import accepted_part
from storage.sealing import secret_unseal
from web.transport import Transport, https_transport

logger = structlog.get_logger(__name__)

LEASE = timedelta(minutes=5)
"""For which a worker has the row for itself; the time limit of a task."""

REQUESTS_SECONDS = 60.0
"""Time after which a task begins no further request; the next task continues."""

KEY_KIND = b"joint key half"

State = JointSum.State


class NoCountError(Exception):
    """There will never be a count; the message is a clause."""


def servers_named(recipe: Recipe) -> JointKeyServers:
    """The servers that a recipe with a joint key names."""
    servers = recipe.published.servers
    if not isinstance(servers, JointKeyServers):
        raise TypeError("the recipe has no joint key")
    return servers


def helper_of(recipe: Recipe, transport: Transport = https_transport) -> PeerClient:
    """The recipe's helper, as its document names it: settings may name another one by now."""
    servers = servers_named(recipe)
    return PeerClient(
        url=servers.helper_url,
        verification_key=servers.helper_verification_key,
        signing_key=settings.SIGNING_KEY,
        transport=transport,
    )


def sum_begin(*, recipe: Recipe, now: datetime) -> None:
    """Begin with the list of a closed recipe whose reports are all checked. May be called twice."""
    if JointSum.objects.filter(recipe=recipe).exists():
        return
    with transaction.atomic():
        # The recipe is locked first, as by what ends it: in another order the two would block each other.
        Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
        JointSum.objects.get_or_create(recipe=recipe, defaults={"send_after": now})


def sum_end(*, recipe: Recipe, reason: str, keep: bool, now: datetime) -> None:
    """Have the helper delete its key, in the transaction that ends the recipe.

    Args:
        keep: whether there is a result; else the decryption is deleted here, too.
    """
    row, _ = JointSum.objects.select_for_update().get_or_create(recipe=recipe, defaults={"send_after": now})
    if row.state in {State.SENDING, State.LISTED}:
        row.state, row.refusal = State.REFUSED, "the collection was ended"
    if not keep:
        row.total, row.leader_part, row.helper_part, row.count = b"", None, None, None
    row.deletion_reason, row.send_after = reason[:200], now
    row.save()


@dataclass(frozen=True)
class Taken:
    """Rows that are leased, by their keys, and until when."""

    rows: list[int]
    until: datetime


def sums_take(*, now: datetime) -> Taken:
    """Rows that are due, leased to the caller."""
    open_ = Q(state__in=(State.SENDING, State.LISTED)) | (~Q(deletion_reason="") & Q(is_deleted_there=False))
    with transaction.atomic():
        due = JointSum.objects.select_for_update(skip_locked=True).filter(open_, send_after__lte=now)
        taken = list(due.order_by("send_after").values_list("pk", flat=True)[:1_000])
        until = now + LEASE
        JointSum.objects.filter(pk__in=taken).update(send_after=until)
    return Taken(taken, until)


def sum_drive(
    *, row: JointSum, helper: PeerClient, now: datetime, clock: Callable[[], float] = time.monotonic
) -> None:
    """Advance one sum as far as possible. May run at any time, twice at once, or die anywhere.

    Args:
        clock: seconds, from whenever.
    """
    began = clock()

    def has_time() -> bool:
        return clock() - began < REQUESTS_SECONDS

    try:
        if row.state == State.SENDING:
            _send(row, helper, has_time)
        if row.state == State.LISTED and has_time():
            _decrypt(row, helper)
        if row.deletion_reason and not row.is_deleted_there and has_time():
            recipe_end(helper, identifier=str(row.recipe.identifier), reason=row.deletion_reason)
            JointSum.objects.filter(pk=row.pk).update(is_deleted_there=True)
    except NoCountError as error:
        _refuse(row, str(error))
    except PeerRefusedError as error:
        if row.deletion_reason:
            # Whatever it objects to, it is asked again: its key must go.
            _failed(row, str(error), now)
        else:
            _refuse(row, f"the helper refuses: {error}")
    except PeerUnavailableError as error:
        _failed(row, str(error), now)
    else:
        wait = timedelta(seconds=settings.ADVANCE_SECONDS)
        JointSum.objects.filter(pk=row.pk).update(
            send_after=now + wait, attempts=0, failing_since=None, last_error=""
        )


def _send(row: JointSum, helper: PeerClient, has_time: Callable[[], bool]) -> None:
    """Part by part; after the last one, both signatures of the list."""
    recipe = row.recipe
    identifier = str(recipe.identifier)
    # Another process may end it at any moment.
    while row.state == State.SENDING and has_time():
        content, last = accepted_part(recipe, after=bytes(row.last_nonce))
        digests = bytes(row.digests)
        if not content:
            _list(row, helper)
            continue
        part_check(helper, identifier=identifier, number=len(digests) // 32, content=content)
        reports, total = part_total(content)
        _change(
            row,
            {"state": State.SENDING, "digests": digests},
            reports=row.reports + reports,
            last_nonce=last,
            digests=digests + part_digest(content),
            total=encode_total(plus_1(decode_total(bytes(row.total)), total)),
        )


def _list(row: JointSum, helper: PeerClient) -> None:
    recipe, digests = row.recipe, bytes(row.digests)
    accepted = AcceptedList.of(
        str(recipe.identifier), row.reports, [digests[at : at + 32] for at in range(0, len(digests), 32)]
    )
    signature = list_sign(
        helper, identifier=accepted.recipe, digest=accepted.digest, reports=accepted.reports
    )
    try:
        accepted.verify(signature, public_key_of(servers_named(recipe).helper_verification_key))
    except ListRefusedError as error:
        raise PeerUnavailableError("the helper's signature of the list does not hold") from error
    with transaction.atomic():
        changes = {"state": State.LISTED, "list": accepted.digest, "helper_signature": signature}
        if _change(row, {"state": State.SENDING, "digests": digests}, **changes):
            recipe_entry_append(
                recipe=recipe,
                action=LIST_ACCEPTED,
                actor=None,
                details={"reports": accepted.reports, "list": accepted.digest},
            )


def accepted_list(row: JointSum) -> AcceptedList:
    """The list that both signed."""
    return AcceptedList(str(row.recipe.identifier), row.reports, row.list)


def _decrypt(row: JointSum, helper: PeerClient) -> None:
    """Nothing is decrypted before the list is in the log: the helper asks for the proof."""
    recipe = row.recipe
    proof = proof_of_action((LIST_ACCEPTED,), str(recipe.identifier))
    if proof is None:
        return
    theirs = sum_decrypt(helper, identifier=str(recipe.identifier), proof=proof.encode())
    accepted, total = accepted_list(row), decode_total(bytes(row.total))
    try:
        ours = DecryptionPart.made(
            accepted.decryption_context(ROLES[0]), total, _secret(recipe), secrets.SystemRandom()
        )
    except RecipeKey.DoesNotExist:
        # The result was given up in the meantime.
        return
    parts = [ours]
    try:
        part = DecryptionPart.decode(theirs)
        part.require_proved(accepted.decryption_context(ROLES[1]), total, servers_named(recipe).halves[0][1])
        parts.append(part)
        count = count_of(total, parts, row.reports)
    except (InvalidPointError, ProofRefusedError, CountNotFoundError) as error:
        raise NoCountError(f"the helper's part of the decryption is wrong: {error}") from error
    with transaction.atomic():
        changes: dict[str, Any] = {"leader_part": ours.encode(), "helper_part": theirs, "count": count}
        if _change(row, {"state": State.LISTED}, state=State.COUNTED, **changes):
            step_due(recipe=recipe)


def _secret(recipe: Recipe) -> Scalar:
    key = RecipeKey.objects.get(recipe=recipe, scheme=SCHEME)
    return decode_scalar(secret_unseal(key.sealed, kind=KEY_KIND, owner=str(recipe.identifier).encode()))


def _change(row: JointSum, only: dict[str, Any], **changes: Any) -> bool:
    """Change the row if it is still as it was read. Another process may have been faster."""
    changed = JointSum.objects.filter(pk=row.pk, **only).update(**changes)
    row.refresh_from_db()
    return bool(changed)


def _refuse(row: JointSum, reason: str) -> None:
    with transaction.atomic():
        changed = JointSum.objects.filter(pk=row.pk, state__in=(State.SENDING, State.LISTED)).update(
            state=State.REFUSED, refusal=reason[:300]
        )
        step_due(recipe=row.recipe)
    if changed:
        logger.warning("joint_sum_refused", recipe=row.recipe.identifier, reason=reason)


def _failed(row: JointSum, error: str, now: datetime) -> None:
    request_failed(JointSum.objects.all(), row, error=error, now=now)
    logger.warning("helper_request_failed", recipe=row.recipe.identifier, error=error)
