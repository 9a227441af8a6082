"""The bundle of a recipe with a joint key: a folder with all that its result is recomputed from.

| file | content |
|---|---|
| `bundle.json` | `format`, and `verification_key`: the site's Ed25519 key, 32 bytes in base64 |
| `recipe.json` | the recipe, as the API serves it |
| `reports.bin` | the accepted reports, `RECORD_BYTES` each, in the order of the list |
| `list.json` | `recipe`, `reports`, `list` (hash), `signatures` of `leader` and `helper` in base64 |
| `decryptions.json` | of `leader` and `helper`, its part of the decryption in base64 |
| `result.json` | the signed result, as the API serves it |
| `recipe.proof`, `list.proof`, `result.proof` | proofs of their entries in the log (C2SP, tlog-proof) |
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of
from panprivacy.protocols.transparency.findings import CheckError, json_object
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import LONGEST_NOTE, NoteError
from panprivacy.recipe.accepted_list import RECORD_BYTES, AcceptedList
from panprivacy.recipe.document import IDENTIFIER_PATTERN

FORMAT: Final = "panapp-bundle-1"

BUNDLE: Final = "bundle.json"
RECIPE: Final = "recipe.json"
REPORTS: Final = "reports.bin"
LIST: Final = "list.json"
DECRYPTIONS: Final = "decryptions.json"
RESULT: Final = "result.json"
RECIPE_PROOF: Final = "recipe.proof"
LIST_PROOF: Final = "list.proof"
RESULT_PROOF: Final = "result.proof"

_MOST_BYTES: Final = {
    BUNDLE: 4_096,
    RECIPE: 1 << 20,
    LIST: 4_096,
    DECRYPTIONS: 4_096,
    RESULT: 4 << 20,
    RECIPE_PROOF: LONGEST_NOTE,
    LIST_PROOF: LONGEST_NOTE,
    RESULT_PROOF: LONGEST_NOTE,
}
"""Each file but the reports → the most bytes that it may have."""

NAMES: Final = (BUNDLE, RECIPE, REPORTS, *list(_MOST_BYTES)[2:])
"""Every file of a bundle, and no other."""

MOST_REPORTS: Final = 100_000_000

DECRYPTION_BYTES: Final = 112
"""Of a server's part of the decryption."""

SIGNATURE_BYTES: Final = 64


class BundleError(ValueError):
    """A folder that is no bundle; the message names the file, and what is wrong."""


@dataclass(frozen=True, kw_only=True)
class BundleContent:
    """What a bundle has besides the reports; a server makes one.

    Attributes:
        verification_key: the site's, 32 bytes.
        recipe, result: as the API serves them.
        accepted: the list, and each server's Ed25519 signature of it, 64 bytes, by its role.
        decryptions: each server's part of the decryption, 112 bytes, by its role.
        recipe_proof, list_proof, result_proof: in wire form.
    """

    verification_key: bytes
    recipe: Mapping[str, Any]
    accepted: AcceptedList
    list_signatures: Mapping[str, bytes]
    decryptions: Mapping[str, bytes]
    result: Mapping[str, Any]
    recipe_proof: bytes
    list_proof: bytes
    result_proof: bytes

    @property
    def reports_bytes(self) -> int:
        """Length of the file with the reports."""
        return self.accepted.reports * RECORD_BYTES

    def files(self) -> dict[str, bytes]:
        """Name → content of every file but the reports, which follow in `REPORTS`: `accepted.reports` times
        `RECORD_BYTES`."""
        return {
            BUNDLE: _json({"format": FORMAT, "verification_key": base64_text.encode(self.verification_key)}),
            RECIPE: _json(self.recipe),
            LIST: _json(
                {
                    "recipe": self.accepted.recipe,
                    "reports": self.accepted.reports,
                    "list": self.accepted.digest,
                    "signatures": _encoded(self.list_signatures),
                }
            ),
            DECRYPTIONS: _json(_encoded(self.decryptions)),
            RESULT: _json(self.result),
            RECIPE_PROOF: self.recipe_proof,
            LIST_PROOF: self.list_proof,
            RESULT_PROOF: self.result_proof,
        }


