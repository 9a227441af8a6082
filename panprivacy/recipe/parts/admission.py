"""Admission and relay of a recipe in recipe files and documents.

`admission` is absent if any sender may report, `relay` if devices connect to the servers directly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self
from urllib.parse import urlsplit

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters, as_typed
from panprivacy.statistics.trust_models.members import read_server, read_verification_key, require_url

ADMISSION, RELAY = "admission", "relay"
FIELDS = (ADMISSION, RELAY)
"""Fields of recipe files and documents that may be absent."""

NAME_LENGTH = 260
"""Most characters of an issuer's name: a host of DNS, and a port."""

_MEMBERS = ("kind", "issuer_name", "issuer_key", "attester_url", "token_key")


class Admission(StrEnum):
    """Which senders may report."""

    OPEN = "open"
    """Any sender, any number of times."""

    TOKEN = "token"  # noqa: S105  # no secret
    """Holders of a token: each device that an attester knows gets one."""


@dataclass(frozen=True, kw_only=True)
class TokenAdmission:
    """The issuer of a recipe's tokens, in its document (RFC 9576).

    Attributes:
        issuer_name: host of the issuer, with its port if it is not the usual one.
        issuer_key: the issuer's Ed25519 key, 32 bytes: it signs the document.
        attester_url: the server that devices ask for a token, without a trailing slash.
        token_key: the RSA key of this recipe's tokens, 2,048 bits, as RFC 9578 encodes it (section 6.5).
    """

    issuer_name: str
    issuer_key: bytes
    attester_url: str
    token_key: bytes

    def __post_init__(self) -> None:
        _require_host("admission.issuer_name", self.issuer_name)
        require_url("admission.attester_url", self.attester_url)
        if len(self.issuer_key) != 32:
            raise FieldError("admission.issuer_key", "must be 32 bytes")
        # Imported here, because devices of open recipes do not need it.
        from panprivacy.protocols.privacy_pass.rsa_keys import MODULUS_BITS, InvalidKeyError, PublicKey

        try:
            key = PublicKey.decode(self.token_key)
        except InvalidKeyError as error:
            raise FieldError("admission.token_key", str(error)) from None
        if key.n.bit_length() != MODULUS_BITS:
            raise FieldError("admission.token_key", f"must have {MODULUS_BITS} bits")

    def members(self) -> dict[str, str]:
        """The document's field `admission`, as plain JSON values."""
        return {
            "kind": Admission.TOKEN.value,
            "issuer_name": self.issuer_name,
            "issuer_key": base64_text.encode(self.issuer_key),
            "attester_url": self.attester_url,
            "token_key": base64_text.encode(self.token_key),
        }

    @classmethod
    def from_members(cls, value: object) -> Self:
        """Inverse of `members`, strict: each document has one spelling. FieldError for anything else."""
        if isinstance(value, Mapping) and value.get("kind") == Admission.OPEN:
            raise FieldError(ADMISSION, "must be left out if any sender may report")
        read = read_server(ADMISSION, value, _MEMBERS)
        if read["kind"] != Admission.TOKEN:
            raise FieldError("admission.kind", f"must be {Admission.TOKEN}, not {as_typed(read['kind'])}")
        return cls(
            issuer_name=_require_host("admission.issuer_name", read["issuer_name"]),
            issuer_key=read_verification_key("admission.issuer_key", read["issuer_key"]),
            attester_url=require_url("admission.attester_url", read["attester_url"]),
            token_key=_read_token_key(read["token_key"]),
        )


def admission_of(value: object) -> Admission:
    """Parse a recipe file's value: absent or null is open. FieldError for any unknown value."""
    if value is None:
        return Admission.OPEN
    # A list or an object is no value of an enum, and is not hashable.
    if not isinstance(value, str) or value not in set(Admission):
        raise FieldError(ADMISSION, f"must be {' or '.join(Admission)}, not {as_typed(value)}")
    return Admission(value)


def relay_of(value: object) -> bool:
    """Parse a recipe file's value: absent or null is no relay. FieldError for any unknown value."""
    if value is not None and not isinstance(value, bool):
        raise FieldError(RELAY, f"must be true or false, not {as_typed(value)}")
    return bool(value)


def require_hidden_senders(parameters: PublicParameters, *, token: bool, relay: bool) -> None:
    """FieldError if the parameters rely on a token or a relay, and the recipe has none."""
    reason = parameters.needs_relay
    if reason and not token:
        raise FieldError(ADMISSION, f"must be token: {reason}")
    if reason and not relay:
        raise FieldError(RELAY, f"must be there: {reason}")


def draft_members(admission: Admission, relay: bool) -> dict[str, Any]:
    """The fields of a recipe file that differ from the default."""
    said = {ADMISSION: admission.value} if admission != Admission.OPEN else {}
    return {**said, RELAY: True} if relay else said


def document_members(admission: TokenAdmission | None, relay: str | None) -> dict[str, Any]:
    """The fields of a document that differ from the default."""
    said: dict[str, Any] = {} if admission is None else {ADMISSION: admission.members()}
    return said if relay is None else {**said, RELAY: relay}


def _require_host(field: str, value: object) -> str:
    refusal = FieldError(
        field,
        f"must be a host, as issuer.example or issuer.example:8443, of at most {NAME_LENGTH} characters",
    )
    if not isinstance(value, str) or not value or len(value) > NAME_LENGTH or set("/\\,") & set(value):
        raise refusal
    try:
        # The rest is as in an address: no user, no question mark, a port that is a number.
        address = require_url(field, f"https://{value}")
    except FieldError:
        raise refusal from None
    if urlsplit(address).netloc != value:
        raise refusal
    return value


def _read_token_key(value: object) -> bytes:
    try:
        key = base64_text.decode(value)
    except base64_text.Base64Error as error:
        raise FieldError("admission.token_key", str(error)) from None
    if base64_text.encode(key) != value:
        raise FieldError("admission.token_key", "must be base64 in its one spelling")
    return key
