"""Requests to the other server: signed, and believed only if the answer is signed too."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.utils import timezone

from panprivacy.protocols.dap.media import problem_token
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from panprivacy.protocols.dap.signatures import Headers, sign_request, verify_response
from panprivacy.protocols.ed25519 import public_key_of
from storage.key_halves import private_half
from web.transport import Transport, https_transport

LONGEST_WORDS = 200
"""Most characters of the other server's text that are shown."""

LONGEST_LOCATION = 500
"""Characters of an address that the other server may give us to remember."""

NOT_FINAL = frozenset({401, 403, 408, 411, 413, 425, 429})
"""Client errors that do not end a request. Those that are found before our signature is checked may be caused
by the network, and clocks, keys and limits can be corrected."""

UNRECOGNIZED_TASK = "unrecognizedTask"
"""DAP's token for the refusal of an aggregator that has ended a task, or does not know it."""


class PeerUnavailableError(Exception):
    """No answer that the other server signed, or one that means "later". The same request may be sent again,
    and may have been carried out."""


class PeerRefusedError(Exception):
    """A refusal that the other server signed; sending the same again will not help. The message is in its
    words, on one line that databases, logs and pages can hold.

    Attributes:
        status: HTTP status.
        problem: the problem document; empty if there was none.
        token: DAP's error token, e.g. `batchMismatch`; None for any other type.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        words = _words(problem.get("detail")) or _words(problem.get("title"))
        super().__init__(words or f"refused with status {status}")
        self.status = status
        self.problem = problem
        self.token = problem_token(problem.get("type"))


@dataclass(frozen=True)
class PeerAnswer:
    """A success that the other server signed.

    Attributes:
        location: as in the header, relative or whole; empty without one.
        retry_after: None without one.
    """

    status: int
    body: bytes
    location: str
    retry_after: timedelta | None


class PeerClient:
    """The other server.

    Args:
        url: its base address.
        verification_key: its Ed25519 key, 32 bytes.
        signing_key: ours, 32 bytes.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        *,
        url: str,
        verification_key: bytes,
        signing_key: bytes,
        transport: Transport = https_transport,
        clock: Callable[[], float] = lambda: timezone.now().timestamp(),
    ) -> None:
        self.url = url
        self._verification_key = public_key_of(verification_key)
        self._signing_key = private_half(signing_key)
        self._transport = transport
        self._clock = clock

    def post(self, path: str, body: bytes, content_type: str) -> PeerAnswer:
        """POST below the base address, e.g. to `/tasks/…/aggregation_jobs`. Raises as `send`."""
        return self.send("POST", path, body, content_type)

    def get(self, path: str) -> PeerAnswer:
        """GET; `path` may also be a Location that the other server gave. Raises as `send`."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: bytes = b"", content_type: str = "") -> PeerAnswer:
        """One request, one answer.

        Raises:
            PeerUnavailableError: try again later, with the same bytes.
            PeerRefusedError: a refusal for good.
        """
        url = self.address(path)
        headers = self._authentication(method, url, body, content_type)
        if content_type:
            headers["Content-Type"] = content_type
        try:
            status, answered, content = self._transport(method, url, headers, body)
        except OSError as error:
            raise PeerUnavailableError(f"no answer from {self.url}: {type(error).__name__}") from error
        self._require_theirs(status, answered, content, headers)
        lower = {name.lower(): value for name, value in answered.items()}
        if 200 <= status < 300:
            return PeerAnswer(status, content, lower.get("location", ""), _retry_after(lower))
        refusal = PeerRefusedError(status, _problem(content))
        if not self._is_final(refusal):
            raise PeerUnavailableError(f"status {status} from {self.url}: {refusal}") from refusal
        raise refusal

    def _is_final(self, refusal: PeerRefusedError) -> bool:
        """Whether sending the same again cannot help."""
        return 400 <= refusal.status < 500 and refusal.status not in NOT_FINAL

    def _authentication(self, method: str, url: str, body: bytes, content_type: str) -> dict[str, str]:
        """The headers by which the other server knows that a request is ours."""
        return sign_request(
            method=method,
            url=url,
            body=body,
            content_type=content_type,
            signing_key=self._signing_key,
            created=int(self._clock()),
        )

    def _require_theirs(self, status: int, answered: Headers, content: bytes, headers: Headers) -> None:
        """Raises PeerUnavailableError unless the answer to a request with `headers` is the other server's."""
        try:
            verify_response(
                status=status,
                headers=answered,
                body=content,
                request_headers=headers,
                verification_key=self._verification_key,
                now=int(self._clock()),
            )
        except SignatureRefusedError as error:
            words = f"status {status} from {self.url}, without a signature of the other server that holds"
            raise PeerUnavailableError(words) from error

    def address(self, path: str) -> str:
        """The whole address of a path below the base address, or of a Location that we were given.

        Raises:
            PeerUnavailableError: none of the other server's. What it signed may still not send us
                elsewhere: our signature is for this host.
        """
        base = urlsplit(self.url)
        refusal = PeerUnavailableError("the other server named an address that is not its own")
        if len(path) > LONGEST_LOCATION or not path.isascii() or not path.isprintable() or " " in path:
            raise refusal
        try:
            if not path.startswith(f"{base.path}/") and not urlsplit(path).netloc:
                whole = self.url + path if path.startswith("/") else ""
            else:
                whole = urljoin(self.url, path)
            if urlsplit(whole)[:2] == base[:2]:
                return whole
        except ValueError:
            raise refusal from None
        raise refusal


class TokenClient(PeerClient):
    """A server that signs nothing, and knows us by a token. TLS alone shows whose answers these are: a
    refusal ends a request only if it is a problem document, which proxies hardly send.

    Args:
        url: its base address.
        token: the headers that present the token.
    """

    def __init__(self, *, url: str, token: Mapping[str, str], transport: Transport = https_transport) -> None:
        self.url = url
        self._token = token
        self._transport = transport

    def _authentication(self, method: str, url: str, body: bytes, content_type: str) -> dict[str, str]:
        return dict(self._token)

    def _is_final(self, refusal: PeerRefusedError) -> bool:
        # The task may be set up there later: what is unknown today is asked again.
        is_unknown = refusal.status == 404 or refusal.token == UNRECOGNIZED_TASK
        return super()._is_final(refusal) and not is_unknown

    def _require_theirs(self, status: int, answered: Headers, content: bytes, headers: Headers) -> None:
        if 400 <= status < 500 and not isinstance(_problem(content).get("type"), str):
            raise PeerUnavailableError(f"status {status} from {self.url}, without a problem document")


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    value = headers.get("retry-after", "")
    return timedelta(seconds=int(value)) if value.isascii() and value.isdigit() and len(value) < 7 else None


def _words(text: object) -> str:
    """Text of the other server without what only some places can hold: NUL, half of a surrogate pair,
    line breaks, marks that turn the direction of writing."""
    if not isinstance(text, str):
        return ""
    return "".join(each if each.isprintable() else " " for each in text[:LONGEST_WORDS]).strip()


def _problem(content: bytes) -> Mapping[str, Any]:
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return problem if isinstance(problem, dict) else {}
