"""Reports with a joint key: their proofs are checked in chunks, and those that hold are kept with their
tokens, for the list that both servers agree on.

Nothing is decrypted here, and whether a proof holds tells nothing about its bit: so it may be known which
ones do not.
"""

import secrets
from collections.abc import Callable, Iterator

from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.accepted_list import (
    PART_REPORTS,
    SHOWN_BYTES,
    failing,
    joint_key_of,
    record_nonce,
    records_of,
)
from recipes.models import Recipe
from reports.models import AcceptedReport
from reports.rows import ReportRows
from reports.store import ReportsMissingError, Taken, Work, rejections_count

INVALID_PROOF = "invalid_proof"


class ProvenRows(ReportRows):
    """The rows of other stores until a chunk is checked, then `AcceptedReport`."""

    def take(self, work: Work, key: Callable[[], PrivateKey]) -> Taken | None:
        """Check the proofs of a chunk. The recipe's sum then has how many hold."""
        stored = self._stored().filter(chunk=work.id)
        records = [
            record
            for payload in stored.order_by("pk").values_list("payload", flat=True)
            for record in records_of(bytes(payload))
        ]
        joint_key = joint_key_of(self.recipe.published)
        bits = [joint_key.parse(record[SHOWN_BYTES:]) for record in records]
        refused = set(failing(joint_key, bits, secrets.SystemRandom()))
        accepted = [record for place, record in enumerate(records) if place not in refused]

        def end() -> list[Work]:
            if len(records) != work.count:
                raise ReportsMissingError(found=len(records), expected=work.count)
            stored.delete()
            AcceptedReport.objects.bulk_create(
                AcceptedReport(recipe=self.recipe, nonce=record_nonce(record), record=record)
                for record in accepted
            )
            if refused:
                rejections_count(recipe=self.recipe, reasons={INVALID_PROOF: len(refused)})
            return []

        return Taken(end, (len(accepted),), len(records))


def accepted_part(recipe: Recipe, *, after: bytes) -> tuple[bytes, bytes]:
    """The part of the list that follows a nonce.

    Args:
        after: the last nonce of the part before it; empty for the first.

    Returns:
        its content (`panprivacy.recipe.accepted_list`), and its last nonce.
    """
    rows = AcceptedReport.objects.filter(recipe=recipe, nonce__gt=after).order_by("nonce")[:PART_REPORTS]
    found = list(rows.values_list("nonce", "record"))
    last = bytes(found[-1][0]) if found else after
    return b"".join(bytes(record) for _, record in found), last


def accepted_parts(recipe: Recipe) -> Iterator[bytes]:
    """All parts of the list, one after the other."""
    content, last = accepted_part(recipe, after=b"")
    while content:
        yield content
        content, last = accepted_part(recipe, after=last)
