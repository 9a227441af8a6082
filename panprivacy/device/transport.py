"""Requests of a device to a server, and the parts of the public REST API that it reads (docs/protocol.md).

`upload` sends reports.
"""

import http
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.recipe.document import PublishedRecipe

API = "/api/v1"
JSON = "application/json"

TIMEOUT_SECONDS = 60.0
RETRIES = urllib3.Retry(
    total=5,
    allowed_methods=None,  # all of them: a repeated request is the same, and counts once
    status_forcelist=(429, 500, 502, 503, 504),
    raise_on_status=False,
    backoff_factor=0.2,
    backoff_max=10,
    retry_after_max=10,
)
"""Connection errors and these statuses are tried again: at once, then after growing pauses, and not before
the time that a server names, in seconds or as a date."""

ANSWER_BYTES = 1024 * 1024
"""More than the size of any answer of the API: a recipe, a page of summaries, the rejections of a batch."""

PARTNER_SIGNATURES = ("helper_signature", "shuffler_signature")
"""Fields of a served recipe with the partner's signature; at most one has a value."""

ISSUER_SIGNATURE = "issuer_signature"
"""Another field: the signature of the issuer of the recipe's tokens."""

DUPLICATE = "duplicate_nonce"

# urllib3 logs the address of every repeated request; what a device does stays out of logs.
logging.getLogger("urllib3").propagate = False


Refusal = TypeVar("Refusal", bound="TransportError")