def write_bundle(folder: Path, content: BundleContent, reports: Iterable[bytes]) -> None:
    """Write a bundle into a folder, which is made if it is missing.

    Args:
        reports: in the order of the list, in pieces of any size; they are written one by one.

    Raises:
        BundleError: they are not as many as the list has. The files are left as they are.
        OSError: a file cannot be written, or is there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, encoded in content.files().items():
        with (folder / name).open("xb") as file:
            file.write(encoded)
    written = 0
    with (folder / REPORTS).open("xb") as file:
        for piece in reports:
            written += file.write(piece)
    if written != content.reports_bytes:
        raise BundleError(
            f"{REPORTS}: {written:,} bytes were written, not {content.accepted.reports:,} reports of "
            f"{RECORD_BYTES:,} bytes"
        )


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A bundle whose files have the right form. Nothing else of it is checked.

    Attributes:
        reports_file: the file with the reports.
        reports: how many it has, 1 to `MOST_REPORTS`.
        site_key: with which the site signs, as the bundle names it.
        identifier, document: of the recipe.
        signature, helper_signature, issuer_signature: of the document, 64 bytes; None if missing.
        accepted: the list as it is stated, and by role the servers' signatures of it; None if missing.
        decryptions: by role, each 112 bytes.
        result: as it is served.
        recipe_proof, list_proof, result_proof: read, not checked.
    """

    reports_file: Path
    reports: int
    site_key: Ed25519PublicKey
    identifier: str
    document: Mapping[str, Any]
    signature: bytes | None
    helper_signature: bytes | None
    issuer_signature: bytes | None
    accepted: AcceptedList
    list_signatures: Mapping[str, bytes | None]
    decryptions: Mapping[str, bytes]
    result: Mapping[str, Any]
    recipe_proof: Proof
    list_proof: Proof
    result_proof: Proof

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the files of a folder strictly; of the reports only their number.

        Raises:
            BundleError: a file is missing, unknown, too large or malformed.
        """
        _require_names(folder)
        size = _size(folder / REPORTS, MOST_REPORTS * RECORD_BYTES)
        if not size or size % RECORD_BYTES:
            raise BundleError(
                f"{REPORTS}: has {size:,} bytes, and must be made of 1 or more whole reports of "
                f"{RECORD_BYTES:,} bytes"
            )
        head = _object(folder, BUNDLE, ("format", "verification_key"))
        if head["format"] != FORMAT:
            raise BundleError(f"{BUNDLE}: format must be {FORMAT}")
        served = _object(folder, RECIPE)
        if not isinstance(served.get("document"), dict) or not isinstance(served.get("id"), str):
            raise BundleError(f"{RECIPE}: must have the fields id and document, as the API serves a recipe")
        listed = _object(folder, LIST, ("recipe", "reports", "list", "signatures"))
        parts = _object(folder, DECRYPTIONS, ("leader", "helper"))
        return cls(
            reports_file=folder / REPORTS,
            reports=size // RECORD_BYTES,
            site_key=_key(head["verification_key"]),
            identifier=served["id"],
            document=served["document"],
            signature=_signature(RECIPE, "signature", served.get("signature")),
            helper_signature=_signature(RECIPE, "helper_signature", served.get("helper_signature")),
            issuer_signature=_signature(RECIPE, "issuer_signature", served.get("issuer_signature")),
            accepted=_accepted(listed),
            list_signatures=_signatures(listed["signatures"]),
            decryptions={
                role: _bytes(DECRYPTIONS, role, part, DECRYPTION_BYTES) for role, part in parts.items()
            },
            result=_object(folder, RESULT),
            recipe_proof=_proof(folder, RECIPE_PROOF),
            list_proof=_proof(folder, LIST_PROOF),
            result_proof=_proof(folder, RESULT_PROOF),
        )


def _require_names(folder: Path) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name not in NAMES:
                    raise BundleError(f"{entry.name}: is no file of a bundle")
    except OSError as error:
        raise BundleError(f"the folder cannot be read: {error.strerror}") from error
    for name in NAMES:
        if not (folder / name).exists():
            raise BundleError(f"{name}: is missing")


def _size(file: Path, most: int) -> int:
    """Bytes of a file. A pipe or a device has no size, and reading one could take forever."""
    try:
        found = file.stat()
    except OSError as error:
        raise BundleError(f"{file.name}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise BundleError(f"{file.name}: is no file")
    if found.st_size > most:
        raise BundleError(f"{file.name}: has more than {most:,} bytes")
    return found.st_size


def _content(folder: Path, name: str) -> bytes:
    most = _MOST_BYTES[name]
    _size(folder / name, most)
    try:
        with (folder / name).open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise BundleError(f"{name}: cannot be read: {error.strerror}") from error
    if len(content) > most:
        raise BundleError(f"{name}: has more than {most:,} bytes")
    return content


def _object(folder: Path, name: str, fields: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """The JSON object in a file: with exactly these fields, if any are given."""
    content = _content(folder, name)
    try:
        found = json_object(content, "content")
    except CheckError as error:
        raise BundleError(f"{name}: {error}") from None
    if fields:
        _require_fields(name, found, fields)
    return found


def _require_fields(name: str, found: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    if set(found) != set(fields):
        raise BundleError(f"{name}: must have the fields {', '.join(fields)}, and no other")


def _accepted(listed: Mapping[str, Any]) -> AcceptedList:
    recipe, reports, digest = listed["recipe"], listed["reports"], listed["list"]
    if not isinstance(recipe, str) or not IDENTIFIER_PATTERN.fullmatch(recipe):
        raise BundleError(f"{LIST}: recipe must be 64 hexadecimal digits")
    if type(reports) is not int or not 1 <= reports <= MOST_REPORTS:
        raise BundleError(f"{LIST}: reports must be a whole number from 1 to {MOST_REPORTS:,}")
    if not isinstance(digest, str) or not IDENTIFIER_PATTERN.fullmatch(digest):
        raise BundleError(f"{LIST}: list must be 64 hexadecimal digits")
    return AcceptedList(recipe, reports, digest)


def _signatures(found: object) -> Mapping[str, bytes | None]:
    if not isinstance(found, dict) or not set(found) <= {"leader", "helper"}:
        raise BundleError(f"{LIST}: signatures must be an object with the fields leader and helper")
    return {role: _signature(LIST, f"signatures.{role}", found.get(role)) for role in ("leader", "helper")}


def _signature(name: str, field: str, value: object) -> bytes | None:
    return None if value is None else _bytes(name, field, value, SIGNATURE_BYTES)


def _bytes(name: str, field: str, value: object, length: int) -> bytes:
    try:
        return base64_text.decode(value, length)
    except base64_text.Base64Error as error:
        raise BundleError(f"{name}: {field} {error}") from None


def _key(value: object) -> Ed25519PublicKey:
    try:
        return public_key_of(_bytes(BUNDLE, "verification_key", value, 32))
    except KeyRefusedError as error:
        raise BundleError(f"{BUNDLE}: verification_key {error}") from None


def _proof(folder: Path, name: str) -> Proof:
    content = _content(folder, name)
    try:
        found = Proof.decode(content)
        _ = found.checkpoint
    except NoteError as error:
        raise BundleError(f"{name}: {error}") from None
    return found


def _encoded(values: Mapping[str, bytes]) -> dict[str, str]:
    return {role: base64_text.encode(value) for role, value in values.items()}


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
