"""The list of accepted reports of a recipe with a joint key: what both servers sign, and others recompute.

A report is its token as it was shown, with the device's signature, and its encrypted bit with the proof.
Reports are in the order of their nonces, which the tokens fix at random: the order does not depend on when
they came, and shows that no token is there twice. The list is cut into parts of `PART_REPORTS`; only the last
one may be shorter.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.encryption.interface import InvalidCiphertextError
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.protocols.ed25519 import require_signature
from panprivacy.protocols.joint_key.groups import G1_BYTES, Pair1, decode_1
from panprivacy.protocols.joint_key.proven_bits import ENCODED_BYTES, ProvenBit, all_hold
from panprivacy.protocols.joint_key.public_key import JointPublicKey
from panprivacy.protocols.joint_key.sums import ciphertext_sum
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES, Token
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.token import TokenRefusedError, report_nonce, shown_nonce
from panprivacy.statistics.trust_models.joint_key import JointKeyServers

SHOWN_BYTES: Final = TOKEN_BYTES + JointKeyServers.report_signature_bytes
"""418: of a token with the signature of its report."""

RECORD_BYTES: Final = SHOWN_BYTES + ENCODED_BYTES
"""1,282: of one report in the list."""

PART_REPORTS: Final = 1_000

LIST_ACCEPTED: Final = "list_accepted"
"""What the leader's log calls its entry of the list."""

_SIGNED: Final = b"panapp-accepted-list-1\n"
_HASHED: Final = b"panapp-accepted-part-1\n"
_PART: Final = b"panapp-decryption-part-1\n"


class ListRefusedError(ValueError):
    """Reports that no server may accept; the message names the first, and why."""


@dataclass(frozen=True)
class CheckedPart:
    """What is kept of a part of the list whose reports all hold.

    Attributes:
        reports: how many.
        digest: SHA-256 of the part, 32 bytes.
        last_nonce: of its last report, 16 bytes.
        total: the sum of their ciphertexts in G1².
    """

    reports: int
    digest: bytes
    last_nonce: bytes
    total: Pair1


def joint_key_of(recipe: PublishedRecipe) -> JointPublicKey:
    """The key of a recipe with a joint key; TypeError of another one."""
    servers = recipe.servers
    if not isinstance(servers, JointKeyServers):
        raise TypeError(f"{recipe.trust} recipes have no joint key")
    return servers.joint_public_key


def records_of(content: bytes) -> list[bytes]:
    """The reports of a part of the list; ListRefusedError if it is not made of whole ones."""
    if not content or len(content) % RECORD_BYTES:
        raise ListRefusedError(f"a part of the list is not made of whole reports of {RECORD_BYTES} bytes")
    return [content[start : start + RECORD_BYTES] for start in range(0, len(content), RECORD_BYTES)]


def part_checked(
    recipe: PublishedRecipe, content: bytes, *, first: int, after: bytes, random_source: random.Random
) -> CheckedPart:
    """Check a part of the list: tokens, order, and the proofs in one batch.

    Args:
        content: 1 to `PART_REPORTS` reports.
        first: number of its first report in the list, from 1.
        after: nonce of the report before that one, 16 bytes; empty of the first.
        random_source: `secrets.SystemRandom()`: see `proven_bits.all_hold`.

    Raises:
        ListRefusedError: names the first report that does not hold.
    """
    if len(content) > PART_REPORTS * RECORD_BYTES or (first - 1) % PART_REPORTS:
        raise ListRefusedError(f"every part of the list but the last must have {PART_REPORTS:,} reports")
    nonces = nonces_of(recipe, content, first)
    if wrong := disorder_of(nonces, first, after):
        raise ListRefusedError(wrong)
    total = proven_total(recipe, content, first, random_source)
    return CheckedPart(len(nonces), part_digest(content), nonces[-1], total)


def nonces_of(recipe: PublishedRecipe, content: bytes, first: int) -> list[bytes]:
    """The nonces of a part, 16 bytes each.

    Args:
        first: number of its first report in the list, from 1, for messages.

    Raises:
        ListRefusedError: it is not made of whole reports, or names the first whose token does not hold.
    """
    nonces = []
    for number, record in enumerate(records_of(content), start=first):
        try:
            nonces.append(shown_nonce(recipe, record[:SHOWN_BYTES], [record[SHOWN_BYTES:]]))
        except TokenRefusedError as error:
            raise ListRefusedError(f"report {number:,}: {error}") from error
    return nonces


