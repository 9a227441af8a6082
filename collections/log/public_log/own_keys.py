"""The keys with which this log signed: the present one, and those that its entries name.

Without these entries, signatures of a replaced key could not be checked. Each key is entered once: processes
that were started with different ones do not fill the log.
"""

from collections.abc import Sequence

from django.conf import settings

from log.audit.models import Entry
from log.audit.operations import entry_append
from log.public_log.actions import SIGNING_KEY_CHANGED
from log.public_log.models import Tree
from panprivacy.formats import base64_text
from panprivacy.protocols.transparency.signed_note import ED25519, VerifierKey
from storage.signing_key import verification_key


def own_key() -> str:
    """The present key, in base64."""
    return base64_text.encode(verification_key().public_bytes_raw())


def key_is_new(tree: Tree) -> bool:
    """Whether the present key is another than signed last, and the log does not name it yet."""
    key = own_key()
    return tree.key not in ("", key) and key not in _entered()


def key_enter(tree: Tree) -> None:
    """Enter the present key, and the previous one; in the transaction that holds the tree's lock."""
    details = {"before": tree.key, "key": own_key()}
    entry_append(action=SIGNING_KEY_CHANGED, subject=tree.origin, actor=None, details=details)


def own_keys(origin: str) -> Sequence[VerifierKey]:
    """Under which this log signed with this name, the present one first.

    A process without the present key, such as one that asks witnesses, has it from the policy.
    """
    if settings.SIGNING_KEY:
        present = [own_key()]
    else:
        known = () if settings.LOG_POLICY is None else settings.LOG_POLICY.logs
        present = [base64_text.encode(key.key) for key in known if key.name == origin]
    # In the order in which they came, each once.
    return [
        VerifierKey(origin, ED25519, base64_text.decode(key))
        for key in dict.fromkeys((*present, *_entered()))
    ]


def _entered() -> list[str]:
    entries = Entry.objects.filter(action=SIGNING_KEY_CHANGED.name).order_by("index")
    return [entry.details[name] for entry in entries for name in ("before", "key")]
