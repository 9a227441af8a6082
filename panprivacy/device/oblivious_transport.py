"""Requests through a relay (RFC 9458): the relay sees the sender and not the request; the server's gateway
sees the request and not the sender.

Only the content of a capsule is the server's answer. A relay's own response is no answer, whatever it
is: it could claim that a report has arrived, or that a recipe is closed.
"""

import http
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import urllib3

from panprivacy.device.transport import JSON, RETRIES, Answer, Transport, TransportError
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import capsules, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import InvalidBinaryHttpError, Request, Response
from panprivacy.protocols.oblivious_http.keys import MEDIA_TYPE, KeyConfig
from panprivacy.protocols.oblivious_http.signed_keys import UnsignedKeysError

CAPSULE_REFUSED = "/problems/capsule-refused"
"""Type of the problem with which our gateways refuse a capsule that does not open: it was altered or cut."""


@dataclass(frozen=True)
class Gateway:
    """The gateway of a server, to which a relay leads.

    Attributes:
        name: the server's path below the relay's address for the publishing site; empty for that site itself.
        verification_key: its Ed25519 key (32 bytes), pinned, with which it signs its gateway's keys.
    """

    name: str
    verification_key: bytes


class ObliviousTransport(Transport):
    """Through a relay, with bounded retries as over HTTP. Every attempt is sealed anew, so that the relay
    cannot distinguish it from another request.

    Args:
        server: base address of the server; its path is the prefix of every request's path.
        relay_url: the relay's address of the publishing site.
        direct: the transport to the relay; stays open. Its `retries` apply.
        gateway: of the server.
        others: base address → gateway of every other server that the relay leads to.
        at_least: bytes of every request without padding, if those of a recipe have several lengths.
        kem: with which capsules are sealed; None for the first that a gateway offers.

    Raises:
        ValueError: nothing can be reached under `relay_url`.
    """

    def __init__(
        self,
        server: str,
        relay_url: str,
        direct: Transport,
        gateway: Gateway,
        *,
        others: Mapping[str, Gateway] | None = None,
        at_least: int = 0,
        kem: KemName | None = None,
    ) -> None:
        parts = urlsplit(server)
        self.retries = direct.retries
        self._authority, self._prefix = parts.netloc, parts.path
        self._relay_url = relay_url
        self._direct = direct
        self._relay = direct.once_at(f"{relay_url}/{gateway.name}" if gateway.name else relay_url)
        self._verification_key = public_key_of(gateway.verification_key)
        self._others = dict(others or {})
        self._at_least = at_least
        self._kem = kem
        self._config: KeyConfig | None = None

    def close(self) -> None:
        self._relay.close()

    def at(self, base_url: str) -> "ObliviousTransport":
        """ValueError for a server to which the relay does not lead: no request goes in the clear."""
        if base_url not in self._others:
            raise ValueError(f"the recipe's relay does not lead to {base_url}")
        return ObliviousTransport(
            *(base_url, self._relay_url, self._direct, self._others[base_url]),
            others=self._others,
            at_least=self._at_least,
            kem=self._kem,
        )

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = JSON,
        fields: Mapping[str, str] | None = None,
    ) -> Answer:
        """As in `Transport`.

        Raises:
            padding.TooLongError: the request is longer than any that a gateway takes.
        """
        all_fields = {"accept": accept, "content-type": content_type, **(fields or {})}
        request = Request(
            method.encode(),
            b"https",
            self._authority.encode(),
            (self._prefix + target).encode(),
            tuple((name.lower().encode(), value.encode()) for name, value in all_fields.items() if value),
            body,
        )
        padded = padding.padded(request.encode(), self._at_least)
        retries = self.retries
        while True:
            tried = self._tried(padded)
            attempts = 1 + len(retries.history)
            if isinstance(tried, Answer) and tried.status not in retries.status_forcelist:
                return replace(tried, attempts=attempts)
            response = urllib3.HTTPResponse(status=tried.status, headers=tried.headers)
            try:
                retries = retries.increment(method, target, response)
            except urllib3.exceptions.MaxRetryError:
                if isinstance(tried, Answer):
                    return replace(tried, attempts=attempts)
                raise TransportError(str(tried)) from tried
            retries.sleep(response)

    def _tried(self, padded: bytes) -> "Answer | _PassingError":
        try:
            return self._answered(padded)
        except _PassingError as failure:
            return failure

    def _answered(self, padded: bytes) -> Answer:
        """The server's answer to one capsule, or to a second one with other keys if the gateway asks for
        it."""
        if self._config is not None:
            try:
                return self._sent(self._config, padded)
            except _OutdatedKeyError:
                self._config = None
        self._config = self._fetched()
        try:
            return self._sent(self._config, padded)
        except _OutdatedKeyError:
            self._config = None
            raise TransportError("the gateway does not know the key that it has just handed out") from None

    def _sent(self, config: KeyConfig, padded: bytes) -> Answer:
        try:
            capsule, context = capsules.seal(config, padded, secrets.SystemRandom())
        except InvalidMessageError as error:
            raise TransportError(f"the gateway's key cannot be used: {error}") from error
        outer = self._passed_on(
            "POST", capsule, capsules.REQUEST_MEDIA_TYPE, accept=capsules.RESPONSE_MEDIA_TYPE
        )
        if outer.status != http.HTTPStatus.OK or not _is(outer, capsules.RESPONSE_MEDIA_TYPE):
            raise _refused(outer)
        try:
            return answer_of(context.open(outer.body))
        except capsules.CapsuleError:
            message = "the answer through the relay was altered, or is one to another request"
            raise _PassingError(message) from None
        except InvalidBinaryHttpError as error:
            raise TransportError(f"the gateway's answer is none: {error}") from error

    def _fetched(self) -> KeyConfig:
        """The gateway's keys, signed by the server itself: the relay could hand out keys of its own."""
        outer = self._passed_on("GET", accept=MEDIA_TYPE)
        if outer.status != http.HTTPStatus.OK or not _is(outer, MEDIA_TYPE):
            raise _refused(outer)
        signature = outer.headers.get(signed_keys.HEADER.lower(), "")
        try:
            return signed_keys.verified(outer.body, signature, self._verification_key, self._kem)[0]
        except UnsignedKeysError as error:
            raise TransportError(f"nothing was sent through the relay: {error}") from error

    def _passed_on(self, method: str, body: bytes = b"", content_type: str = "", *, accept: str) -> Answer:
        try:
            return self._relay.exchange(method, "", body=body, content_type=content_type, accept=accept)
        except TransportError as error:
            raise _PassingError(str(error)) from error


