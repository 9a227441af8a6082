"""Secrets of an installation: made, read, and kept in a file if it serves this machine only."""

import json
import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from panprivacy.formats import base64_text


def fresh_secrets() -> dict[str, str]:
    """One new secret of each kind, by the name of its setting in lower case."""
    return {
        "secret_key": secrets.token_urlsafe(48),
        "signing_key": base64_text.encode(secrets.token_bytes(32)),
        "key_encryption_key": base64_text.encode(secrets.token_bytes(32)),
    }


def key_of_32_bytes(name: str, value: str) -> bytes:
    """32 bytes from base64."""
    try:
        return base64_text.decode(value, 32)
    except base64_text.Base64Error as error:
        raise ImproperlyConfigured(f"{name} {error}") from None


def local_secrets(path: Path) -> dict[str, str]:
    """Secrets of an installation that serves this machine only: made once, readable by the owner only."""
    try:
        return _secrets_of(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"PANAPP_DATA_DIR must be a directory that can be written, not {path.parent}: {error.strerror}"
        ) from None


def _secrets_of(path: Path) -> dict[str, str]:
    if not path.exists():
        # Database, secrets and sessions: for the owner only.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(fresh_secrets(), file)
        try:
            # Two processes may start at once: the first link wins, both read the same file.
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    try:
        content: dict[str, str] = json.loads(path.read_text())
    except ValueError as error:
        raise ImproperlyConfigured(f"{path} is damaged: restore it from a backup ({error})") from error
    return content
