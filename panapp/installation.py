"""Which installation this process belongs to: what is known until its settings are complete.

The other side needs our verification key while we still wait for its key, which our settings require.
"""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from panapp import environment
from panapp.roles import Role, role_named
from storage.local_secrets import key_of_32_bytes, local_secrets

BASE_DIR = Path(__file__).resolve().parent.parent


def role() -> Role:
    """That of PANAPP_ROLE."""
    return role_named(environment.text("PANAPP_ROLE"))


def is_local() -> bool:
    """Whether it serves this machine only, with secrets of its own making."""
    mode = environment.text("PANAPP_MODE")
    if mode not in {"local", "production"}:
        raise ImproperlyConfigured(f"PANAPP_MODE must be local or production, not {mode!r}")
    return mode == "local"


def data_directory() -> Path:
    """The folder of SQLite and local secrets."""
    return Path(environment.text("PANAPP_DATA_DIR", str(BASE_DIR / role().data_folder)))


def own_secrets() -> dict[str, str]:
    """Those of a local installation, made if there are none."""
    return local_secrets(data_directory() / "local-secrets.json")


def signing_key() -> bytes:
    """The Ed25519 key that signs recipes, and requests to the other side; 32 bytes."""
    value = own_secrets()["signing_key"] if is_local() else environment.text("PANAPP_SIGNING_KEY")
    return key_of_32_bytes("PANAPP_SIGNING_KEY", value)
