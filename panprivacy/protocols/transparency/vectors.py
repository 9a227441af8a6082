"""Test vectors of Merkle proofs: objects with the fields of transparency-dev's, one or a list in a file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from panprivacy.formats import base64_text
from panprivacy.formats.vector_files import VectorError, read_json
from panprivacy.protocols.transparency.merkle import ProofError, verify_consistency, verify_inclusion

Vector = Mapping[str, Any]


def check_file(path: Path) -> None:
    """Verify every proof of a file.

    Raises:
        VectorError: the file is unreadable or of an unknown type, or a proof's outcome differs from
            `wantErr`.
    """
    content = read_json(path)
    vectors = content if isinstance(content, list) else [content]
    if not vectors:
        raise VectorError("has no vectors")
    for number, vector in enumerate(vectors):
        where = f"vector {number}{_description(vector)}: " if isinstance(content, list) else ""
        try:
            _check(vector)
        except KeyError as error:
            raise VectorError(f"{where}has no field {error.args[0]!r}") from error
        except VectorError as error:
            raise VectorError(f"{where}{error}") from error


def _check(vector: object) -> None:
    if not isinstance(vector, dict):
        raise VectorError("must be an object")
    verify = next((verify for member, verify in _KINDS.items() if member in vector), None)
    if verify is None:
        raise VectorError(f"is of nothing that is known here: has none of {', '.join(_KINDS)}")
    wanted = vector["wantErr"]
    if not isinstance(wanted, bool):
        raise VectorError("wantErr: must be true or false")
    found = ""
    try:
        verify(vector)
    except ProofError as error:
        found = str(error)
    if wanted and not found:
        raise VectorError("the proof holds, and should not")
    if found and not wanted:
        raise VectorError(f"the proof should hold: {found}")


def _inclusion(vector: Vector) -> None:
    verify_inclusion(
        leaf=_bytes(vector, "leafHash"),
        index=_number(vector, "leafIdx"),
        size=_number(vector, "treeSize"),
        proof=_proof(vector),
        root_hash=_bytes(vector, "root"),
    )


def _consistency(vector: Vector) -> None:
    verify_consistency(
        old=_number(vector, "size1"),
        new=_number(vector, "size2"),
        old_root=_bytes(vector, "root1"),
        new_root=_bytes(vector, "root2"),
        proof=_proof(vector),
    )


_KINDS: Mapping[str, Callable[[Vector], None]] = {"leafIdx": _inclusion, "size1": _consistency}
"""The check, by a field that only such vectors have."""


def _number(vector: Vector, name: str) -> int:
    value = vector[name]
    if type(value) is not int:
        raise VectorError(f"{name}: must be a whole number")
    return value


def _bytes(vector: Vector, name: str) -> bytes:
    return _decoded(name, vector[name])


def _proof(vector: Vector) -> list[bytes]:
    proof = vector["proof"]
    if proof is None:
        return []
    if not isinstance(proof, list):
        raise VectorError("proof: must be a list or null")
    return [_decoded("proof", part) for part in proof]


def _decoded(name: str, value: object) -> bytes:
    # Some write no bytes as null.
    try:
        return b"" if value is None else base64_text.decode(value)
    except base64_text.Base64Error as error:
        raise VectorError(f"{name}: {error}") from None


def _description(vector: object) -> str:
    found = vector.get("desc") if isinstance(vector, dict) else None
    return f" ({found})" if isinstance(found, str) else ""
