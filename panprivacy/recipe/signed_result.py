"""A published result in the form that its site signs, and its hash, which is in the public log."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.formats.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.protocols.ed25519 import require_signature

CONTEXT = b"panapp-result-1\n"
"""The prefix of the signed bytes, so that a signature of a result is never valid for anything else."""

UNSIGNED = ("signature", "truth", "devices", "sampled")
"""Fields of `result.json` that are not signed: the signature, and the true values that only a simulation
knows."""


class ResultRefusedError(ValueError):
    """A result that differs from the signed one."""


def signed_bytes(result: Mapping[str, Any]) -> bytes:
    """The signed part of `result.json`: canonical JSON (RFC 8785) without the unsigned fields.

    Raises:
        ResultRefusedError: it has no canonical form.
    """
    is_simulation = result.get("simulation") is True
    # The true values of a real result are unknown, so a file that has them was changed.
    unsigned = UNSIGNED if is_simulation else UNSIGNED[:1]
    members = {name: value for name, value in result.items() if name not in unsigned}
    segments = members.get("segments")
    if is_simulation and isinstance(segments, list):
        members["segments"] = [_without_truth(segment) for segment in segments]
    try:
        return canonical_json(members)
    except NoCanonicalFormError as error:
        raise ResultRefusedError(f"the result has no canonical form: {error}") from error


def sign_result(result: Mapping[str, Any], key: Ed25519PrivateKey) -> tuple[bytes, bytes]:
    """The signed bytes of a result, and the Ed25519 signature of them, 64 bytes.

    Raises:
        ResultRefusedError: it has no canonical form, or its readers would check other bytes.
    """
    content = signed_bytes(result)
    if signed_bytes(json.loads(content)) != content:
        raise ResultRefusedError("the result is not read as it was written")
    return content, key.sign(CONTEXT + content)


def result_hash(result: Mapping[str, Any]) -> str:
    """SHA-256 of the signed bytes, 64 hexadecimal digits; ResultRefusedError as in `signed_bytes`."""
    return hashlib.sha256(signed_bytes(result)).hexdigest()


def verify_result(result: Mapping[str, Any], key: Ed25519PublicKey) -> None:
    """ResultRefusedError unless the result bears a signature by `key` of exactly this."""
    message = CONTEXT + signed_bytes(result)
    try:
        require_signature(key, base64_text.decode(result.get("signature"), 64), message)
    except (InvalidSignature, base64_text.Base64Error):
        raise ResultRefusedError("the signature is not the site's, or the result was changed") from None


def _without_truth(segment: object) -> object:
    if not isinstance(segment, dict):
        return segment
    return {name: value for name, value in segment.items() if name != "truth"}
