"""Reports whose content comes twice: no honest device sends any, because it draws all randomness anew.

What is compared is the whole content, in its order. Were single ciphertexts compared, one of a report that is
still to come could be sent in another report by an attacker who saw it, and the device's would be refused.
Sent as a whole, it counts as the device meant it. Anyone can rerandomize a ciphertext, undetectably.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from django.utils.crypto import salted_hmac

from recipes.models import Recipe
from reports.models import CiphertextDigest
from reports.parsing import WellFormedReport
from storage.claims import values_claim

DIGEST_BYTES = 16


def digest_of(recipe: Recipe, report: WellFormedReport) -> bytes:
    """A keyed hash of the report's ciphertexts, all of one length, in their order.

    Keyed, so that an attacker with the database but without the site's secret cannot recognize a report.
    """
    return hashlib.blake2b(
        report.payload, key=_key(str(recipe.identifier)), digest_size=DIGEST_BYTES
    ).digest()


@lru_cache(maxsize=256)
def _key(identifier: str) -> bytes:
    return salted_hmac("reports.copies", identifier, algorithm="sha256").digest()


def digests_claim(*, recipe: Recipe, digests: Mapping[bytes, bytes]) -> set[bytes]:
    """Keep the digests that are new, in the caller's transaction.

    Args:
        digests: nonce → the report's digest, in the order in which the reports came.

    Returns:
        Nonces of the reports whose content is already known.
    """
    first: dict[bytes, bytes] = {}
    for nonce, digest in digests.items():
        first.setdefault(digest, nonce)
    fresh = values_claim(
        CiphertextDigest._meta.db_table,
        owner_column="recipe_id",
        owner=recipe.pk,
        column="digest",
        values=first,
    )
    return {nonce for nonce, digest in digests.items() if digest not in fresh or first[digest] != nonce}
