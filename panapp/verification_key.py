"""`python -m panapp.verification_key`: the public half of PANAPP_SIGNING_KEY, to be given to others.

Devices pin it, and the other aggregator of two-server collections is set up with it. Not a Django
command: those need complete settings, and the other side's key is among them.
"""

import base64
import sys

from django.core.exceptions import ImproperlyConfigured

from panapp import environment


def verification_key(signing_key: str) -> str:
    """Base64 of the Ed25519 verification key that belongs to a signing key, in base64 too."""
    key = environment.key_of_32_bytes("PANAPP_SIGNING_KEY", signing_key)
    return base64.b64encode(environment.public_half(key)).decode()


if __name__ == "__main__":
    try:
        sys.stdout.write(verification_key(environment.text("PANAPP_SIGNING_KEY")) + "\n")
    except ImproperlyConfigured as error:
        sys.exit(str(error))
