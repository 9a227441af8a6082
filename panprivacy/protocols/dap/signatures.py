"""Requests between the aggregators, and their answers, signed with Ed25519 (RFC 9421, RFC 9530).

A request's signature covers method, target URI, content digest and content type. A response's signature
covers status, content digest, content type, location, retry-after and the request's signature. So no response
can be passed off as the answer to another request. Content digests are SHA-256.

A request is valid for a stated time. Within it a copy may arrive again, which does nothing: requests are
idempotent.
"""

import hashlib
import re
from collections.abc import Mapping, Set

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.protocols.dap.signature_base import (
    Component,
    SignatureRefusedError,
    read_input,
    read_signature,
    serialized,
    signature_base,
    write_input,
    write_signature,
)
from panprivacy.protocols.ed25519 import require_signature

LABEL = "dap"
TAG = "dap-18"
"""The purpose of the signature. It is valid for nothing else."""

ALGORITHM = "ed25519"
TOLERANCE_SECONDS = 300
"""How far two clocks may differ, and how old a request may be, unless a caller sets another value."""

Headers = Mapping[str, str]

_METHOD = Component("@method")
_TARGET = Component("@target-uri")
_STATUS = Component("@status")
_DIGEST = Component("content-digest")
_CONTENT_TYPE = Component("content-type")
_REQUEST_SIGNATURE = Component("signature", of_request=True, key=LABEL)
_RESPONSE_HEADERS = ("content-type", "location", "retry-after")

_SHA256 = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")


def content_digest(body: bytes) -> str:
    """The value of a Content-Digest header."""
    return f"sha-256={serialized(hashlib.sha256(body).digest())}"


def sign_request(
    *,
    method: str,
    url: str,
    body: bytes,
    content_type: str = "",
    signing_key: Ed25519PrivateKey,
    created: int,
) -> dict[str, str]:
    """The headers that sign a request: Content-Digest, Signature-Input and Signature.

    Args:
        method: in upper case.
        url: the whole address, in the recipient's own form: scheme, host, path and query.
        body: may be empty.
        content_type: of the sent body; empty if the request has none.
        created: the current time, in seconds since 1970.
    """
    values = {_METHOD: method, _TARGET: url, _DIGEST: content_digest(body)}
    if content_type:
        values[_CONTENT_TYPE] = content_type
    return _signed(values, {"created": created, "alg": ALGORITHM, "tag": TAG}, signing_key)


def verify_request(
    *,
    method: str,
    url: str,
    headers: Headers,
    body: bytes,
    verification_key: Ed25519PublicKey,
    now: int,
    tolerance: int = TOLERANCE_SECONDS,
) -> None:
    """Check that the holder of the signing key sent this request, unchanged and a short time ago.

    Args:
        url: the requested address in the recipient's own form, not from the request.
        headers: by name, in any case.
        now: the current time, in seconds since 1970.
        tolerance: seconds that `created` may differ from `now`.

    Raises:
        SignatureRefusedError: it does not.
    """
    given = _lower(headers)
    values = {_METHOD: method, _TARGET: url}
    created = _verify(values, given, {"content-type"}, body, verification_key, now)
    if created is None or not now - tolerance <= created <= now + tolerance:
        raise SignatureRefusedError("the signature was not made just now")


def sign_response(
    *, status: int, headers: Headers, body: bytes, request_headers: Headers, signing_key: Ed25519PrivateKey
) -> dict[str, str]:
    """The headers that sign a response: Content-Digest, Signature-Input and Signature.

    Args:
        headers: of the response, by name, in any case; Content-Type, Location and Retry-After are covered.
        request_headers: of the request, whose signature need not be valid.

    Raises:
        SignatureRefusedError: the request has no signature to which the response could be bound.
    """
    given = _lower(headers)
    values = {_STATUS: str(status), _DIGEST: content_digest(body)}
    values |= {Component(name): given[name] for name in _RESPONSE_HEADERS if name in given}
    values[_REQUEST_SIGNATURE] = _request_signature(request_headers)
    return _signed(values, {"alg": ALGORITHM, "tag": TAG}, signing_key)


def verify_response(
    *,
    status: int,
    headers: Headers,
    body: bytes,
    request_headers: Headers,
    verification_key: Ed25519PublicKey,
    now: int,
) -> None:
    """Check that the response comes unchanged from the holder of the signing key, and answers the request.

    Args:
        request_headers: as `sign_request` made them.
        now: the current time, in seconds since 1970.

    Raises:
        SignatureRefusedError: it does not.
    """
    values = {_STATUS: str(status), _REQUEST_SIGNATURE: _request_signature(request_headers)}
    _verify(values, _lower(headers), set(_RESPONSE_HEADERS), body, verification_key, now)


def _signed(
    values: Mapping[Component, str], parameters: Mapping[str, int | str], signing_key: Ed25519PrivateKey
) -> dict[str, str]:
    described = write_input(LABEL, tuple(values), parameters)
    base = signature_base(tuple(values), values, described.removeprefix(f"{LABEL}="))
    return {
        "Content-Digest": values[_DIGEST],
        "Signature-Input": described,
        "Signature": write_signature(LABEL, signing_key.sign(base)),
    }


def _verify(
    values: Mapping[Component, str],
    headers: Headers,
    covered_headers: Set[str],
    body: bytes,
    verification_key: Ed25519PublicKey,
    now: int,
) -> int | None:
    """The signature's creation time, if it covers all `values`, the body's digest, and those of
    `covered_headers` that the message has."""
    described = read_input(headers.get("signature-input", ""))
    if described.label != LABEL or described.tag != TAG or described.algorithm != ALGORITHM:
        raise SignatureRefusedError("the signature is not one of this protocol")
    _check_digest(headers.get("content-digest", ""), body)
    required = {*values, _DIGEST} | {Component(name) for name in covered_headers if name in headers}
    missing = required - set(described.components)
    if missing:
        raise SignatureRefusedError(f"the signature does not cover {', '.join(sorted(map(str, missing)))}")
    # The recipient's own values come last: no header may replace them.
    known = {Component(name): value for name, value in headers.items()} | dict(values)
    base = signature_base(described.components, known, described.parameters)
    try:
        require_signature(verification_key, read_signature(headers.get("signature", ""), LABEL), base)
    except InvalidSignature:
        raise SignatureRefusedError("the signature does not hold") from None
    if described.expires is not None and described.expires < now:
        raise SignatureRefusedError("the signature has expired")
    return described.created


def _check_digest(header: str, body: bytes) -> None:
    # The sender may add other algorithms than SHA-256; they are ignored (RFC 9530, section 2).
    for member in header.split(","):
        found = _SHA256.fullmatch(member.strip(" "))
        if found is None:
            continue
        try:
            if base64_text.decode(found[1]) == hashlib.sha256(body).digest():
                return
        except base64_text.Base64Error:
            pass
        raise SignatureRefusedError("the content does not match Content-Digest")
    raise SignatureRefusedError("there is no SHA-256 in Content-Digest")


def _request_signature(headers: Headers) -> str:
    return serialized(read_signature(_lower(headers).get("signature", ""), LABEL))


def _lower(headers: Headers) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in headers.items()}
