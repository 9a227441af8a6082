"""What a result of a recipe with a joint key is recomputed from (`panprivacy.recompute`)."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from joint_key.leader.actions import LIST_ACCEPTED
from joint_key.leader.models import JointSum
from joint_key.leader.sums import accepted_list
from log.public_log.selectors import proof_of_action
from panprivacy.recipe.parts.bundle import FIELD, BundleAccess
from panprivacy.recompute.bundle import REPORTS, BundleContent, write_bundle
from panprivacy.statistics.trust_models.joint_key import ROLES
from recipes.actions import RECIPE_PUBLISHED
from recipes.api import ServedRecipeSerializer
from recipes.models import Recipe
from reports.proven_rows import accepted_parts
from results.actions import RESULT_RELEASED
from results.exports import release_document
from results.models import Release, SimulatedTruth
from storage.columns import stored_bytes
from storage.signing_key import signing_key, verification_key

PROOF_ATTEMPTS = 3
"""To read the proofs of one state: the log may grow in between."""


class NoBundleError(Exception):
    """There is no bundle of this recipe; the message says why, in a sentence."""


class BundleNotReadyError(NoBundleError):
    """There will be one in some seconds."""


def is_bundle_public(recipe: Recipe) -> bool:
    """Whether any client may have the recipe's bundle; otherwise those who may read the log. What cannot be
    read is not public."""
    if recipe.status == Recipe.Status.DRAFT or recipe.unreadable:
        return False
    return bool(recipe.published.parts.get(FIELD, BundleAccess.PUBLIC) == BundleAccess.PUBLIC)


def has_bundle(recipe: Recipe) -> bool:
    """Whether a bundle of the recipe can be had, now or in some seconds."""
    counted = JointSum.objects.filter(recipe=recipe, state=JointSum.State.COUNTED)
    return counted.exists() and _released(recipe) is not None


def bundle_content(recipe: Recipe) -> BundleContent:
    """The bundle of a released result, but for the reports.

    Raises:
        NoBundleError: the recipe has no joint key, or no result.
        BundleNotReadyError: an entry is not in the tree of the log yet.
    """
    row = JointSum.objects.filter(recipe=recipe, state=JointSum.State.COUNTED).first()
    release = _released(recipe)
    if row is None or release is None:
        raise NoBundleError("Only a released result of a recipe with a joint key has a bundle.")
    accepted = accepted_list(row)
    truth = SimulatedTruth.objects.filter(recipe=recipe).first()
    return BundleContent(
        verification_key=verification_key().public_bytes_raw(),
        recipe=ServedRecipeSerializer(recipe).data,
        accepted=accepted,
        list_signatures=_by_role(accepted.sign(signing_key()), stored_bytes(row.helper_signature)),
        decryptions=_by_role(stored_bytes(row.leader_part), stored_bytes(row.helper_part)),
        result=release_document(release, truth),
        **_proofs(recipe),
    )


def bundle_write(recipe: Recipe, folder: Path) -> None:
    """Write the bundle into a folder, which must have none.

    Raises:
        NoBundleError: as of `bundle_content`.
        OSError: a file cannot be written, or is there already.
    """
    write_bundle(folder, bundle_content(recipe), accepted_parts(recipe))


def bundle_tar(recipe: Recipe) -> tuple[Iterator[bytes], int]:
    """The bundle as one tar file, in pieces, and its length; NoBundleError as of `bundle_content`."""
    content = bundle_content(recipe)
    files = content.files()
    size = content.reports_bytes
    length = sum(_padded(len(each)) + tarfile.BLOCKSIZE for each in files.values())
    length += _padded(size) + tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE

    def pieces() -> Iterator[bytes]:
        for name, encoded in files.items():
            yield _header(name, len(encoded)) + encoded + _padding(len(encoded))
        yield _header(REPORTS, size)
        yield from accepted_parts(recipe)
        yield _padding(size) + bytes(2 * tarfile.BLOCKSIZE)

    return pieces(), length


def _released(recipe: Recipe) -> Release | None:
    return Release.objects.filter(recipe=recipe, outcome=Release.Outcome.RELEASED).first()


def _header(name: str, size: int) -> bytes:
    found = tarfile.TarInfo(name)
    found.size = size
    return found.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)


def _padded(size: int) -> int:
    return size + len(_padding(size))


def _by_role(leader: bytes, helper: bytes) -> dict[str, bytes]:
    return dict(zip(ROLES, (leader, helper), strict=True))


def _proofs(recipe: Recipe) -> dict[str, bytes]:
    """Of the three entries, as of one state of the log: only then is their order proved."""
    actions = {"recipe_proof": RECIPE_PUBLISHED, "list_proof": LIST_ACCEPTED, "result_proof": RESULT_RELEASED}
    for _ in range(PROOF_ATTEMPTS):
        found = {name: proof_of_action((action,), str(recipe.identifier)) for name, action in actions.items()}
        proofs = {name: proof for name, proof in found.items() if proof is not None}
        if len(proofs) == len(actions) and len({proof.checkpoint for proof in proofs.values()}) == 1:
            return {name: proof.encode() for name, proof in proofs.items()}
    raise BundleNotReadyError("The result is not in the tree of the log yet. Ask again in some seconds.")
