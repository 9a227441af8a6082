"""Checking recipes, results, proofs and checkpoints offline: what holds, in words, and what that rests on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy import base64_text
from panprivacy.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.json_objects import without_repetition
from panprivacy.recipe import PublishedRecipe
from panprivacy.rounds.document import FORMAT as ROUNDS
from panprivacy.rounds.public_input import FORMAT as INPUT
from panprivacy.signed_count import CountRefusedError, ReleasedCount
from panprivacy.signed_documents import signed_message
from panprivacy.signed_result import ResultRefusedError, result_hash, verify_result
from panprivacy.transparency.checkpoint import Checkpoint
from panprivacy.transparency.merkle import ProofError
from panprivacy.transparency.policy import Accepted, Policy, QuorumError
from panprivacy.transparency.proof import FIRST_LINE, Proof
from panprivacy.transparency.signed_note import Note, NoteError

PUBLISHED = ("recipe_published",)
RECORDED = "result_recorded"
CONCLUDED = ("result_released", "result_withheld", RECORDED)
"""Actions of the entries that speak of a recipe, and of a result; `RECORDED` of an older one."""

SIGNED = {
    ROUNDS: ("Recipe in rounds", "rounds_published"),
    INPUT: ("Public input", "round_input_published"),
}
"""Formats of other signed documents: what each is called, and the action of the entry that speaks of it."""

NEEDS_PROOF = "Whether the public log has it. The site serves the proof; give it with --proof."
NEEDS_POLICY = "Who signed it. The site serves a policy at /log/policy; give it, or your own, with --policy."


class CheckError(ValueError):
    """Something that does not hold; the message says what."""


class NotWitnessedError(CheckError):
    """A proof with the signatures of too few witnesses; there may be more of them later."""


@dataclass(frozen=True)
class Checked:
    """What holds.

    Attributes:
        sentences: a sentence each, in the order in which it was checked.
        checkpoint: the state of the log that it rests on.
        note: the same with its signatures, as it travels.
        unchecked: as of `Found`.
    """

    sentences: tuple[str, ...]
    checkpoint: Checkpoint
    note: bytes
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What holds of a file, and what could not be checked with what was given beside it."""

    sentences: tuple[str, ...]
    unchecked: tuple[str, ...]

    def __add__(self, other: "Found") -> "Found":
        """Both together."""
        return Found(self.sentences + other.sentences, self.unchecked + other.unchecked)


def check(content: bytes, proof: bytes, policy: Policy, *, latest: int | None = None) -> Checked:
    """Check a recipe (as the API serves it) or a result (`result.json`) against its proof.

    Args:
        policy: the log's key is the site's verification key, too.
        latest: seconds since 1970; a witness's signature of a later time does not count. None where no clock
            is asked.

    Raises:
        CheckError: the first thing that does not hold (`NotWitnessedError`: too few witnesses).
    """
    document = _object(content)
    read = _proof(proof)
    accepted = _accepted(read, policy, latest)
    checkpoint = accepted.checkpoint
    keys = [key.key for key in policy.logs if key.name == checkpoint.origin]
    found = _statements(document, _object(read.extra, "entry in the proof"), _site_keys(keys))
    found += _of_the_log(read, accepted, policy)
    return Checked(found.sentences, checkpoint, read.note, found.unchecked)


def check_file(
    content: bytes, proof: bytes | None, policy: Policy | None, *, latest: int | None = None
) -> Found:
    """Check a recipe, a result, a proof or a checkpoint, as far as can be with what is given beside it.

    Args:
        content: a recipe as the API serves it, `result.json`, a proof, or a checkpoint.
        proof: of the recipe or the result.
        latest: as of `check`.

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
        return Found(checked.sentences, checked.unchecked)
    document, read = _object(content), None if proof is None else _proof(proof)
    keys = None if policy is None else _site_keys([key.key for key in policy.logs])
    entry = None if read is None else _object(read.extra, "entry in the proof")
    found = _statements(document, entry, keys)
    if read is None:
        return found + Found((), (NEEDS_PROOF,) if policy is not None else (NEEDS_PROOF, NEEDS_POLICY))
    return found + Found((_path_sentence(read),), (NEEDS_POLICY,))


def check_checkpoint(note: bytes, policy: Policy | None, *, latest: int | None = None) -> Found:
    """Check who signed a checkpoint.

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
    says = f"The checkpoint is of {checkpoint.size:,} entries of the log {checkpoint.origin}."
    if policy is None or accepted is None:
        return Found((says,), (NEEDS_POLICY,))
    return Found((says, "The log signed it."), ()) + _witnessed(accepted, policy)


