"""By which an attester knows a device: an Ed25519 key in a file that only its owner reads."""

import http
import json
import os
import random
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.storage import StateFileError
from panprivacy.device.transport import JSON, Transport, refusal
from panprivacy.formats import base64_text

KEY_BYTES = 32
FORMAT = "panapp-device-identity-1"
ENROLMENTS_TARGET = "/enrolments"
"""Below the attester's address."""


class IdentityFileError(StateFileError):
    """A file that holds no identity, or cannot be used."""


def identity_drawn(random_source: random.Random) -> Ed25519PrivateKey:
    """A fresh key.

    Args:
        random_source: `secrets.SystemRandom()`; seeded ones in simulations only.
    """
    return Ed25519PrivateKey.from_private_bytes(random_source.randbytes(KEY_BYTES))


def identity_make(path: Path, random_source: random.Random) -> Ed25519PrivateKey:
    """Draw a key and write it; IdentityFileError if there is a file already, or it cannot be written."""
    key = identity_drawn(random_source)
    line = f"{FORMAT} {base64_text.encode(key.private_bytes_raw())}\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise IdentityFileError(f"{path} exists: this device has an identity already") from None
    except OSError as error:
        raise IdentityFileError(f"{path} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    return key


def identity_read(path: Path) -> Ed25519PrivateKey:
    """The key of a file; IdentityFileError if it holds none."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise IdentityFileError(f"{path} does not exist: make an identity first (`identity`)") from None
    except (OSError, ValueError):
        raise IdentityFileError(f"{path} cannot be read") from None
    kind, _, key = text.removesuffix("\n").partition(" ")
    try:
        if kind == FORMAT:
            return Ed25519PrivateKey.from_private_bytes(base64_text.decode(key, KEY_BYTES))
    except base64_text.Base64Error:
        pass
    raise IdentityFileError(f"{path} holds no identity of a device")


def identity_public(key: Ed25519PrivateKey) -> str:
    """A key's entry in an attester's list of devices: its public half, in base64."""
    return base64_text.encode(key.public_key().public_bytes_raw())


def identity_enrol(key: Ed25519PrivateKey, attester: Transport, code: str) -> None:
    """Enrol the device at an attester. Repeating it after a lost answer is harmless.

    Args:
        attester: to the attester's address.
        code: a one-time code from the attester's administrator.

    Raises:
        TransportError: it refuses the code, or does not answer.
    """
    body = json.dumps({"code": code, "key": identity_public(key)}).encode()
    answer = attester.exchange("POST", ENROLMENTS_TARGET, body=body, content_type=JSON)
    if answer.status != http.HTTPStatus.OK:
        raise refusal(answer, ENROLMENTS_TARGET)
