"""The servers of a recipe: one that decrypts every report, two that hold a share each, a shuffler before an
analyzer, or a curator who sees every item.

A published document names them, in members of their own for each trust model.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from panprivacy import base64_text
from panprivacy.encryption import load_public_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.errors import FieldError
from panprivacy.trust import Trust

URL_LENGTH = 500
"""Most characters of a server's address."""

DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")

SHARE_CONTEXT = b"dap-18"
"""What every proof of a two-server recipe is bound to, before its identifier (DAP 18)."""


class RecipeVerificationError(ValueError):
    """A document whose identifier or signature does not hold."""


class Servers(ABC):
    """Who holds the private keys of a recipe."""

    trust: ClassVar[Trust]

    member_names: ClassVar[tuple[str, ...]]
    """The document's members that speak of the servers."""

    encrypts: ClassVar[bool] = True
    """Whether what devices send is encrypted to a key of the recipe."""

    @property
    @abstractmethod
    def scheme(self) -> str | None:
        """The registered name of the encryption scheme; None where nothing is encrypted."""

    @abstractmethod
    def public_key(self, identifier: str) -> PublicKey:
        """The key under which devices of the recipe `identifier` encrypt; ValueError where there is none."""

    @abstractmethod
    def members(self) -> dict[str, Any]:
        """The document's members, as plain JSON values."""

    @classmethod
    @abstractmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        """Inverse of `members`, strict.

        Raises:
            FieldError: a missing, unknown or impossible member.
            InvalidKeyError: a public key that this version cannot use.
        """

    @abstractmethod
    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """Check the signatures beside the publishing server's.

        Args:
            message: what is signed.
            partner_key: verification key of the server beside the publishing one, as the device pinned it;
                None without one.
            partner_signature: its signature, 64 bytes, or None.

        Raises:
            RecipeVerificationError: one that must be there does not hold.
        """


@dataclass(frozen=True, kw_only=True)
class OneServer(Servers):
    """One server, which publishes the recipe and holds its private key."""

    key_members: Mapping[str, str]

    trust = Trust.SINGLE_SERVER
    member_names = ("public_key",)

    @classmethod
    def of(cls, public_key: PublicKey) -> Self:
        """The server that holds the private half of `public_key`."""
        return cls(key_members=public_key.to_json())

    @property
    def scheme(self) -> str:
        return self.key_members["scheme"]

    def public_key(self, identifier: str) -> PublicKey:  # noqa: ARG002  # it binds shares, of which there are none
        return load_public_key(self.key_members)

    def members(self) -> dict[str, Any]:
        return {"public_key": dict(self.key_members)}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        return cls.of(_public_key("public_key", members.get("public_key")))

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """Nothing: its only server is the one that published the recipe."""