def _is_checkpoint(content: bytes) -> bool:
    try:
        Checkpoint.parse(Note.decode(content).text)
    except NoteError:
        return False
    return True


def _check_proof(read: Proof, policy: Policy | None, latest: int | None) -> Found:
    entry = _object(read.extra, "entry in the proof") if read.extra else {}
    if not entry:
        raise CheckError("the proof has no entry with it")
    told = json.dumps(entry, ensure_ascii=True, sort_keys=True)
    says = f"Entry {read.index + 1} is: {told}"
    if policy is None:
        return Found((says, _path_sentence(read)), (NEEDS_POLICY,))
    return Found((says,), ()) + _of_the_log(read, _accepted(read, policy, latest), policy)


def _proof(encoded: bytes) -> Proof:
    try:
        return Proof.decode(encoded)
    except NoteError as error:
        raise CheckError(f"the proof cannot be read: {error}") from error


def _accepted(read: Proof, policy: Policy, latest: int | None) -> Accepted:
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


def _of_the_log(read: Proof, accepted: Accepted, policy: Policy) -> Found:
    checkpoint = accepted.checkpoint
    place = (
        f"It is entry {read.index + 1:,} of the log {checkpoint.origin}, as of the "
        f"{checkpoint.size:,} entries that the log signed."
    )
    return Found((place,), ()) + _witnessed(accepted, policy)


def _witnessed(accepted: Accepted, policy: Policy) -> Found:
    """Which witnesses signed: by the policy's names, with those of their keys."""
    if not accepted.witnesses:
        return Found((), (_NOBODY,))
    names = {witness.key.name: name for name, witness in policy.witnesses.items()}
    told = sorted(
        f"{names[one.name]} ({one.name}, {datetime.fromtimestamp(one.time, UTC):%Y-%m-%d %H:%M} UTC)"
        for one in accepted.witnesses
    )
    return Found((f"Witnesses that saw the same log: {', '.join(told)}.",), ())


_NOBODY = (
    "No witness vouches for it: the log could show others something else. A policy of your own can ask for "
    "witnesses."
)
_OTHER_ENTRIES = (
    "This rests on one entry. That no other entry has another result of this recipe, only a check of the "
    "whole log shows."
)


def _site_keys(keys: Sequence[bytes]) -> list[Ed25519PublicKey]:
    return [Ed25519PublicKey.from_public_bytes(key) for key in keys]


def _statements(
    document: Mapping[str, Any],
    entry: Mapping[str, Any] | None,
    keys: Sequence[Ed25519PublicKey] | None,
) -> Found:
    """What holds of a recipe or a result.

    Args:
        entry: what the log says of it; None without a proof.
        keys: of which the site has one; None without a policy.
    """
    inner = document.get("document")
    format_ = inner.get("format") if isinstance(inner, dict) else None
    if isinstance(format_, str) and format_ in SIGNED:
        return Found(tuple(_signed_statements(document, entry, keys)), ())
    if "outcome" in document:
        return _result_statements(document, entry, keys)
    return Found(tuple(_recipe_statements(document, entry, keys)), ())


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
        sentences.append("The log says that exactly this document was published.")
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
        sentences.append("The log says that exactly this recipe was published.")
    return sentences


def _result_statements(
    result: Mapping[str, Any],
    entry: Mapping[str, Any] | None,
    keys: Sequence[Ed25519PublicKey] | None,
) -> Found:
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
    found = Found(tuple(sentences), ())
    if keys is not None:
        found += _counts_signed(result, recipe, keys)
    if entry is not None:
        _require_entry(entry, CONCLUDED, identifier)
        details = entry.get("details")
        if not isinstance(details, dict) or details.get("result") != digest:
            raise CheckError("the log has another result of this recipe")
        found += Found(("The log has the hash of exactly this result.", _OTHER_ENTRIES), ())
    return found


def _counts_signed(
    result: Mapping[str, Any], recipe: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]
) -> Found:
    """Who signed the number of reports, each with a key of its own: the site cannot change that alone."""
    known = _servers_of(recipe, keys)
    servers, reports = result.get("servers"), result.get("reports")
    signers: list[str] = []
    if isinstance(servers, list) and type(reports) is int:
        count = ReleasedCount(str(result["id"]), reports)
        for server in servers:
            if not isinstance(server, dict) or server.get("signature") is None:
                continue
            name = server.get("name")
            if not isinstance(name, str) or name not in known or name in signers:
                raise CheckError(f"a signature is by {name!r}, which is no server of this recipe, or twice")
            try:
                _require_count(count, base64_text.decode(server["signature"], 64), known[name])
            except (CountRefusedError, base64_text.Base64Error):
                raise CheckError(f"the {name.lower()} did not sign this number of reports") from None
            signers.append(name)
    by = " and ".join(f"the {name.lower()}" for name in signers)
    told = (f"The number of reports, {reports:,}, is signed by {by}.",) if signers else ()
    # A result that was withheld has no number.
    missing = [name.lower() for name in PARTNERS if known.get(name) and name not in signers]
    asked = missing if result.get("outcome") == "released" else []
    return Found(told, tuple(_MISSING.format(name) for name in asked))


