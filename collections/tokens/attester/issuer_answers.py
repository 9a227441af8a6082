"""What happens to an issuer's answer: at most one token of a device and recipe is handed out.

One transaction records that a device has its token, and keeps the answer. Whatever crashes before it, nothing
was handed out; whatever crashes after it, the same capsule gets the same answer.

The issuer names every blind signature by a handle, the same for the same blinded message. A handle is handed
out or withheld, never both, so that the issuer's count of tokens is right. Otherwise devices could share a
blinded message, and have a used token removed from the count.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from enum import Enum, auto

from django.db import transaction

from storage.erasure import log_truncate_on_commit
from tokens.attester.models import Answer, Handle, Issued

TOLD_AT_ONCE = 64
"""Handles that are named to the issuer in one request, at most."""

KEPT = timedelta(days=1)
"""For which an answer is kept, or a day longer: no time is stored that would be finer."""


class Outcome(Enum):
    """Whether an answer may be handed out."""

    HANDED_OUT = auto()
    ALREADY_ISSUED = auto()
    WITHHELD_BEFORE = auto()


class _WithheldBeforeError(Exception):
    """The handle was withheld from another device, and the issuer may not count it any more."""


def answer_kept(capsule: bytes) -> bytes | None:
    """The answer to a capsule (by its hash) that was handed out within the last day."""
    kept = Answer.objects.filter(capsule=capsule).values_list("answer", flat=True).first()
    return None if kept is None else bytes(kept)


def answer_settle(
    *, identifier: bytes, handle: bytes, capsule: bytes, answer: bytes, told: Sequence[bytes], today: date
) -> Outcome:
    """Decide, in one transaction, whether this answer is handed out, and store that it was.

    Args:
        identifier: F_recipe(device), 32 bytes.
        handle: the issuer's name of the blind signature, 16 bytes.
        capsule: hash of the request, 32 bytes.
        told: handles that were reported to the issuer with the request.
    """
    try:
        return _settle(identifier, handle, capsule, answer, told, today)
    except _WithheldBeforeError:
        handles_told(told)
        return Outcome.WITHHELD_BEFORE


def handles_untold() -> list[bytes]:
    """Some of the withheld handles that were not reported to the issuer yet."""
    waiting = Handle.objects.filter(withheld=True, told=False).order_by("pk")
    return [bytes(handle) for handle in waiting.values_list("handle", flat=True)[:TOLD_AT_ONCE]]


def handles_told(told: Sequence[bytes]) -> None:
    """Note that the issuer was named these handles. One that is named again does no harm.

    Many requests name the same ones at once. They lock the rows in one order, so that no two wait for each
    other.
    """
    if told:
        with transaction.atomic():
            untold = Handle.objects.select_for_update().filter(handle__in=told, withheld=True, told=False)
            keys = list(untold.order_by("pk").values_list("pk", flat=True))
            Handle.objects.filter(pk__in=keys).update(told=True)


def answers_erase(*, today: date) -> int:
    """Delete answers whose day is over, with the hashes of their capsules; the number of them."""
    deleted, _ = Answer.objects.filter(day__lt=today - KEPT).delete()
    log_truncate_on_commit()
    return deleted


@transaction.atomic
def _settle(
    identifier: bytes, handle: bytes, capsule: bytes, answer: bytes, told: Sequence[bytes], today: date
) -> Outcome:
    handles_told(told)
    issued, _ = Issued.objects.get_or_create(identifier=identifier, defaults={"handle": handle})
    # The same handle names the same blind signature: an answer that was lost for longer than a day.
    is_its = bytes(issued.handle) == handle
    known, _ = Handle.objects.get_or_create(handle=handle, defaults={"withheld": not is_its})
    if not is_its:
        return Outcome.ALREADY_ISSUED
    if known.withheld:
        raise _WithheldBeforeError  # and nothing of the above happened
    Answer.objects.get_or_create(capsule=capsule, defaults={"answer": answer, "day": today})
    return Outcome.HANDED_OUT
