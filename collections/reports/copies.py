"""Reports whose content comes twice: no honest device sends any, as it draws all randomness anew.

What is compared is the whole content, in its order. Were single ciphertexts compared, one of a report that is
still to come could be sent in another report by somebody who saw it, and the device's would be refused. Sent
as a whole, it counts as the device meant it. Anyone can rerandomize a ciphertext, and nobody can tell.
"""

import hashlib
from collections.abc import Mapping

from django.db import connection
from django.utils.crypto import salted_hmac

from recipes.models import Recipe
from reports.models import CiphertextDigest
from reports.parsing import WellFormedReport

DIGEST_BYTES = 16

ROWS_AT_ONCE = 5_000


def digest_of(recipe: Recipe, report: WellFormedReport) -> bytes:
    """A keyed hash of the report's ciphertexts, all of one length, in their order.

    Keyed, so that who has the database but not the site's secret cannot recognize a report.
    """
    key = salted_hmac("reports.copies", str(recipe.identifier), algorithm="sha256").digest()
    return hashlib.blake2b(report.payload, key=key, digest_size=DIGEST_BYTES).digest()


def digests_claim(*, recipe: Recipe, digests: Mapping[bytes, bytes]) -> set[bytes]:
    """Keep the digests that are new, in the caller's transaction.

    Args:
        digests: nonce → the report's digest, in the order in which the reports came.

    Returns:
        Nonces of the reports whose content came before.
    """
    first: dict[bytes, bytes] = {}
    for nonce, digest in digests.items():
        first.setdefault(digest, nonce)
    # One order for everybody, so that two batches never wait for each other's rows.
    fresh = _insert(recipe, sorted(first))
    return {nonce for nonce, digest in digests.items() if digest not in fresh or first[digest] != nonce}


def _insert(recipe: Recipe, digests: list[bytes]) -> set[bytes]:
    """Insert those that are new; return them."""
    fresh: set[bytes] = set()
    for start in range(0, len(digests), ROWS_AT_ONCE):
        part = digests[start : start + ROWS_AT_ONCE]
        rows = ", ".join(["(%s, %s)"] * len(part))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {CiphertextDigest._meta.db_table} (recipe_id, digest) "  # noqa: S608  # placeholders only
                f"VALUES {rows} ON CONFLICT DO NOTHING RETURNING digest",
                [value for digest in part for value in (recipe.pk, digest)],
            )
            fresh |= {bytes(row[0]) for row in cursor.fetchall()}
    return fresh
