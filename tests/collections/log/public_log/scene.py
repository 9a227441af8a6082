"""A log that grows, and the policy of clients that know its key."""

from log.audit.actions import ACCESS_DENIED
from log.audit.models import Entry
from log.audit.operations import entry_append
from log.audit.registry import Action
from log.public_log.models import Leaf, Tree
from log.public_log.tree_growth import integrate
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.signed_note import ED25519, VerifierKey
from storage.signing_key import verification_key


def append(subject: str = "s", action: Action = ACCESS_DENIED, **details: object) -> Entry:
    return entry_append(action=action, subject=subject, actor=None, details=details)


def grow(count: int = 1) -> None:
    for _ in range(count):
        append()
    integrate()


def contents() -> list[bytes]:
    return [leaf.content.encode() for leaf in Leaf.objects.order_by("position")]


def log_key(origin: str) -> VerifierKey:
    return VerifierKey(origin, ED25519, verification_key().public_bytes_raw())


def witnessed_policy(origin: str, witness: VerifierKey) -> Policy:
    """One witness must have signed."""
    text = f"log {log_key(origin).text}\nwitness w {witness.text} https://w.example\nquorum w\n"
    return Policy.parse(text.encode())


def policy() -> Policy:
    """No witness is needed."""
    return Policy.parse(f"log {log_key(Tree.objects.get().origin).text}\nquorum none\n".encode())
