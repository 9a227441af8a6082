"""Which senders may report to a recipe: any, or holders of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self
from urllib.parse import urlsplit

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.parts.interface import Part, PartField, PartialRecipe, Subject
from panprivacy.statistics.trust_models import TRUST_MODELS
from panprivacy.statistics.trust_models.members import read_server, read_verification_key, require_url

ADMISSION = "admission"

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

    def as_dict(self) -> dict[str, str]:
        """The value of the document's field, as plain JSON values."""
        return {
            "kind": Admission.TOKEN.value,
            "issuer_name": self.issuer_name,
            "issuer_key": base64_text.encode(self.issuer_key),
            "attester_url": self.attester_url,
            "token_key": base64_text.encode(self.token_key),
        }

    @classmethod
    def from_members(cls, value: object) -> Self:
        """Inverse of `as_dict`, strict: each document has one spelling. FieldError for anything else."""
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


class AdmissionPart(Part[Admission, TokenAdmission]):
    """In a file: `token`. In a document: the issuer of the tokens, with their key."""

    name = ADMISSION
    fields = (
        PartField(
            name=ADMISSION,
            label="Who may report",
            help="With tokens, an attester that knows the devices gets one for each of them. Neither it nor "
            "the servers can link a report to its device.",
            meaning="The issuer of the tokens with which devices report.",
            choices=(
                (Admission.OPEN.value, "Any sender, any number of reports"),
                (Admission.TOKEN.value, "Known devices, once each (tokens)"),
            ),
        ),
    )
    made_when_published = True
    has_section = True

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if subject.servers.report_format is not None else ()

    def read_file(self, fields: Mapping[str, object]) -> Admission | None:
        value = fields[ADMISSION]
        # A list or an object is no value of an enum, and is not hashable.
        if not isinstance(value, str) or value not in set(Admission):
            raise FieldError(ADMISSION, f"must be {' or '.join(Admission)}, not {as_typed(value)}")
        return None if value == Admission.OPEN else Admission(value)

    def default(self, subject: Subject) -> Admission | None:
        return Admission.TOKEN if subject.servers.admits_by_token else None

    def file_fields(self, value: Admission) -> dict[str, Any]:
        return {ADMISSION: value.value}

    def read_document(self, fields: Mapping[str, object]) -> TokenAdmission:
        return TokenAdmission.from_members(fields[ADMISSION])

    def document_fields(self, value: TokenAdmission) -> dict[str, Any]:
        return {ADMISSION: value.as_dict()}

    def check(self, recipe: PartialRecipe) -> None:
        reason = recipe.parameters.needs_relay
        if TRUST_MODELS[recipe.trust].admits_by_token:
            reason = f"under {recipe.trust}, reports count with their tokens"
        if reason and ADMISSION not in recipe.parts:
            raise FieldError(ADMISSION, f"must be token: {reason}")


PART = AdmissionPart()


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
