"""The helper's part in a result: it checks every report, signs one list of a recipe, and gives its part of
one decryption, of the sum over that list and of nothing else."""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from joint_key.helper.actions import LIST_SIGNED, PART_GIVEN, RECIPE_ENDED
from joint_key.helper.keys import KIND, UNUSED_KEY_LIFETIME
from joint_key.helper.models import JointRecipe, WaitingKey
from log.audit.operations import entry_append
from panprivacy.formats.times import format_time
from panprivacy.protocols.joint_key.groups import decode_scalar, plus_1
from panprivacy.protocols.joint_key.sums import DecryptionPart, decode_total, encode_total
from panprivacy.protocols.transparency.findings import CheckError, json_object
from panprivacy.protocols.transparency.merkle import ProofError
from panprivacy.protocols.transparency.policy import NO_QUORUM, Policy
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import ED25519, NoteError, VerifierKey
from panprivacy.recipe.accepted_list import (
    LIST_ACCEPTED,
    AcceptedList,
    ListRefusedError,
    part_checked,
    part_digest,
)
from panprivacy.recipe.document import recipe_of
from panprivacy.statistics.trust_models.joint_key import ROLES
from partners.problems import conflict, refused
from partners.recipe_document import closing_time, overdue
from storage.columns import stored_bytes
from storage.erasure import log_truncate_on_commit
from storage.sealing import secret_erase, secret_unseal, secrets_delete
from storage.signing_key import signing_key

State = JointRecipe.State

REASON_LENGTH = 200


def part_check(*, row: JointRecipe, number: int, content: bytes) -> None:
    """Check a part of the list, and add its ciphertexts to the sum. The same part may come again.

    Args:
        number: of the part, from 0; they come in their order.

    Raises:
        Problem: a report does not hold, or another part has this number.
    """
    if _was_checked(row, number, content):
        return
    try:
        # Outside of the transaction: it takes seconds.
        part = part_checked(
            recipe_of(row.document),
            content,
            first=row.reports + 1,
            after=bytes(row.last_nonce),
            random_source=secrets.SystemRandom(),
        )
    except ListRefusedError as error:
        raise refused(f"part {number}: {error}.") from None
    with transaction.atomic():
        locked = JointRecipe.objects.select_for_update().get(pk=row.pk)
        # The same request may have come twice at once.
        if _was_checked(locked, number, content):
            return
        locked.digests = bytes(locked.digests) + part.digest
        locked.reports += part.reports
        locked.last_nonce = part.last_nonce
        locked.total = encode_total(plus_1(decode_total(bytes(locked.total)), part.total))
        locked.save(update_fields=["digests", "reports", "last_nonce", "total"])


def _was_checked(row: JointRecipe, number: int, content: bytes) -> bool:
    """Whether this part was checked before; Problem unless it was, or is the next one."""
    if row.state == State.ENDED:
        raise conflict(f"The recipe has ended: {row.outcome}")
    digests = bytes(row.digests)
    checked = len(digests) // 32
    if number < checked:
        if digests[32 * number : 32 * (number + 1)] != part_digest(content):
            raise conflict(f"Another part {number} of the list was checked.")
        return True
    if number > checked or row.state != State.OPEN:
        raise conflict(f"The next part of the list is {checked}, before it is signed.")
    return False


@transaction.atomic
def list_sign(*, row: JointRecipe, digest: str, reports: int) -> bytes:
    """Our signature of the list whose parts we checked, 64 bytes. After it no report is added.

    Raises:
        Problem: it is another list, or has fewer reports than the recipe's cohort.
    """
    row = JointRecipe.objects.select_for_update().get(pk=row.pk)
    if row.state == State.ENDED:
        raise conflict(f"The recipe has ended: {row.outcome}")
    digests = bytes(row.digests)
    accepted = AcceptedList.of(
        row.identifier, row.reports, [digests[at : at + 32] for at in range(0, len(digests), 32)]
    )
    if (digest, reports) != (accepted.digest, accepted.reports):
        raise refused("list: must be that of all parts that were checked.")
    cohort_size = recipe_of(row.document).calibrated_statistic.parameters.as_dict()["cohort_size"]
    if reports < cohort_size:
        raise refused(f"reports: must be at least the cohort size of {cohort_size}, not {reports}.")
    if row.state == State.OPEN:
        row.state, row.list = State.SIGNED, digest
        row.save(update_fields=["state", "list"])
        entry_append(
            action=LIST_SIGNED,
            subject=row.identifier,
            actor=None,
            details={"reports": reports, "list": digest},
        )
    return accepted.sign(signing_key())


