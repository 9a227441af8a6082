"""Lists of keys, signed by the server that has the gateway: a relay that carries one cannot change its
keys."""

import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.ed25519 import require_signature
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http.keys import KeyConfig, decode_list

HEADER = "Panapp-Key-Signature"
"""Of the answer with the keys: the signature in base64."""

SIGNATURE = re.compile(r"[A-Za-z0-9+/]{86}==")
"""The header's value. A server that forwards it passes on only that."""

_CONTEXT = b"panapp-ohttp-keys-1\n"


class UnsignedKeysError(ValueError):
    """Keys that are not those of the server whose verification key is pinned."""


def signature(encoded: bytes, signing_key: Ed25519PrivateKey) -> str:
    """The header's value for a list (`keys.encode_list`)."""
    return base64_text.encode(signing_key.sign(_CONTEXT + encoded))


def verified(
    encoded: bytes, signature: str, verification_key: Ed25519PublicKey, kem: KemName | None = None
) -> tuple[KeyConfig, ...]:
    """The keys of a list that can be used here, in the order of preference.

    Args:
        signature: the header's value; empty if there was none.
        verification_key: of the server, pinned beforehand.
        kem: the only one to use; None for any.

    Raises:
        UnsignedKeysError: the list is not signed by this server, or has no key that can be used.
    """
    if not SIGNATURE.fullmatch(signature):
        raise UnsignedKeysError("the gateway's keys are not signed")
    try:
        require_signature(verification_key, base64_text.decode(signature), _CONTEXT + encoded)
    except InvalidSignature:
        raise UnsignedKeysError("the gateway's keys are not signed by the server") from None
    try:
        return decode_list(encoded, kem)
    except InvalidMessageError as error:
        raise UnsignedKeysError(f"the gateway's keys cannot be used: {error}") from None