class TransportError(Exception):
    """The server could not be reached, or refused the request.

    Attributes:
        problem: the problem document (RFC 9457) with which the server answered; empty
            if it gave none.
        status: the HTTP status, or None without an answer.
    """

    def __init__(
        self, message: str, *, status: int | None = None, problem: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.problem = dict(problem or {})

    def as_type(self, error: "type[Refusal]", message: str = "") -> "Refusal":
        """The same answer as an error of another class."""
        return error(message or str(self), status=self.status, problem=self.problem)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions with keyword arguments do not survive pickling by default.
        return _transport_error, (type(self), str(self), self.status, self.problem), self.__dict__


class ReportRejectedError(TransportError):
    """The server rejected a single report; `problem["reason"]` has the reason."""


class RecipeNotOpenError(TransportError):
    """The server takes no reports of this recipe at this time: it is not yet open, or closed."""

    def closed(self) -> "RecipeClosedError":
        """The same answer, known to be final."""
        return self.as_type(
            RecipeClosedError,
            "the recipe is closed: it takes no more reports, and this one stays undelivered",
        )

    def until(self, opening: str) -> "RecipeNotOpenError":
        """The same answer, known to be temporary."""
        return self.as_type(RecipeNotOpenError, f"the recipe takes no reports yet: it opens {opening}")


class RecipeClosedError(TransportError):
    """The recipe is closed and takes no reports."""


class BatchFullError(TransportError):
    """The shuffler has the messages of a full cohort, and accepts no more."""


def _transport_error(
    kind: type[TransportError], message: str, status: int | None, problem: Mapping[str, Any]
) -> TransportError:
    return kind(message, status=status, problem=problem)


class Delivery(StrEnum):
    """How the server came to have a report."""

    ACCEPTED = "accepted"
    DUPLICATE = DUPLICATE
    """The server already had it: a previous attempt arrived, and only its answer was lost."""


@dataclass(frozen=True)
class WireReport:
    """One report as it travels: 16-byte nonce, encoded ciphertexts, and its token (354 bytes) if its recipe
    asks for one.

    If two servers take plain shares, the public share, the leader's and the helper's share replace the
    ciphertexts; they are sealed when they are sent.
    """

    nonce: bytes
    ciphertexts: tuple[bytes, ...]
    token: bytes | None = None

    @property
    def size(self) -> int:
        """Approximate length in JSON, in bytes (never below the true one)."""
        parts = (self.nonce, *self.ciphertexts, self.token or b"")
        return 64 + sum(4 + base64_text.encoded_length(len(part)) for part in parts)

    def members(self, ciphertexts: str) -> dict[str, Any]:
        """Its JSON fields, bytes in base64; the ciphertexts under that name."""
        encoded = list(map(base64_text.encode, self.ciphertexts))
        members: dict[str, Any] = {"nonce": base64_text.encode(self.nonce), ciphertexts: encoded}
        return members if self.token is None else {**members, "token": base64_text.encode(self.token)}


@dataclass(frozen=True)
class ServedRecipe:
    """A recipe from the server: nothing in it is verified yet.

    Attributes:
        status: `open` or `closed`.
        partner_signature: of the helper or the shuffler; None if the publishing server is alone.
        issuer_signature: of the issuer of tokens; None if the recipe needs no token.
    """

    identifier: str
    document: dict[str, Any]
    signature: bytes
    status: str
    partner_signature: bytes | None = None
    issuer_signature: bytes | None = None

    def verified(
        self, verification_key: bytes, partner_key: bytes | None = None, issuer_key: bytes | None = None
    ) -> PublishedRecipe:
        """The recipe, its identifier and signatures checked.

        Args:
            verification_key: the server's Ed25519 key, 32 bytes.
            partner_key: the helper's or the shuffler's; a recipe that has one is refused without it, and
                a recipe of a single server does not use it.
            issuer_key: of the issuer of tokens; a recipe that has one is refused without it, and others do
                not use it.

        Raises as `PublishedRecipe.verified` does, and ValueError for a key of another length.
        """
        return PublishedRecipe.verified(
            self.document,
            self.identifier,
            self.signature,
            public_key_of(verification_key),
            partner_key=_public_key(partner_key),
            partner_signature=self.partner_signature,
            issuer_key=_public_key(issuer_key),
            issuer_signature=self.issuer_signature,
        )


@dataclass(frozen=True)
class Rejection:
    """A report of a batch that was not stored."""

    index: int
    reason: str
    detail: str


@dataclass(frozen=True)
class BatchAnswer:
    """The outcome of a batch: `accepted` + len(`rejected`) is its length."""

    accepted: int
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. `attempts` > 1: a previous attempt may have arrived as well."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    attempts: int = 1


class Closable:
    """An object that holds connections or a file, and closes them at the end of a context."""

    def close(self) -> None:
        """Let go of them."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Transport(Closable, ABC):
    """The requests of docs/protocol.md. Not safe to share between threads. One that was closed may be used
    again.

    Attributes:
        retries: how often a request is repeated, and after which pauses.
    """

    retries: urllib3.Retry = RETRIES

    @abstractmethod
    def at(self, base_url: str) -> "Transport":
        """A transport of the same kind to another server, with connections of its own.

        Raises:
            ValueError: nothing can be reached under this address.
        """

    def once_at(self, base_url: str) -> "Transport":
        """Like `at`, for a caller that has its own retries: every request is sent once."""
        return self.at(base_url)

    @abstractmethod
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
        """Send one request to a path (with query) and return whatever is answered.

        Args:
            fields: further fields of the header.

        Raises:
            TransportError: no answer came.
        """

    def verification_key(self) -> bytes:
        """The Ed25519 key (32 bytes) that signs the server's recipes. Pin it: fetching it each time
        would trust any server that answers."""
        members = json_object(self.get(f"{API}/verification-key/"))
        if members.get("algorithm") != "ed25519":
            raise TransportError(
                f"the verification key's algorithm is {members.get('algorithm')!r}, not ed25519"
            )
        return _from_base64(members.get("public_key"), "public_key")

    def recipes(self, *, status: str = "open", search: str = "") -> Iterator[dict[str, Any]]:
        """Summaries of all recipes (`id`, `name`, `question`, `statistic`, `status`, times), page by page.

        Args:
            status: `open`, `closed` or `all`.
            search: words to search for; all recipes if empty.
        """
        query = {"status": status} | ({"search": search} if search else {})
        target: str | None = f"{API}/recipes/?{urlencode(query)}"
        while target is not None:
            page = json_object(self.get(target))
            results, following = page.get("results"), page.get("next")
            if not isinstance(results, list) or not isinstance(following, str | None):
                raise TransportError("the list of recipes is not of the documented form")
            yield from results
            target = None if following is None else self._target_of(following)

    def recipe(self, identifier: str) -> ServedRecipe:
        """One recipe, not verified yet: see `ServedRecipe.verified`."""
        members = json_object(self.get(f"{API}/recipes/{quote(identifier, safe='')}/"))
        document = members.get("document")
        if members.get("id") != identifier or not isinstance(document, dict):
            raise TransportError("the recipe is not of the documented form")
        signature = _from_base64(members.get("signature"), "signature")
        signatures = {
            name: _from_base64(members[name], name)
            for name in (*PARTNER_SIGNATURES, ISSUER_SIGNATURE)
            if members.get(name) is not None
        }
        issuer_signature = signatures.pop(ISSUER_SIGNATURE, None)
        of_partner = next(iter(signatures.values()), None)
        status = str(members.get("status"))
        return ServedRecipe(identifier, document, signature, status, of_partner, issuer_signature)

    def get(self, target: str, *, accept: str = JSON) -> Answer:
        """The answer 200 of a path (with query).

        Raises:
            TransportError: no answer, or an unexpected one.
        """
        answer = self.exchange("GET", target, accept=accept)
        if answer.status != http.HTTPStatus.OK:
            raise refusal(answer, target)
        return answer

    def _target_of(self, url: str) -> str:
        """Path and query of a `next` link, always on this server, whatever host the link names."""
        parts = urlsplit(url)
        start = parts.path.find(API)
        if start < 0:
            raise TransportError(f"the next page of recipes lies outside {API}")
        return parts.path[start:] + (f"?{parts.query}" if parts.query else "")


class HttpTransport(Transport):
    """Over kept-alive connections, with bounded retries: the same body each time, at most as often as
    `RETRIES` allows.

    Args:
        base_url: e.g. `https://telemetry.example` or `http://127.0.0.1:8000`; may have a path.
        timeout: seconds to wait for the server at each read or write.
        retries: how often a request is repeated, and after which pauses.
        largest_answer: bytes of an answer's body; a longer one is refused unread.
        fields: further fields of the header of every request to this server; others do not get them.

    Raises:
        ValueError: `base_url` is not an http(s) URL.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries: urllib3.Retry = RETRIES,
        largest_answer: int = ANSWER_BYTES,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        has_host = parts.hostname and parts.port != 0  # reading the port raises if it is no number
        if parts.scheme not in ("http", "https") or not has_host or parts.query or parts.fragment:
            raise ValueError(
                f"the server's address must have the form https://host or http://host:port, not {base_url!r}"
            )
        self.base_url = base_url.rstrip("/")
        self._timeout = timeout
        self.retries = retries
        self._largest_answer = largest_answer
        self._fields = dict(fields or {})
        self._connections = urllib3.PoolManager(timeout=timeout)

    def close(self) -> None:
        self._connections.clear()

    def at(self, base_url: str) -> "HttpTransport":
        return self._with(base_url, self.retries)

    def once_at(self, base_url: str) -> "HttpTransport":
        return self._with(base_url, self.retries.new(total=0))

    def _with(self, base_url: str, retries: urllib3.Retry) -> "HttpTransport":
        return HttpTransport(
            base_url, timeout=self._timeout, retries=retries, largest_answer=self._largest_answer
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
        # A server need not know with which program it speaks.
        headers = {"Accept": accept, "User-Agent": urllib3.util.SKIP_HEADER, **self._fields, **(fields or {})}
        if content_type:
            headers["Content-Type"] = content_type
        try:
            return self._answer(method, self.base_url + target, body, headers)
        except urllib3.exceptions.HTTPError as error:
            cause = _innermost(error)
            raise TransportError(
                f"no answer from {self.base_url}: {cause or type(cause).__name__}"
            ) from error

    def _answer(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        retries = self.retries
        while True:
            response = self._connections.urlopen(
                method,
                url,
                body=body or None,
                headers=headers,
                retries=retries,
                redirect=False,
                preload_content=False,  # which would read without a limit
            )
            retries = response.retries or retries
            try:
                answered = response.read(self._largest_answer + 1)
            except urllib3.exceptions.HTTPError as error:
                retries = retries.increment(method, url, error=error)
                retries.sleep()
                continue
            if len(answered) > self._largest_answer:
                response.close()
                raise TransportError(
                    f"the answer from {self.base_url} is longer than {self._largest_answer} bytes"
                )
            answer_headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, answer_headers, answered, 1 + len(retries.history))


def refusal(answer: Answer, target: str) -> TransportError:
    """A non-success answer as an error whose message a person can act on."""
    problem: object = None
    if "json" in answer.headers.get("content-type", ""):
        try:
            problem = json.loads(answer.body)
        except (ValueError, RecursionError):
            problem = None  # An error page that only claims to be JSON: only the status is used.
    if not isinstance(problem, dict):
        location = answer.headers.get("location")
        moved = f"; it points to {location}" if location else ""
        return TransportError(f"the server answered {answer.status} to {target}{moved}", status=answer.status)
    reason = ": ".join(str(problem[name]) for name in ("title", "detail") if problem.get(name))
    return TransportError(
        f"the server answered {answer.status}: {reason or target}", status=answer.status, problem=problem
    )


def json_object(answer: Answer) -> dict[str, Any]:
    """The fields of the JSON object in the answer's body, unchecked.

    Raises:
        TransportError: the body is not JSON, or not a JSON object; it has the answer's status.
    """
    try:
        members = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise TransportError("the server's answer is not JSON", status=answer.status) from None
    if not isinstance(members, dict):
        raise TransportError("the server's answer is not a JSON object", status=answer.status)
    return members


def _public_key(key: bytes | None) -> Ed25519PublicKey | None:
    return None if key is None else public_key_of(key)


def _from_base64(value: object, name: str) -> bytes:
    try:
        return base64_text.decode(value)
    except base64_text.Base64Error:
        raise TransportError(f"{name} in the server's answer is not base64") from None


def _innermost(error: BaseException) -> BaseException:
    """The cause of the error, without the wrappers of urllib3 that name the place."""
    inner = error.__cause__ or next((part for part in error.args if isinstance(part, Exception)), None)
    return error if inner is None else _innermost(inner)
