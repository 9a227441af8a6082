"""Public documents that a site signs, each known by its hash."""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.formats.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.protocols.ed25519 import require_signature
from panprivacy.statistics.trust_models.members import RecipeVerificationError


class UnreadableDocumentError(ValueError):
    """A document that would be read back differently."""


class SignedDocument:
    """One document: canonical JSON (RFC 8785), its SHA-256 as identifier, and its signed bytes.

    A document that cannot be read back is not signed: it could never be changed, and no device could use it.
    """

    format: str
    """Version of the format. It is the prefix of the signed bytes: no signature is valid for another
    format."""

    @classmethod
    def verified(
        cls,
        document: Mapping[str, object],
        identifier: str,
        signature: bytes,
        verification_key: Ed25519PublicKey,
    ) -> Self:
        """Read a document as a device must.

        Args:
            verification_key: of the server that published it, pinned beforehand.

        Raises:
            RecipeVerificationError: identifier or signature does not hold.
            FieldError: as in `from_document`.
        """
        require_signed(document, identifier, signature, verification_key, format_=cls.format)
        return cls.from_document(document)

    @property
    def document(self) -> dict[str, Any]:
        """The whole document, as plain JSON values, with the field `format`."""
        raise NotImplementedError

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Self:
        """Inverse of `document`, strict; FieldError names a field that is missing, unknown or impossible."""
        raise NotImplementedError

    @cached_property
    def canonical(self) -> bytes:
        """Canonical JSON."""
        return canonical_json(self.document)

    @cached_property
    def identifier(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical).hexdigest()

    @property
    def signed_message(self) -> bytes:
        """The bytes that every server of the document signs with Ed25519."""
        return signed_message(self.format, self.canonical)

    def require_readable(self) -> None:
        """Check that a reader of the canonical JSON has this document.

        Raises:
            FieldError, InvalidKeyError: as in `from_document`.
            UnreadableDocumentError: it is read back differently.
        """
        if self.from_document(json.loads(self.canonical)).canonical != self.canonical:
            raise UnreadableDocumentError(f"a {self.format} document is not read as it was written")

    def sign(self, signing_key: Ed25519PrivateKey) -> bytes:
        """A server's Ed25519 signature, 64 bytes; raises as `require_readable`."""
        self.require_readable()
        return signing_key.sign(self.signed_message)


def signed_message(format_: str, canonical: bytes) -> bytes:
    """The signed bytes of a document."""
    return format_.encode() + b"\n" + canonical


def require_signed(
    document: Mapping[str, object],
    identifier: str,
    signature: bytes,
    verification_key: Ed25519PublicKey,
    *,
    format_: str,
) -> None:
    """RecipeVerificationError unless the document has this format and identifier, and the key signed it."""
    if document.get("format") != format_:
        raise RecipeVerificationError(f"the document's format is not {format_}")
    try:
        canonical = canonical_json(document)
    except NoCanonicalFormError as error:
        raise RecipeVerificationError(f"the document has no canonical form: {error}") from error
    if hashlib.sha256(canonical).hexdigest() != identifier:
        raise RecipeVerificationError("the identifier is not the SHA-256 of the document")
    try:
        require_signature(verification_key, signature, signed_message(format_, canonical))
    except InvalidSignature:
        raise RecipeVerificationError("the signature is not the server's") from None
