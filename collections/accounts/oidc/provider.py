"""Requests to the organization's provider: its discovery document, its keys, and the exchange of a code.

A provider that is slow or down holds few threads of a process, each for seconds, and no connection to the
database. Redirects are not followed. Addresses on hosts other than the issuer's must be public ones.
"""

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from django.core.cache import cache

from accounts.oidc.configuration import Organization
from accounts.oidc.refusals import ProviderSilentError, SignInRefusedError
from web.busy import BusyError
from web.public_hosts import is_public_host
from web.transport import Addresses, https_transport

REQUEST_SECONDS = 5.0
"""For each request as a whole."""

ANSWER_BYTES = 256 * 1024
"""Most bytes of an answer."""

AT_ONCE = 4
"""Requests of one process that are under way."""

KEPT_SECONDS = 300
"""For which the discovery document and the keys are kept: a key that the provider withdraws is accepted for
as long."""

PAUSE_SECONDS = 10
"""For which a provider that gave no discovery document is not asked for it again."""

MOST_KEYS = 50

SCOPES = ("openid", "profile")

BASIC, POST = "client_secret_basic", "client_secret_post"

_places = threading.BoundedSemaphore(AT_ONCE)


def authorization_address(
    organization: Organization, *, redirect_uri: str, state: str, nonce: str, verifier: str, again: bool
) -> str:
    """Where a browser is sent to sign in (authorization code, PKCE with S256).

    Args:
        verifier: a secret of 43 to 128 characters (RFC 7636). The provider is shown its hash.
        again: whether the provider must ask for credentials, even if the person is signed in there.

    Raises:
        ProviderSilentError: its discovery document cannot be had.
        BusyError: too many requests to it are under way.
    """
    described = _description(organization)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": organization.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(described["scopes"]),
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        **({"prompt": "login", "max_age": "0"} if again else {}),
    }
    address = str(described["authorization_endpoint"])
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


def id_token(organization: Organization, *, code: str, redirect_uri: str, verifier: str) -> str:
    """The ID token that the provider gives for a code; not verified.

    Raises:
        SignInRefusedError: the provider refuses the code.
        ProviderSilentError: it does not answer.
        BusyError: too many requests to it are under way.
    """
    described = _description(organization)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    name, secret = organization.client_id, organization.client_secret
    if described["is_basic"]:
        # RFC 6749, 2.3.1: both are encoded as in forms.
        pair = f"{quote_plus(name)}:{quote_plus(secret)}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    else:
        form |= {"client_id": name, "client_secret": secret}
    answer = _ask(organization, "POST", described["token_endpoint"], headers, urlencode(form).encode())
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise SignInRefusedError("no ID token")
    return token


def provider_keys(organization: Organization, fresh: bool) -> list[dict[str, Any]]:
    """The provider's keys as JSON Web Keys, at most `MOST_KEYS`. Errors as of `id_token`.

    Args:
        fresh: whether to fetch them anew.
    """
    name = _kept_as(organization, "keys")
    kept = None if fresh else cache.get(name)
    if kept is not None:
        return list(kept)
    answer = _ask(organization, "GET", _description(organization)["jwks_uri"])
    found = answer.get("keys")
    if not isinstance(found, list):
        raise ProviderSilentError("keys")
    keys = [key for key in found if isinstance(key, dict)][:MOST_KEYS]
    cache.set(name, keys, KEPT_SECONDS)
    return keys


def _description(organization: Organization) -> dict[str, Any]:
    """The fields of the discovery document that are needed (OpenID Connect Discovery 1.0, 4)."""
    name = _kept_as(organization, "description")
    kept = cache.get(name)
    if kept is not None:
        if not kept:
            raise ProviderSilentError("discovery document")
        return dict(kept)
    address = f"{organization.issuer.rstrip('/')}/.well-known/openid-configuration"
    try:
        described = _described(organization, _ask(organization, "GET", address))
    except ProviderSilentError:
        cache.set(name, {}, PAUSE_SECONDS)
        raise
    cache.set(name, described, KEPT_SECONDS)
    return described


def _described(organization: Organization, document: Mapping[str, Any]) -> dict[str, Any]:
    if document.get("issuer") != organization.issuer:
        raise ProviderSilentError("issuer of the discovery document")
    endpoints = {
        name: _endpoint(organization, document.get(name))
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
    }
    methods = document.get("token_endpoint_auth_methods_supported", [BASIC])
    if not isinstance(methods, list) or not {BASIC, POST} & {*map(str, methods)}:
        raise ProviderSilentError("authentication of clients")
    offered = document.get("scopes_supported")
    # Some providers have a scope of the same name that brings the claim; others refuse what they do not know.
    groups = organization.groups_claim
    wanted = [*SCOPES, *([groups] if isinstance(offered, list) and groups in offered else [])]
    return {**endpoints, "is_basic": BASIC in methods, "scopes": list(dict.fromkeys(wanted))}


def _endpoint(organization: Organization, address: object) -> str:
    """An address that the provider names: https, unless its own is not."""
    schemes = ("https", "http") if organization.issuer.startswith("http:") else ("https",)
    if isinstance(address, str) and address.isascii() and address.isprintable() and " " not in address:
        try:
            parts = urlsplit(address)
            is_plain = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        except ValueError:
            is_plain = False
        if is_plain and parts.scheme in schemes and "#" not in address:
            return address
    raise ProviderSilentError("an address in the discovery document")


def _ask(
    organization: Organization,
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> dict[str, Any]:
    """The object that the provider answers."""
    if not _places.acquire(blocking=False):
        raise BusyError
    try:
        status, _, content = https_transport(
            method,
            url,
            {"Accept": "application/json", "User-Agent": "panapp", **(headers or {})},
            body,
            seconds=REQUEST_SECONDS,
            addresses_of=partial(_addresses, str(urlsplit(organization.issuer).hostname)),
            largest_answer=ANSWER_BYTES,
        )
    except OSError as error:
        raise ProviderSilentError(f"no answer: {type(error).__name__}") from error
    finally:
        _places.release()
    if body and 400 <= status < 500:
        raise SignInRefusedError("code")
    if status != 200:
        raise ProviderSilentError(f"status {status}")
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ProviderSilentError("not a JSON object")
    return answer


def _addresses(issuer_host: str, host: str, port: int) -> Addresses:
    """Those of a host that may be asked: every one of the issuer's, which the operator chose, and public ones
    of others, which its document chose. OSError if it has others."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if host != issuer_host and not is_public_host(found):
        raise OSError("not a public host")
    return found


def _kept_as(organization: Organization, what: str) -> str:
    of_settings = "\n".join((organization.issuer, organization.groups_claim))
    return f"oidc-{what}-{hashlib.sha256(of_settings.encode()).hexdigest()}"
