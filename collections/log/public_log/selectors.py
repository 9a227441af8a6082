"""Reading the public log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db.models import Q, QuerySet

from log.audit.models import Entry
from log.audit.registry import Action
from log.public_log.models import AskedWitness, Fork, Leaf, SignedCheckpoint, Tree
from log.public_log.stored_tree import leaf_contents, nodes, tile_content
from panprivacy.protocols.transparency.merkle import HASH_BYTES, inclusion_proof
from panprivacy.protocols.transparency.policy import NO_QUORUM, Policy
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import ED25519, NoteError, VerifierKey
from panprivacy.protocols.transparency.tiles import WIDTH, Tile, encode_bundle
from storage.signing_key import verification_key

LOOKED_BACK = 50
"""Number of checkpoints that are searched for one with enough witnesses, from the newest on."""


def latest_checkpoint() -> SignedCheckpoint | None:
    """The newest signed checkpoint; None until one is signed."""
    return SignedCheckpoint.objects.first()


def recent_checkpoints(count: int) -> list[SignedCheckpoint]:
    """What was signed last, newest first, with the witnesses' signatures."""
    return list(SignedCheckpoint.objects.prefetch_related("cosignatures")[:count])


def checkpoint_note(checkpoint: SignedCheckpoint) -> bytes:
    """A checkpoint with all its signatures: the log's, and those of witnesses."""
    lines = "".join(one.line for one in checkpoint.cosignatures.all())
    return (checkpoint.note + lines).encode()


def witnesses_of(checkpoint: SignedCheckpoint) -> tuple[list[str], bool | None]:
    """Names of the witnesses that signed a checkpoint, and whether they are enough; None without a policy.

    A witness has the name that the policy gives it, else that of its key.
    """
    signed = [one.witness for one in checkpoint.cosignatures.all()]
    policy = settings.LOG_POLICY
    if policy is None:
        return signed, None
    known = {witness.key.name: name for name, witness in policy.witnesses.items()}
    return sorted(known.get(key, key) for key in signed), policy.is_met(
        frozenset(known[key] for key in signed if key in known)
    )


def log_verifier_key() -> VerifierKey:
    """Name and key of this installation's log: a log that has begun keeps its name, whatever the setting."""
    name = Tree.objects.values_list("origin", flat=True).first() or settings.LOG_ORIGIN
    return VerifierKey(name, ED25519, verification_key().public_bytes_raw())


def site_policy() -> Policy:
    """What this site asks readers to trust: its own log, with the witnesses and the quorum that it has set
    up; no quorum if there is none."""
    policy = settings.LOG_POLICY
    if policy is None:
        return Policy((log_verifier_key(),), {}, {}, NO_QUORUM)
    return replace(policy, logs=(log_verifier_key(),))


@dataclass(frozen=True)
class Trouble:
    """What speaks against this log, or another one that this installation watches.

    Attributes:
        forks: pairs of checkpoints that contradict each other.
        ahead: witnesses that saw more of this log than it has, or something else.
        silent: other witnesses that do not sign at present.
    """

    forks: Sequence[Fork]
    ahead: Sequence[AskedWitness]
    silent: Sequence[AskedWitness]


def trouble_of_log() -> Trouble:
    """Known problems; empty if all is well."""
    newest = latest_checkpoint()
    size = 0 if newest is None else newest.size
    contradicts = Q(size__gt=size) | Q(last_error=AskedWitness.DIFFERS)
    asked = AskedWitness.objects.filter(failing_since__isnull=False).order_by("witness")
    return Trouble(
        forks=list(Fork.objects.all()),
        ahead=list(asked.filter(contradicts)),
        silent=list(asked.exclude(contradicts)),
    )


def tile_bytes(tile: Tile) -> bytes | None:
    """The hashes of a tile; None if the tree has fewer."""
    content = tile_content(tile)
    return content if len(content) == tile.width * HASH_BYTES else None


def bundle_bytes(index: int, width: int) -> bytes | None:
    """Leaves from 256·`index` on, `width` of them, each behind its length; None if there are fewer."""
    contents = leaf_contents(index * WIDTH, width)
    return encode_bundle(contents) if len(contents) == width else None


def proof_of_action(actions: Sequence[Action], subject: str) -> Proof | None:
    """Evidence of the first entry of these actions about a subject, with its leaf as `extra`.

    None if there is no such entry, or it is not in the tree yet.
    """
    names = [action.name for action in actions]
    entry = Entry.objects.filter(action__in=names, subject=subject).order_by("index").first()
    leaf = None if entry is None else Leaf.objects.filter(position=entry.index - 1).first()
    proof = None if leaf is None else proof_of(leaf.position)
    return None if leaf is None or proof is None else replace(proof, extra=leaf.content.encode())


def is_witnessed(actions: Sequence[Action], subject: str) -> bool:
    """Whether that entry is in the tree, and enough witnesses signed it there, as `site_policy` asks."""
    proof = proof_of_action(actions, subject)
    try:
        return proof is not None and bool(site_policy().accepted(proof.note))
    except NoteError:
        return False


def proof_of(position: int) -> Proof | None:
    """Evidence that a leaf is in the tree; None if it is not there yet.

    It is as of the newest checkpoint that enough witnesses signed, or of the newest if there is none.
    """
    if position < 0:
        return None
    later = SignedCheckpoint.objects.filter(size__gt=position)
    newest = later.first()
    if newest is None:
        return None
    checkpoint = newest if settings.LOG_POLICY is None else _newest_witnessed(later) or newest
    path = inclusion_proof(nodes(checkpoint.size), position, checkpoint.size)
    return Proof(position, tuple(path), checkpoint_note(checkpoint))


def _newest_witnessed(checkpoints: QuerySet[SignedCheckpoint]) -> SignedCheckpoint | None:
    recent = checkpoints.prefetch_related("cosignatures")[:LOOKED_BACK]
    return next((one for one in recent if witnesses_of(one)[1]), None)
