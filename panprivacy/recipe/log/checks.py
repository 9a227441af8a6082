"""Checking recipes, results, proofs and checkpoints offline: what holds, in words, and what that rests on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.formats.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.protocols.ed25519 import require_signature
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.conclusions import CONCLUDED
from panprivacy.protocols.transparency.counts import counts_signed, verification_keys
from panprivacy.protocols.transparency.findings import CheckError, Findings, NotWitnessedError, json_object
from panprivacy.protocols.transparency.merkle import ProofError
from panprivacy.protocols.transparency.policy import Policy, QuorumError, WitnessedCheckpoint
from panprivacy.protocols.transparency.proof import FIRST_LINE, Proof
from panprivacy.protocols.transparency.signed_note import Note, NoteError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.rounds.document import FORMAT as ROUNDS
from panprivacy.recipe.rounds.public_input import FORMAT as INPUT
from panprivacy.recipe.signed_documents import signed_message
from panprivacy.recipe.signed_result import ResultRefusedError, result_hash, verify_result

PUBLISHED = ("recipe_published",)
"""Action of the entry that speaks of a recipe."""

SIGNED = {
    ROUNDS: ("Recipe in rounds", "rounds_published"),
    INPUT: ("Public input", "round_input_published"),
}
"""Formats of other signed documents: what each is called, and the action of the entry that speaks of it."""

NEEDS_PROOF = "Whether the public log has it. The site serves the proof; give it with --proof."
NEEDS_POLICY = "Who signed it. The site serves a policy at /log/policy; give it, or your own, with --policy."


@dataclass(frozen=True)
class CheckReport:
    """What holds.

    Attributes:
        sentences: a sentence each, in the order in which it was checked.
        checkpoint: the state of the log that it rests on.
        note: the same with its signatures, in wire form.
        unchecked: as in `Findings`.
    """

    sentences: tuple[str, ...]
    checkpoint: Checkpoint
    note: bytes
    unchecked: tuple[str, ...] = ()


def check(content: bytes, proof: bytes, policy: Policy, *, latest: int | None = None) -> CheckReport:
    """Check a recipe (as the API serves it) or a result (`result.json`) against its proof.

    Args:
        policy: the log's key is the site's verification key, too.
        latest: seconds since 1970; a witness's signature of a later time does not count. None if no clock
            is asked.

    Raises:
        CheckError: the first thing that does not hold (`NotWitnessedError`: too few witnesses).
    """
    document = json_object(content)
    read = _proof(proof)
    accepted = _accepted(read, policy, latest)
    checkpoint = accepted.checkpoint
    keys = [key.key for key in policy.logs if key.name == checkpoint.origin]
    found = _statements(document, json_object(read.extra, "entry in the proof"), verification_keys(keys))
    found += _of_the_log(read, accepted, policy)
    return CheckReport(found.sentences, checkpoint, read.note, found.unchecked)


def check_file(
    content: bytes, proof: bytes | None, policy: Policy | None, *, latest: int | None = None
) -> Findings:
    """Check a recipe, a result, a proof or a checkpoint, as far as the other given files allow.

    Args:
        content: a recipe as the API serves it, `result.json`, a proof, or a checkpoint.
        proof: of the recipe or the result.
        latest: as in `check`.

    Raises:
        CheckError: the first thing that does not hold.
    """
    if content.startswith(FIRST_LINE.encode()):
        if proof is not None:
            raise CheckError("the file is a proof itself: it needs no other one")
        return _check_proof(_proof(content), policy, latest)
    if _is_checkpoint(content):
        if proof is not None:
            raise CheckError("the file is a checkpoint: it needs no proof")
        return check_checkpoint(content, policy, latest=latest)
    if proof is not None and policy is not None:
        checked = check(content, proof, policy, latest=latest)
        return Findings(checked.sentences, checked.unchecked)
    document, read = json_object(content), None if proof is None else _proof(proof)
    keys = None if policy is None else verification_keys([key.key for key in policy.logs])
    entry = None if read is None else json_object(read.extra, "entry in the proof")
    found = _statements(document, entry, keys)
    if read is None:
        return found + Findings((), (NEEDS_PROOF,) if policy is not None else (NEEDS_PROOF, NEEDS_POLICY))
    return found + Findings((_path_sentence(read),), (NEEDS_POLICY,))


def check_checkpoint(note: bytes, policy: Policy | None, *, latest: int | None = None) -> Findings:
    """Check the signatures of a checkpoint.

    Raises:
        CheckError: it is malformed, or not signed as the policy asks.
    """
    try:
        checkpoint = Checkpoint.parse(Note.decode(note).text)
        accepted = None if policy is None else policy.accepted(note, latest=latest)
    except QuorumError as error:
        raise NotWitnessedError(str(error)) from error
    except NoteError as error:
        raise CheckError(f"the checkpoint does not hold: {error}") from error
    sentence = f"The checkpoint is of {checkpoint.size:,} entries of the log {checkpoint.origin}."
    if policy is None or accepted is None:
        return Findings((sentence,), (NEEDS_POLICY,))
    return Findings((sentence, "The log signed it."), ()) + _witnessed(accepted, policy)


def _is_checkpoint(content: bytes) -> bool:
    try:
        Checkpoint.parse(Note.decode(content).text)
    except NoteError:
        return False
    return True


def _check_proof(read: Proof, policy: Policy | None, latest: int | None) -> Findings:
    entry = json_object(read.extra, "entry in the proof") if read.extra else {}
    if not entry:
        raise CheckError("the proof has no entry with it")
    content = json.dumps(entry, ensure_ascii=True, sort_keys=True)
    sentence = f"Entry {read.index + 1} is: {content}"
    if policy is None:
        return Findings((sentence, _path_sentence(read)), (NEEDS_POLICY,))
    return Findings((sentence,), ()) + _of_the_log(read, _accepted(read, policy, latest), policy)


def _proof(encoded: bytes) -> Proof:
    try:
        return Proof.decode(encoded)
    except NoteError as error:
        raise CheckError(f"the proof cannot be read: {error}") from error


def _accepted(read: Proof, policy: Policy, latest: int | None) -> WitnessedCheckpoint:
    try:
        return read.verify(read.extra, policy, latest=latest)
    except QuorumError as error:
        raise NotWitnessedError(str(error)) from error
    except (NoteError, ProofError) as error:
        raise CheckError(f"the proof does not hold: {error}") from error


def _path_sentence(read: Proof) -> str:
    try:
        read.verify_path(read.extra)
    except (NoteError, ProofError) as error:
        raise CheckError(f"the proof does not hold: {error}") from error
    checkpoint = read.checkpoint
    return (
        f"It is entry {read.index + 1:,} of the {checkpoint.size:,} entries in the tree of this checkpoint, "
        f"which names the log {checkpoint.origin}."
    )


def _of_the_log(read: Proof, accepted: WitnessedCheckpoint, policy: Policy) -> Findings:
    checkpoint = accepted.checkpoint
    place = (
        f"It is entry {read.index + 1:,} of the log {checkpoint.origin}, as of the "
        f"{checkpoint.size:,} entries that the log signed."
    )
    return Findings((place,), ()) + _witnessed(accepted, policy)


def _witnessed(accepted: WitnessedCheckpoint, policy: Policy) -> Findings:
    """Which witnesses signed: by the policy's names, with those of their keys."""
    if not accepted.witnesses:
        return Findings((), (_NO_WITNESS,))
    names = {witness.key.name: name for name, witness in policy.witnesses.items()}
    signers = sorted(
        f"{names[one.name]} ({one.name}, {datetime.fromtimestamp(one.time, UTC):%Y-%m-%d %H:%M} UTC)"
        for one in accepted.witnesses
    )
    return Findings((f"Witnesses that saw the same log: {', '.join(signers)}.",), ())