def disorder_of(nonces: Sequence[bytes], first: int, after: bytes) -> str:
    """What is wrong with the first report whose nonce is not above the one before it, as a clause; empty if
    all are, so that no token is there twice. `first` and `after` as of `part_checked`."""
    for number, (before, nonce) in enumerate(pairwise((after, *nonces)), start=first):
        if nonce <= before:
            what = "has the token of the one before it" if nonce == before else "is out of order"
            return f"report {number:,} {what}"
    return ""


def proven_total(recipe: PublishedRecipe, content: bytes, first: int, random_source: random.Random) -> Pair1:
    """The sum of the ciphertexts of a part.

    Args:
        first: number of its first report in the list, from 1, for messages.
        random_source: see `proven_bits.all_hold`.

    Raises:
        ListRefusedError: it is not made of whole reports, or names the first that is no encrypted bit, or
            whose proof does not hold.
    """
    key, bits = joint_key_of(recipe), []
    for number, record in enumerate(records_of(content), start=first):
        try:
            bits.append(key.parse(record[SHOWN_BYTES:]))
        except InvalidCiphertextError as error:
            raise ListRefusedError(f"report {number:,}: {error}") from error
    refused = first_that_fails(key, bits, random_source)
    if refused is not None:
        raise ListRefusedError(f"report {first + refused:,}: its proof does not hold")
    return ciphertext_sum(bit.c for bit in bits)


def record_nonce(record: bytes) -> bytes:
    """The nonce of a report whose token was checked, 16 bytes."""
    return report_nonce(Token.decode(record[:TOKEN_BYTES]))


def first_that_fails(
    key: JointPublicKey, bits: Sequence[ProvenBit], random_source: random.Random
) -> int | None:
    """The place of the first bit whose proof does not hold; None if all hold."""
    return next(failing(key, bits, random_source), None)


def failing(key: JointPublicKey, bits: Sequence[ProvenBit], random_source: random.Random) -> Iterator[int]:
    """The places of all bits whose proofs do not hold, in their order, by halving batches that fail."""
    waiting = [(0, len(bits))]
    while waiting:
        start, end = waiting.pop()
        if all_hold(key.joint, bits[start:end], random_source):
            continue
        if end - start == 1:
            yield start
            continue
        middle = (start + end) // 2
        waiting += [(middle, end), (start, middle)]


def part_total(content: bytes) -> tuple[int, Pair1]:
    """The number of reports of a part that was checked, and the sum of their ciphertexts."""
    records = records_of(content)
    start, middle, end = (SHOWN_BYTES + each * G1_BYTES for each in range(3))
    total = ciphertext_sum((decode_1(each[start:middle]), decode_1(each[middle:end])) for each in records)
    return len(records), total


def part_digest(content: bytes) -> bytes:
    """SHA-256 of a part of the list, 32 bytes."""
    return hashlib.sha256(_HASHED + content).digest()


@dataclass(frozen=True)
class AcceptedList:
    """All accepted reports, before any of it is decrypted.

    Attributes:
        recipe: its identifier, 64 hexadecimal digits.
        reports: how many, at least 1.
        digest: SHA-256 over the digests of the parts, 64 hexadecimal digits.
    """

    recipe: str
    reports: int
    digest: str

    @classmethod
    def of(cls, recipe: str, reports: int, digests: Sequence[bytes]) -> "AcceptedList":
        """From the digests of its parts, in their order."""
        return cls(recipe, reports, hashlib.sha256(_SIGNED + b"".join(digests)).hexdigest())

    @property
    def signed_message(self) -> bytes:
        """A context and canonical JSON (RFC 8785)."""
        return _SIGNED + canonical_json({"recipe": self.recipe, "reports": self.reports, "list": self.digest})

    def sign(self, key: Ed25519PrivateKey) -> bytes:
        """An Ed25519 signature, 64 bytes; the same each time."""
        return key.sign(self.signed_message)

    def verify(self, signature: bytes, key: Ed25519PublicKey) -> None:
        """ListRefusedError unless `signature` is by `key` of exactly this list."""
        try:
            require_signature(key, signature, self.signed_message)
        except InvalidSignature:
            raise ListRefusedError("the signature is not of this list by this key") from None

    def decryption_context(self, role: str) -> bytes:
        """To which the proof of a server's part of the decryption is bound.

        Args:
            role: `leader` or `helper`.
        """
        return _PART + self.signed_message + role.encode()
