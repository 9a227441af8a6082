"""A log that lost entries signs nothing more: it would show different things under one name.

A database that was restored from a backup does not have what it signed since then. Witnesses do: each shows
the checkpoint that it signed last. One that this log signed, and that its tree does not begin with or lead
to, is evidence that no other party can forge. Then the log stops, until the operator restores what is missing
or lets it continue under a new name.
"""

from datetime import datetime

import structlog
from django.conf import settings
from django.db import transaction

from log.audit.operations import entry_append
from log.public_log.actions import LOG_RENAMED
from log.public_log.models import AskedWitness, LostState, Tree
from log.public_log.own_keys import own_keys
from log.public_log.stored_tree import nodes
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency.merkle import root

logger = structlog.get_logger(__name__)


class NotStoppedError(ValueError):
    """There is nothing to decide, or the new name is the old one."""


def lost_state() -> LostState | None:
    """The largest state that this log signed and has not, and that the operator has not decided about; None
    if there is none. As long as there is one, nothing is signed."""
    return LostState.objects.filter(decided_at=None).order_by("-size").first()


@transaction.atomic
def state_compare(*, witness: str, note: bytes, now: datetime) -> LostState | None:
    """Compare our tree with a checkpoint that a witness shows; returns what was lost, if it is none of our
    states.

    Args:
        witness: its name.
        note: the checkpoint with its signatures.

    Raises:
        NoteError: malformed, or not signed by this log under its name.
    """
    # The tree does not grow meanwhile.
    tree = Tree.objects.select_for_update().first()
    if tree is None:
        return None
    shown, _ = checkpoints.opened(note, own_keys(tree.origin))
    if shown.size <= tree.size and root(nodes(shown.size), shown.size) == shown.root:
        return None
    lost, is_new = LostState.objects.get_or_create(
        size=shown.size, witness=witness, defaults={"note": note.decode(), "found_at": now}
    )
    if is_new:
        logger.error("log_lost_entries", witness=witness, signed=shown.size, size=tree.size)
    return lost


@transaction.atomic
def log_rename(*, now: datetime) -> str:
    """Continue with the present tree under the name of the setting LOG_ORIGIN; returns the previous name.

    Witnesses and readers that knew more of the log under its old name keep the evidence. Under the new one it
    is another log, whose first own entry records what happened.

    Raises:
        NotStoppedError.
    """
    tree = Tree.objects.select_for_update().first()
    lost = lost_state()
    if tree is None or lost is None:
        raise NotStoppedError("no witness knows more of this log than it has")
    if tree.origin == settings.LOG_ORIGIN:
        raise NotStoppedError(f"PANAPP_LOG_ORIGIN must be a new name, not {tree.origin}")
    before, tree.origin = tree.origin, settings.LOG_ORIGIN
    tree.save(update_fields=["origin"])
    LostState.objects.filter(decided_at=None).update(decided_at=now)
    AskedWitness.objects.update(size=0)
    entry_append(
        action=LOG_RENAMED,
        subject=tree.origin,
        actor=None,
        details={"before": before, "entries": tree.size, "lost": lost.size},
    )
    return before
