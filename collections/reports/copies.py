"""Ciphertexts that come twice: no honest device sends any, as it draws each one's randomness anew.

What is found is identical bytes. Anyone can rerandomize a ciphertext, and nobody can tell that it was.
"""

import hashlib
from collections.abc import Mapping

from django.db import connection
from django.utils.crypto import salted_hmac

from recipes.models import Recipe
from reports.models import CiphertextDigest
from reports.parsing import WellFormedReport

DIGEST_BYTES = 16
DIGESTS_PER_REPORT = 16
"""Kept of one report at most, which bounds what a histogram with many buckets stores: the smallest, so that
a copy of the whole report always has the same. A copy of one ciphertext among more may pass."""

ROWS_AT_ONCE = 5_000


def digests_of(recipe: Recipe, report: WellFormedReport) -> frozenset[bytes]:
    """Keyed hashes of the report's ciphertexts, as many as are kept.

    Keyed, so that who has the database but not the site's secret cannot recognize a ciphertext.
    """
    key = salted_hmac("reports.copies", str(recipe.identifier), algorithm="sha256").digest()
    hashed = (hashlib.blake2b(part, key=key, digest_size=DIGEST_BYTES) for part in report.ciphertexts)
    return frozenset(sorted(digest.digest() for digest in hashed)[:DIGESTS_PER_REPORT])


def digests_claim(*, recipe: Recipe, digests: Mapping[bytes, frozenset[bytes]]) -> set[bytes]:
    """Keep the digests of reports whose ciphertexts are new, in the caller's transaction.

    Args:
        digests: nonce → the report's digests, in the order in which the reports came.

    Returns:
        Nonces of the reports with a ciphertext that came before. Nothing of them is kept.
    """
    copies, of = set(), dict[bytes, bytes]()
    for nonce, own in digests.items():
        if own.isdisjoint(of):
            of |= dict.fromkeys(own, nonce)
        else:
            copies.add(nonce)
    # One order for everybody, so that two batches never wait for each other's rows.
    fresh = _insert(recipe, sorted(of))
    copies |= {nonce for digest, nonce in of.items() if digest not in fresh}
    taken_back = [digest for digest in fresh if of[digest] in copies]
    for start in range(0, len(taken_back), ROWS_AT_ONCE):
        rows = CiphertextDigest.objects.filter(recipe=recipe)
        rows.filter(digest__in=taken_back[start : start + ROWS_AT_ONCE]).delete()
    return copies


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
