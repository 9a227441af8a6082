"""Tokens: what a server that speaks as Janus bears with each request, in place of a signature."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

BEARER, DAP_AUTH = "Bearer", "DapAuth"
"""How a token is presented: in the header Authorization (RFC 6750), or in DAP-Auth-Token."""

LONGEST_TOKEN = 1_000
_FORMS = {
    BEARER: (re.compile(r"[-A-Za-z0-9._~+/]+=*"), "letters, digits and -._~+/, with = only at the end"),
    DAP_AUTH: (re.compile(r"[!-~]+"), "characters of visible ASCII"),
}
_HASH_BYTES = hashlib.sha256().digest_size


class TokenRefusedError(ValueError):
    """A request does not bear the one token that it must bear."""


@dataclass(frozen=True, repr=False)
class Token:
    """A shared secret that one side sends with each request.

    Attributes:
        type: `BEARER` or `DAP_AUTH`.
        value: 1 to `LONGEST_TOKEN` visible characters of ASCII; of a bearer token those of RFC 6750,
            section 2.1.

    Raises:
        ValueError: another type or form.
    """

    type: str
    value: str

    def __post_init__(self) -> None:
        _require_type(self.type)
        form, words = _FORMS[self.type]
        if len(self.value) > LONGEST_TOKEN or form.fullmatch(self.value) is None:
            raise ValueError(f"must be a token of type {self.type}: 1 to {LONGEST_TOKEN:,} {words}")

    def headers(self) -> dict[str, str]:
        """The header that presents it."""
        if self.type == BEARER:
            return {"Authorization": f"Bearer {self.value}"}
        return {"DAP-Auth-Token": self.value}

    def hashed(self) -> "TokenHash":
        """What the other side keeps of it."""
        return TokenHash(self.type, hashlib.sha256(self.value.encode()).digest())

    def to_bytes(self) -> bytes:
        """For storing it."""
        return f"{self.type}\n{self.value}".encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Inverse of `to_bytes`."""
        type_, _, value = stored.decode().partition("\n")
        return cls(type_, value)


@dataclass(frozen=True, repr=False)
class TokenHash:
    """The SHA-256 of a token, 32 bytes: enough to recognize it.

    Raises:
        ValueError: another type or length.
    """

    type: str
    digest: bytes

    def __post_init__(self) -> None:
        _require_type(self.type)
        if len(self.digest) != _HASH_BYTES:
            raise ValueError(f"must have {_HASH_BYTES} bytes, not {len(self.digest)}")

    def require(self, headers: Mapping[str, str]) -> None:
        """Check that a request bears the token, in time that does not depend on it.

        Args:
            headers: of the request, by name, in any case. With both headers, the bearer token counts.

        Raises:
            TokenRefusedError: it does not.
        """
        type_, value = _presented(headers)
        presented = hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()
        if not hmac.compare_digest(presented, self.digest) or type_ != self.type:
            raise TokenRefusedError("the token is not that of the task")

    def to_bytes(self) -> bytes:
        """For storing it."""
        return f"{self.type}\n".encode() + self.digest

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Inverse of `to_bytes`."""
        type_, _, digest = stored.partition(b"\n")
        return cls(type_.decode(), digest)


def _require_type(type_: str) -> None:
    if type_ not in _FORMS:
        raise ValueError(f"must be a token of type {' or '.join(_FORMS)}")


def _presented(headers: Mapping[str, str]) -> tuple[str, str]:
    given = {name.lower(): value.strip() for name, value in headers.items()}
    scheme, _, value = given.get("authorization", "").partition(" ")
    if scheme.lower() == BEARER.lower():
        return BEARER, value.strip()
    if "dap-auth-token" in given:
        return DAP_AUTH, given["dap-auth-token"]
    raise TokenRefusedError("the request bears no token")