def sum_decrypt(*, row: JointRecipe, proof: bytes) -> bytes:
    """Our part of the decryption of the sum, 112 bytes: the same each time.

    Args:
        proof: that the leader's log has the list.

    Raises:
        Problem: it does not prove that, or no list is signed.
    """
    if row.state == State.OPEN:
        raise conflict("The list must be signed first.")
    _require_logged(row, proof)
    with transaction.atomic():
        row = JointRecipe.objects.select_for_update().get(pk=row.pk)
        if row.state == State.ENDED:
            raise conflict(f"The recipe has ended: {row.outcome}")
        if row.part is None:
            secret = secret_unseal(stored_bytes(row.sealed), kind=KIND, owner=row.identifier.encode())
            accepted = AcceptedList(row.identifier, row.reports, row.list)
            row.part = DecryptionPart.made(
                accepted.decryption_context(ROLES[1]),
                decode_total(bytes(row.total)),
                decode_scalar(secret),
                secrets.SystemRandom(),
            ).encode()
            # Nothing else is ever decrypted, not even if this database is restored to an earlier state.
            secret_erase(row.sealed)
            row.sealed = None
            row.save(update_fields=["part", "sealed"])
            entry_append(action=PART_GIVEN, subject=row.identifier, actor=None, details={"list": row.list})
    return stored_bytes(row.part)


def _require_logged(row: JointRecipe, encoded: bytes) -> None:
    """That the leader signed a log with the list: then it can show no one another list of this recipe."""
    try:
        proof = Proof.decode(encoded)
        log = VerifierKey(proof.checkpoint.origin, ED25519, settings.LEADER_KEY or b"")
        proof.verify(proof.extra, Policy((log,), {}, {}, NO_QUORUM))
        entry = json_object(proof.extra, "entry in the proof")
    except (NoteError, ProofError, CheckError) as error:
        raise refused(f"proof: {error}.") from None
    details = entry.get("details")
    listed = details.get("list") if isinstance(details, dict) else None
    if (entry.get("action"), entry.get("subject"), listed) != (LIST_ACCEPTED, row.identifier, row.list):
        raise refused("proof: must be of the list that was signed.")


@transaction.atomic
def recipe_end(*, row: JointRecipe, reason: str, now: datetime) -> None:
    """Delete our half of the key, the sum, and our part of its decryption. Idempotent."""
    row = JointRecipe.objects.select_for_update().get(pk=row.pk)
    if row.state == State.ENDED:
        return
    secret_erase(row.sealed)
    details = {"reason": reason[:REASON_LENGTH], "given": row.part is not None}
    row.state, row.outcome, row.ended_at = State.ENDED, reason[:REASON_LENGTH], now
    row.sealed, row.part, row.total, row.digests = None, None, b"", b""
    row.save()
    entry_append(action=RECIPE_ENDED, subject=row.identifier, actor=None, details=details)
    log_truncate_on_commit()


def upkeep(*, now: datetime) -> None:
    """Delete what expired: halves that no recipe used, and those of recipes whose time was over long ago."""
    secrets_delete(WaitingKey.objects.filter(created_at__lte=now - UNUSED_KEY_LIFETIME), "sealed")
    rows = JointRecipe.objects.exclude(state=State.ENDED).order_by("pk")
    for row in overdue(map(_TakingPart, rows), now=now):
        reason = f"It was not ended; the helper deleted its key {format_time(now)}."
        recipe_end(row=row.row, reason=reason, now=now)


class _TakingPart:
    def __init__(self, row: JointRecipe) -> None:
        self.row = row

    @property
    def identifier(self) -> str:
        return self.row.identifier

    @property
    def ends_at(self) -> datetime:
        closing = closing_time(self.row.document, self.row.created_at)
        return closing + timedelta(seconds=settings.TASK_RETENTION_SECONDS)
