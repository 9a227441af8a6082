"""The analyzer's side of the shuffler's resources. Every call may be made again after it got no answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from panprivacy.recipe.token import REASONS
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.partner import ask_json, member_of, signature_of

NOT_FULL, DELETED = "/problems/not-full", "/problems/batch-deleted"
UNRECOGNIZED = "/problems/unrecognized-recipe"
"""Types of the shuffler's problem documents."""


@dataclass(frozen=True)
class ShuffledBatch:
    """A full batch, as the shuffler reports it.

    Attributes:
        users: whose messages are in it.
        messages: how many there are.
        parts: in how many parts they are handed out.
        signature: of the number of users, as it is published; Ed25519, unchecked.
        rejected: how many were refused for their token, by reason.
    """

    users: int
    messages: int
    parts: int
    signature: bytes
    rejected: Mapping[str, int]


@dataclass(frozen=True)
class NotFull:
    """A batch that is not handed out; `received` is the number of users in coarse steps."""

    received: int


def recipe_register(shuffler: PeerClient, *, identifier: str, document: bytes) -> bytes:
    """Have the shuffler take part in a recipe.

    Args:
        identifier: 64 hexadecimal digits, the SHA-256 of the document.
        document: canonical JSON of the recipe.

    Returns:
        The shuffler's Ed25519 signature of the recipe, unchecked.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(shuffler, "PUT", f"/recipes/{identifier}", {"document": document.decode()})
    return signature_of(answer)


def batch_ask(shuffler: PeerClient, *, identifier: str) -> ShuffledBatch | NotFull:
    """The batch, if it is full: shuffled then at the latest.

    Raises:
        PeerUnavailableError, PeerRefusedError: the latter if the shuffler has deleted it, or never had it.
    """
    try:
        answer = ask_json(shuffler, "GET", f"/recipes/{identifier}/batch")
    except PeerRefusedError as refusal:
        if refusal.problem.get("type") != NOT_FULL:
            raise
        received = refusal.problem.get("received")
        return NotFull(received if type(received) is int and received >= 0 else 0)
    users, messages, parts = (member_of(answer, name, int) for name in ("users", "messages", "parts"))
    rejected = member_of(answer, "rejected", dict)
    if not all(reason in REASONS and type(count) is int and count >= 0 for reason, count in rejected.items()):
        raise PeerUnavailableError("the shuffler's counts of rejections are not such")
    return ShuffledBatch(users, messages, parts, signature_of(answer), rejected)


def was_deleted_unfull(refusal: PeerRefusedError) -> bool:
    """Whether the shuffler answers that it deleted the batch before all users had come."""
    return refusal.problem.get("type") == DELETED and refusal.problem.get("full") is False


def part_fetch(shuffler: PeerClient, *, identifier: str, number: int) -> bytes:
    """One part: ciphertexts one after the other. Raises PeerUnavailableError or PeerRefusedError."""
    return shuffler.get(f"/recipes/{identifier}/batch/{number}").body


def batch_delete(shuffler: PeerClient, *, identifier: str, reason: str) -> None:
    """Have every message of the recipe deleted there. Idempotent; a shuffler that does not know it has none.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    try:
        ask_json(shuffler, "DELETE", f"/recipes/{identifier}/batch", {"reason": reason})
    except PeerRefusedError as refusal:
        if refusal.problem.get("type") != UNRECOGNIZED:
            raise
