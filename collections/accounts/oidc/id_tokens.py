"""Verifying an ID token (OpenID Connect Core 1.0, 3.1.3.7), stricter than it must be: one audience, two
algorithms, and nothing that was issued before the person was sent to the provider."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from django.utils.crypto import constant_time_compare

from accounts.oidc.configuration import LONGEST_SUBJECT, Organization
from accounts.oidc.refusals import SignInRefusedError
from web.strict_json import JSONRefusedError, json_of

LEEWAY_SECONDS = 60
"""By which the provider's clock may differ from ours."""

LAST_SECOND = 10**11
"""Times in seconds since 1970 are below: one in milliseconds is none."""

SMALLEST_RSA_BITS = 2048

LONGEST_TOKEN = 64 * 1024
"""Characters: thousands of groups."""

KEY_TYPES: Mapping[str, Mapping[str, str]] = {"RS256": {"kty": "RSA"}, "ES256": {"kty": "EC", "crv": "P-256"}}
"""Algorithms that are accepted, with the fields of their keys: never `none`, nor one with a shared secret."""

SECOND_FACTOR = "mfa"
"""In the claim `amr`: the provider asked for more than one factor (RFC 8176)."""

Keys = Callable[[bool], list[dict[str, Any]]]
"""The provider's keys as JSON Web Keys; with True they are fetched anew."""


@dataclass(frozen=True)
class Person:
    """What a verified ID token states of a person.

    Attributes:
        subject: the person's name for good, unique at the issuer.
        name: what the provider calls the person at present; may be empty.
        groups: names of groups.
        authenticated_at: when the provider last asked for credentials, in seconds since 1970; None if that
            is not stated.
        second_factor: whether the provider states that it asked for one.
    """

    subject: str
    name: str
    groups: frozenset[str]
    authenticated_at: float | None
    second_factor: bool


def person_of(
    token: str, *, organization: Organization, keys: Keys, nonce: str, begun: float, now: float
) -> Person:
    """The person of an ID token.

    Args:
        keys: asked anew once if no key fits, because the provider may have replaced them.
        nonce: what this browser was sent to the provider with.
        begun, now: when it was sent there, and the present, in seconds since 1970.

    Raises:
        SignInRefusedError: names the check that failed.
    """
    claims = _verified(token, keys)
    if claims.get("iss") != organization.issuer:
        raise SignInRefusedError("issuer")
    if claims.get("aud") not in (organization.client_id, [organization.client_id]):
        raise SignInRefusedError("audience")
    if claims.get("azp", organization.client_id) != organization.client_id:
        raise SignInRefusedError("authorized party")
    # JSON can have halves of surrogate pairs, which UTF-8 cannot.
    if not constant_time_compare(_text(claims, "nonce").encode(errors="surrogatepass"), nonce):
        raise SignInRefusedError("nonce")
    _check_times(claims, begun, now)
    subject = _text(claims, "sub")
    if not (0 < len(subject) <= LONGEST_SUBJECT and subject.isascii() and subject.isprintable()):
        raise SignInRefusedError("subject")
    methods = claims.get("amr")
    return Person(
        subject=subject,
        name=_text(claims, "preferred_username"),
        groups=_groups(claims, organization.groups_claim),
        authenticated_at=_seconds(claims, "auth_time"),
        second_factor=isinstance(methods, list) and SECOND_FACTOR in methods,
    )


def _verified(token: str, keys: Keys) -> dict[str, Any]:
    """The claims of a token that one of the keys signed."""
    if len(token) > LONGEST_TOKEN:
        raise SignInRefusedError("length")
    if not token.isascii():
        raise SignInRefusedError("form")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise SignInRefusedError("form") from None
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in KEY_TYPES:
        raise SignInRefusedError("algorithm")
    for fresh in (False, True):
        for key in _keys_for(keys(fresh), algorithm, header.get("kid")):
            try:
                payload = jwt.PyJWS([algorithm]).decode(token, key, algorithms=[algorithm])
            except jwt.PyJWTError:
                continue
            return _object(payload)
    raise SignInRefusedError("signature")


def _keys_for(keys: list[dict[str, Any]], algorithm: str, kid: object) -> Iterator[jwt.PyJWK]:
    """Keys for signatures by this algorithm, of this name if the token names one."""
    for key in keys:
        is_named = kid is None or key.get("kid") == kid
        is_of_type = all(key.get(name) == value for name, value in KEY_TYPES[algorithm].items())
        if not (is_named and is_of_type and key.get("use", "sig") == "sig"):
            continue
        if key.get("alg", algorithm) != algorithm:
            continue
        try:
            found = jwt.PyJWK(key, algorithm)
        except jwt.PyJWTError:
            continue
        if not isinstance(found.key, RSAPublicKey) or found.key.key_size >= SMALLEST_RSA_BITS:
            yield found


def _object(payload: bytes) -> dict[str, Any]:
    try:
        claims = json_of(payload)
    except JSONRefusedError:
        raise SignInRefusedError("form") from None
    if not isinstance(claims, dict):
        raise SignInRefusedError("form")
    return claims


def _check_times(claims: Mapping[str, Any], begun: float, now: float) -> None:
    expires, issued = _seconds(claims, "exp"), _seconds(claims, "iat")
    if expires is None or expires <= now - LEEWAY_SECONDS:
        raise SignInRefusedError("expiry")
    if issued is None or not begun - LEEWAY_SECONDS <= issued <= now + LEEWAY_SECONDS:
        raise SignInRefusedError("time of issue")
    if "nbf" in claims:
        valid_from = _seconds(claims, "nbf")
        if valid_from is None or valid_from > now + LEEWAY_SECONDS:
            raise SignInRefusedError("not valid yet")


def _groups(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    """Names of groups. A provider with a person in too many leaves the claim out, which must not read as
    none."""
    groups = claims.get(claim)
    if isinstance(groups, str):
        groups = [groups]
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise SignInRefusedError("groups missing")
    return frozenset(groups)


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value < LAST_SECOND else None
