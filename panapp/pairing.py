"""A leader and a helper on one machine, each told of the other: for `collect`, `demo` and the tests.

Between two organizations people do the same by hand (docs/operations.md).
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from dap.provisioning import Partner
from panapp import environment
from panapp.ports import HOST, lasting_port

SERVICES = ("DATABASE_URL", "CELERY_BROKER_URL")
"""What a leader keeps for itself, beside all that begins with PANAPP_."""


@dataclass(frozen=True)
class Pairing:
    """Addresses and verification keys of both sides.

    Attributes:
        leader_url, helper_url: base addresses of their resources.
        leader_key, helper_key: Ed25519 verification keys, 32 bytes each.
        helper_port: where the helper listens.
        helper_data: its data directory.
    """

    leader_url: str
    leader_key: bytes
    helper_url: str
    helper_key: bytes
    helper_port: int
    helper_data: Path

    def leader_variables(self) -> dict[str, str]:
        """What makes an installation the leader of this pair."""
        return {
            "PANAPP_ROLE": "leader",
            "PANAPP_LEADER_URL": self.leader_url,
            "PANAPP_HELPER_URL": self.helper_url,
            "PANAPP_HELPER_KEY": base64.b64encode(self.helper_key).decode(),
        }

    def helper_variables(self, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The helper's whole environment: nothing of the leader's database, broker, secrets or settings."""
        return {
            **{
                name: value
                for name, value in inherited.items()
                if not name.startswith("PANAPP_") and name not in SERVICES
            },
            "PANAPP_ROLE": "helper",
            "PANAPP_DATA_DIR": str(self.helper_data),
            "PANAPP_HELPER_URL": self.helper_url,
            "PANAPP_LEADER_KEY": base64.b64encode(self.leader_key).decode(),
        }

    def partner(self) -> Partner:
        """The helper, as those know it who publish recipes here."""
        return Partner(
            url=self.helper_url,
            verification_key=self.helper_key,
            leader_url=self.leader_url,
            signing_key=settings.SIGNING_KEY,
        )


def pair(*, leader_port: int, helper_data: Path) -> Pairing:
    """A pair of this installation and a helper with its own secrets, which are made where there are none.

    The helper's address is the same every time, so that tasks that were not finished find it again.
    """
    own = environment.local_secrets(helper_data / "local-secrets.json")
    port = lasting_port(helper_data / "port")
    return Pairing(
        leader_url=f"http://{HOST}:{leader_port}/leader",
        leader_key=environment.public_half(settings.SIGNING_KEY),
        helper_url=f"http://{HOST}:{port}/helper",
        helper_key=environment.public_half(
            environment.key_of_32_bytes("PANAPP_SIGNING_KEY", own["signing_key"])
        ),
        helper_port=port,
        helper_data=helper_data,
    )