_NO_WITNESS = (
    "No witness vouches for it: the log could show others something else. A policy of your own can ask for "
    "witnesses."
)
_OTHER_ENTRIES = (
    "This rests on one entry. That no other entry has another result of this recipe, only a check of the "
    "whole log shows."
)


def _statements(
    document: Mapping[str, Any],
    entry: Mapping[str, Any] | None,
    keys: Sequence[Ed25519PublicKey] | None,
) -> Findings:
    """What holds of a recipe or a result.

    Args:
        entry: its entry in the log; None without a proof.
        keys: of the policy's logs; the site signs with one of them. None without a policy.
    """
    inner = document.get("document")
    format_ = inner.get("format") if isinstance(inner, dict) else None
    if isinstance(format_, str) and format_ in SIGNED:
        return Findings(tuple(_signed_statements(document, entry, keys)), ())
    if "outcome" in document:
        return _result_statements(document, entry, keys)
    return Findings(tuple(_recipe_statements(document, entry, keys)), ())


def _signed_statements(
    served: Mapping[str, Any],
    entry: Mapping[str, Any] | None,
    keys: Sequence[Ed25519PublicKey] | None,
) -> list[str]:
    document, identifier = served["document"], served.get("id")
    what, action = SIGNED[document["format"]]
    canonical = _canonical(document)
    if hashlib.sha256(canonical).hexdigest() != identifier:
        raise CheckError("the identifier is not the SHA-256 of the document")
    sentences = [f"{what} {identifier}: the identifier is its hash."]
    if keys is not None:
        _require_signature(keys, served.get("signature"), signed_message(document["format"], canonical))
        sentences.append("The site's signature of it holds.")
    if entry is not None:
        _require_entry(entry, (action,), identifier)
        sentences.append("According to the log, exactly this document was published.")
    return sentences


