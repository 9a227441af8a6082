"""`python -m panapp.verification_key`: the public half of our signing key, to be given to others.

Devices pin it, and the other side of a collection (leader, helper, shuffler, analyzer) is set up with it. Not
a Django command: those need complete settings, and the other side's key is among them.
"""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import sys

from django.core.exceptions import ImproperlyConfigured

from panapp import installation
from panprivacy.formats import base64_text
from storage.key_halves import public_half
from storage.local_secrets import key_of_32_bytes


def verification_key(signing_key: str) -> str:
    """Base64 of the Ed25519 verification key that belongs to a signing key, in base64 too."""
    return _shown(key_of_32_bytes("PANAPP_SIGNING_KEY", signing_key))


def _shown(signing_key: bytes) -> str:
    return base64_text.encode(public_half(signing_key))


def main() -> None:
    """Print the key."""
    try:
        sys.stdout.write(_shown(installation.signing_key()) + "\n")
    except (ImproperlyConfigured, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    console.run(main)