PARTNERS = {"Helper": "Leader", "Shuffler": "Analyzer"}
"""Servers of others, and what the site itself is called beside them."""

ALONE = ("Server", "Curator")
"""What the site is called in recipes without partners."""

_MISSING = (
    "Whether the {0} counted so many reports: the recipe names a key of the {0}, and the result has no "
    "signature by it."
)


def _servers_of(
    recipe: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]
) -> dict[str, Sequence[Ed25519PublicKey]]:
    """Name → keys with which this server of a recipe signs; none of a partner that the recipe has no key of.

    Partners sign with the key in the recipe alone: the site cannot sign in their names.
    """
    found: dict[str, Sequence[Ed25519PublicKey]] = {}
    for name, own in PARTNERS.items():
        partner = recipe.get(name.lower())
        if partner is None:
            continue
        key = partner.get("verification_key") if isinstance(partner, dict) else None
        try:
            found[name] = () if key is None else _site_keys([base64_text.decode(key, 32)])
        except base64_text.Base64Error as error:
            raise CheckError(f"{name.lower()}.verification_key in the recipe {error}") from None
        found[own] = keys
    return found or dict.fromkeys(ALONE, keys)


def _require_count(count: ReleasedCount, signature: bytes, keys: Sequence[Ed25519PublicKey]) -> None:
    for key in keys:
        try:
            count.verify(signature, key)
        except CountRefusedError:
            continue
        return
    raise CountRefusedError("no key signed this number")


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


class Conclusions:
    """The results in a whole log: of each recipe one, and none in place of another.

    Results from before they were signed have an entry without a hash. `result_recorded` follows it, once.
    """

    def __init__(self) -> None:
        self.hashes: dict[str, str | None] = {}
        """Recipe → hash of its result; None where there is an entry without it so far."""

    def add(self, action: object, subject: object, details: object) -> None:
        """Take the next entry of the log; CheckError where it replaces what is there."""
        if action not in CONCLUDED or not isinstance(subject, str):
            return
        digest = details.get("result") if isinstance(details, dict) else None
        known = self.hashes.get(subject)
        if subject in self.hashes and (known is not None or action != RECORDED or digest is None):
            raise CheckError(f"the log has two results of the recipe {subject}")
        self.hashes[subject] = digest

    def add_leaf(self, leaf: bytes) -> None:
        """The same from a leaf; one that no proof is accepted with says nothing of a result."""
        try:
            entry = _object(leaf)
        except CheckError:
            return
        self.add(entry.get("action"), entry.get("subject"), entry.get("details"))


def _require_entry(entry: Mapping[str, Any], actions: tuple[str, ...], subject: str) -> None:
    if entry.get("action") not in actions or entry.get("subject") != subject:
        raise CheckError("the proof is of another entry of the log")


def _require_signature(keys: Sequence[Ed25519PublicKey], signature: object, message: bytes) -> None:
    for key in keys:
        try:
            key.verify(base64_text.decode(signature, 64), message)
        except (InvalidSignature, base64_text.Base64Error):
            continue
        return
    raise CheckError("the signature is not the site's")


def _canonical(document: Mapping[str, Any]) -> bytes:
    try:
        return canonical_json(document)
    except NoCanonicalFormError as error:
        raise CheckError(f"the document has no canonical form: {error}") from error


def _object(content: bytes, what: str = "file") -> Mapping[str, Any]:
    try:
        found = json.loads(content.decode(), object_pairs_hook=_members, parse_constant=_refuse_constant)
    except CheckError:
        raise
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CheckError(
            "the file is no proof or checkpoint, and not a JSON object as recipes and results are"
            if what == "file"
            else f"the {what} is not a JSON object"
        )
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Another program could show the one that was not checked.
    return without_repetition(pairs, _refuse_repeated)


def _refuse_constant(name: str) -> None:
    # Python alone reads NaN and Infinity: browsers would pass over an entry with one.
    raise ValueError(f"JSON has no {name}")


def _refuse_repeated(name: str) -> None:
    raise CheckError(f"the file has the member {name!r} twice")