@dataclass(frozen=True, kw_only=True)
class TwoServers(Servers):
    """A leader, which publishes the recipe, and a helper, which signs it too.

    Attributes:
        leader_url, helper_url: base addresses of their DAP resources, without a trailing slash.
        leader_key_members, helper_key_members: public keys, of one scheme.
        helper_verification_key: the helper's Ed25519 key, 32 bytes.
    """

    leader_url: str
    leader_key_members: Mapping[str, str]
    helper_url: str
    helper_key_members: Mapping[str, str]
    helper_verification_key: bytes

    trust = Trust.TWO_SERVER
    member_names = ("leader", "helper")

    def __post_init__(self) -> None:
        require_url("leader.url", self.leader_url)
        require_url("helper.url", self.helper_url)
        if self.leader_url == self.helper_url:
            raise FieldError("helper.url", "must differ from the leader's: one server is not two")
        if self.leader_key_members == self.helper_key_members:
            raise FieldError("helper.public_key", "must differ from the leader's: one key opens both shares")
        if self.leader_key_members["scheme"] != self.helper_key_members["scheme"]:
            raise FieldError("helper.public_key", "must be of the leader's scheme")
        if len(self.helper_verification_key) != 32:
            raise FieldError("helper.verification_key", "must be 32 bytes")

    @property
    def scheme(self) -> str:
        return self.leader_key_members["scheme"]

    @property
    def leader_key(self) -> PublicKey:
        """Under which the leader's shares are encrypted."""
        return load_public_key(self.leader_key_members)

    @property
    def helper_key(self) -> PublicKey:
        """Under which the helper's shares are encrypted."""
        return load_public_key(self.helper_key_members)

    def public_key(self, identifier: str) -> PublicKey:
        # Here, because devices of single-server recipes need none of it.
        from panprivacy.two_server import SharedKey

        context = SHARE_CONTEXT + bytes.fromhex(identifier)
        return SharedKey(self.leader_key, self.helper_key, context)

    def members(self) -> dict[str, Any]:
        return {
            "leader": {"url": self.leader_url, "public_key": dict(self.leader_key_members)},
            "helper": {
                "url": self.helper_url,
                "public_key": dict(self.helper_key_members),
                "verification_key": base64_text.encode(self.helper_verification_key),
            },
        }

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        leader = _server("leader", members.get("leader"), ("url", "public_key"))
        helper = _server("helper", members.get("helper"), ("url", "public_key", "verification_key"))
        return cls(
            leader_url=require_url("leader.url", leader["url"]),
            leader_key_members=_public_key("leader.public_key", leader["public_key"]).to_json(),
            helper_url=require_url("helper.url", helper["url"]),
            helper_key_members=_public_key("helper.public_key", helper["public_key"]).to_json(),
            helper_verification_key=_verification_key("helper.verification_key", helper["verification_key"]),
        )

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """The helper's signature, under the key that the device pinned: a document that names another
        helper is the leader talking to itself."""
        _require_signed_by("helper", self.helper_verification_key, message, partner_key, partner_signature)


@dataclass(frozen=True, kw_only=True)
class ShufflerAndAnalyzer(Servers):
    """An analyzer, which publishes the recipe and holds its private key, behind a shuffler, which signs too.

    Attributes:
        shuffler_url: base address to which devices send, without a trailing slash.
        shuffler_verification_key: the shuffler's Ed25519 key, 32 bytes.
        analyzer_key_members: the public key under which messages are encrypted.
    """

    shuffler_url: str
    shuffler_verification_key: bytes
    analyzer_key_members: Mapping[str, str]

    trust = Trust.SHUFFLER
    member_names = ("shuffler", "analyzer")

    def __post_init__(self) -> None:
        require_url("shuffler.url", self.shuffler_url)
        if len(self.shuffler_verification_key) != 32:
            raise FieldError("shuffler.verification_key", "must be 32 bytes")

    @property
    def scheme(self) -> str:
        return self.analyzer_key_members["scheme"]

    def public_key(self, identifier: str) -> PublicKey:  # noqa: ARG002  # one key pair for one recipe
        return load_public_key(self.analyzer_key_members)

    def members(self) -> dict[str, Any]:
        return {
            "shuffler": {
                "url": self.shuffler_url,
                "verification_key": base64_text.encode(self.shuffler_verification_key),
            },
            "analyzer": {"public_key": dict(self.analyzer_key_members)},
        }

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        shuffler = _server("shuffler", members.get("shuffler"), ("url", "verification_key"))
        analyzer = _server("analyzer", members.get("analyzer"), ("public_key",))
        return cls(
            shuffler_url=require_url("shuffler.url", shuffler["url"]),
            shuffler_verification_key=_verification_key(
                "shuffler.verification_key", shuffler["verification_key"]
            ),
            analyzer_key_members=_public_key("analyzer.public_key", analyzer["public_key"]).to_json(),
        )

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """The shuffler's signature, under the key that the device pinned: a document that names another
        shuffler is the analyzer talking to itself."""
        _require_signed_by(
            "shuffler", self.shuffler_verification_key, message, partner_key, partner_signature
        )