def _recipe_statements(
    served: Mapping[str, Any],
    entry: Mapping[str, Any] | None,
    keys: Sequence[Ed25519PublicKey] | None,
) -> list[str]:
    document, identifier = served.get("document"), served.get("id")
    if not isinstance(document, dict) or not isinstance(identifier, str):
        raise CheckError(
            "the file is neither a recipe as the API serves it, nor a result, nor a proof. A recipe file is "
            "not signed: check what the API serves at /api/v1/recipes/ID/"
        )
    if hashlib.sha256(_canonical(document)).hexdigest() != identifier:
        raise CheckError("the identifier is not the SHA-256 of the recipe")
    try:
        message = PublishedRecipe.from_document(document).signed_message
    except ValueError as error:
        raise CheckError(f"the recipe cannot be read: {error}") from error
    sentences = [f"Recipe {identifier}: the identifier is its hash."]
    if keys is not None:
        _require_signature(keys, served.get("signature"), message)
        sentences.append("The site's signature of the recipe holds.")
    if entry is not None:
        _require_entry(entry, PUBLISHED, identifier)
        sentences.append("According to the log, exactly this recipe was published.")
    return sentences


def _result_statements(
    result: Mapping[str, Any],
    entry: Mapping[str, Any] | None,
    keys: Sequence[Ed25519PublicKey] | None,
) -> Findings:
    identifier = str(result.get("id"))
    recipe = result.get("recipe")
    if not isinstance(recipe, dict) or hashlib.sha256(_canonical(recipe)).hexdigest() != identifier:
        raise CheckError("the result is not of the recipe that it names")
    sentences = [f"Result of recipe {identifier}: the recipe in it has this identifier."]
    try:
        digest = result_hash(result)
        if keys is not None:
            _require_result_signed(result, keys)
            sentences.append("The site's signature of the result holds.")
    except ResultRefusedError as error:
        raise CheckError(str(error)) from error
    found = Findings(tuple(sentences), ())
    if keys is not None:
        found += counts_signed(result, recipe, keys)
    if entry is not None:
        _require_entry(entry, CONCLUDED, identifier)
        details = entry.get("details")
        if not isinstance(details, dict) or details.get("result") != digest:
            raise CheckError("the log has another result of this recipe")
        found += Findings(("The log has the hash of exactly this result.", _OTHER_ENTRIES), ())
    return found


def _require_result_signed(result: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]) -> None:
    refused = ResultRefusedError("the policy names no log")
    for key in keys:
        try:
            verify_result(result, key)
        except ResultRefusedError as error:
            refused = error
        else:
            return
    raise refused


def _require_entry(entry: Mapping[str, Any], actions: tuple[str, ...], subject: str) -> None:
    if entry.get("action") not in actions or entry.get("subject") != subject:
        raise CheckError("the proof is of another entry of the log")


def _require_signature(keys: Sequence[Ed25519PublicKey], signature: object, message: bytes) -> None:
    for key in keys:
        try:
            require_signature(key, base64_text.decode(signature, 64), message)
        except (InvalidSignature, base64_text.Base64Error):
            continue
        return
    raise CheckError("the signature is not the site's")


def _canonical(document: Mapping[str, Any]) -> bytes:
    try:
        return canonical_json(document)
    except NoCanonicalFormError as error:
        raise CheckError(f"the document has no canonical form: {error}") from error
