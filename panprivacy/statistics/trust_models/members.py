"""Reading the fields by which a document names its servers, and checking the signatures of partners."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from panprivacy.encryption import load_public_key
from panprivacy.encryption.interface import SchemeKey
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of, require_signature

URL_LENGTH = 500
"""Most characters of a server's address."""


class RecipeVerificationError(ValueError):
    """A document whose identifier or signature does not hold."""


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


def read_server(field: str, value: object, names: tuple[str, ...]) -> Mapping[str, object]:
    """An object with exactly these fields; FieldError otherwise."""
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise FieldError(field, f"must be an object with the fields {', '.join(names)}")
    return value


def read_public_key(field: str, value: object) -> SchemeKey:
    """A public key of a registered scheme. Raises FieldError or InvalidKeyError."""
    if not isinstance(value, Mapping):
        raise FieldError(field, "must be an object")
    return load_public_key(value)


def required_scheme(scheme: str | None) -> str:
    """The name of a scheme under which something is encrypted; ValueError if nothing is."""
    if scheme is None:
        raise ValueError("what is sent to these servers is encrypted to a key of the recipe")
    return scheme


def read_verification_key(field: str, value: object) -> bytes:
    """An Ed25519 key: 32 bytes in base64, in their one spelling; FieldError otherwise."""
    try:
        key = base64_text.decode(value, 32)
    except base64_text.Base64Error as error:
        raise FieldError(field, str(error)) from None
    # One spelling per key, or equal recipes would have different identifiers.
    if base64_text.encode(key) != value:
        raise FieldError(field, "must be 32 bytes in base64")
    try:
        public_key_of(key)
    except KeyRefusedError as error:
        raise FieldError(field, str(error)) from None
    return key


def require_signed_by(
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
        require_signature(pinned_key, signature, message)
    except InvalidSignature:
        raise RecipeVerificationError(f"the signature is not the {role}'s") from None