@dataclass(frozen=True, kw_only=True)
class Curator(Servers):
    """One server, which sees every item as it comes and keeps a pan-private state. There is no key: what
    protects items on their way is the connection.

    Attributes:
        sample_digest: SHA-256 of the sample of items that have a cell, 32 bytes: the curator is bound to one
            that was drawn before any item came. The sample holds a random key, so its digest tells nothing.
    """

    sample_digest: bytes

    trust = Trust.CURATOR
    member_names = ("curator",)
    encrypts = False

    def __post_init__(self) -> None:
        if len(self.sample_digest) != 32:
            raise FieldError("curator.sample_digest", "must be 32 bytes")

    @property
    def scheme(self) -> None:
        return None

    def public_key(self, identifier: str) -> PublicKey:  # noqa: ARG002  # there is none for any recipe
        raise ValueError("nothing is encrypted to a curator")

    def members(self) -> dict[str, Any]:
        return {"curator": {"sample_digest": self.sample_digest.hex()}}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        curator = _server("curator", members.get("curator"), ("sample_digest",))
        digest = curator["sample_digest"]
        if not isinstance(digest, str) or not DIGEST_PATTERN.fullmatch(digest):
            raise FieldError("curator.sample_digest", "must be 64 lower-case hexadecimal digits")
        return cls(sample_digest=bytes.fromhex(digest))

    def require_signed(
        self, message: bytes, partner_key: Ed25519PublicKey | None, partner_signature: bytes | None
    ) -> None:
        """Nothing: the curator is the server that published the recipe."""


SERVERS: Mapping[Trust, type[Servers]] = {
    servers.trust: servers for servers in (OneServer, TwoServers, ShufflerAndAnalyzer, Curator)
}
"""Trust model → how a document names the servers."""


def require_url(field: str, value: object) -> str:
    """A server's base address: http or https, host, no query; FieldError otherwise."""
    refusal = FieldError(
        field, f"must be an http or https address of at most {URL_LENGTH} characters without trailing slash"
    )
    if not isinstance(value, str) or len(value) > URL_LENGTH or not value.isascii():
        raise refusal
    if not value.isprintable() or " " in value or value.endswith("/"):
        raise refusal
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise refusal from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise refusal
    if "?" in value or "#" in value:
        raise refusal
    return value


def _server(field: str, value: object, names: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise FieldError(field, f"must be an object with the members {', '.join(names)}")
    return value


def _public_key(field: str, value: object) -> PublicKey:
    if not isinstance(value, Mapping):
        raise FieldError(field, "must be an object")
    return load_public_key(value)


def _verification_key(field: str, value: object) -> bytes:
    try:
        key = base64_text.decode(value, 32)
    except base64_text.Base64Error as error:
        raise FieldError(field, str(error)) from None
    # One spelling per key, or equal recipes would have different identifiers.
    if base64_text.encode(key) != value:
        raise FieldError(field, "must be 32 bytes in base64")
    return key


def _require_signed_by(
    role: str,
    named_key: bytes,
    message: bytes,
    pinned_key: Ed25519PublicKey | None,
    signature: bytes | None,
) -> None:
    """RecipeVerificationError unless the server that the document names is the pinned one, and signed."""
    if pinned_key is None:
        raise RecipeVerificationError(f"the recipe needs the {role}'s key, pinned beforehand")
    if pinned_key.public_bytes(Encoding.Raw, PublicFormat.Raw) != named_key:
        raise RecipeVerificationError(f"the document names another {role} than the one whose key is pinned")
    if signature is None:
        raise RecipeVerificationError(f"the {role}'s signature is missing")
    try:
        pinned_key.verify(signature, message)
    except InvalidSignature:
        raise RecipeVerificationError(f"the signature is not the {role}'s") from None