def answer_of(opened: bytes) -> Answer:
    """A server's answer in a capsule. InvalidBinaryHttpError if it is no answer."""
    response = Response.decode(opened)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
    return Answer(response.status, headers, response.content)


class _OutdatedKeyError(Exception):
    """The gateway has replaced this key."""


class _PassingError(Exception):
    """An error that another attempt may mend.

    Attributes:
        status, headers: of the relay's or the gateway's own response outside of any capsule; 0 without an
            answer.
    """

    def __init__(self, message: str, answer: Answer | None = None) -> None:
        super().__init__(message)
        self.status = 0 if answer is None else answer.status
        self.headers: Mapping[str, str] = {} if answer is None else answer.headers


def _refused(outer: Answer) -> Exception:
    """The meaning of an answer outside of any capsule."""
    problem = _problem(outer)
    if problem == capsules.KEY_PROBLEM:
        return _OutdatedKeyError()
    message = f"the relay answered {outer.status}" + (f" ({problem})" if problem else "")
    if outer.status in RETRIES.status_forcelist or problem == CAPSULE_REFUSED:
        return _PassingError(message, outer)
    return TransportError(message)


def _problem(outer: Answer) -> str:
    try:
        members = json.loads(outer.body)
    except (ValueError, RecursionError):
        return ""
    kind = members.get("type") if isinstance(members, dict) else None
    return kind if isinstance(kind, str) else ""


def _is(answer: Answer, media_type: str) -> bool:
    return answer.headers.get("content-type", "").partition(";")[0].strip() == media_type
