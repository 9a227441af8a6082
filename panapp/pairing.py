"""This installation and its partners on one machine, each told of the other: for `collect`, `demo`, tests.

Between two organizations people do the same by hand (docs/operations.md).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from django.conf import settings

from panapp import environment
from panapp.ports import HOST, held_lasting_port
from panprivacy import base64_text
from peers.partner import Partner

SERVICES = ("DATABASE_URL", "CELERY_BROKER_URL")
"""What an installation keeps for itself, beside all that begins with PANAPP_."""

P = TypeVar("P", bound="Pairing")


@dataclass(frozen=True)
class Pairing:
    """Addresses and verification keys of this installation, the site, and of one partner.

    Attributes:
        site_port: where the site listens.
        site_key, key: Ed25519 verification keys of the site and of the partner, 32 bytes each.
        port: where the partner listens.
        data: the partner's data directory.
    """

    role: ClassVar[str]
    """The partner's PANAPP_ROLE, and the path of its resources."""

    site_key_variable: ClassVar[str]
    """What tells the partner the site's key."""

    site_port: int
    site_key: bytes
    key: bytes
    port: int
    data: Path

    @property
    def url(self) -> str:
        """Base address of the partner's resources."""
        return f"http://{HOST}:{self.port}/{self.role}"

    def site_variables(self) -> dict[str, str]:
        """What tells the site of this partner."""
        name = f"PANAPP_{self.role.upper()}"
        return {f"{name}_URL": self.url, f"{name}_KEY": base64_text.encode(self.key)}

    def partner_variables(self, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The partner's whole environment: nothing of the site's database, broker, secrets or settings."""
        return {
            **{
                name: value
                for name, value in inherited.items()
                if not name.startswith("PANAPP_") and name not in SERVICES
            },
            "PANAPP_ROLE": self.role,
            "PANAPP_DATA_DIR": str(self.data),
            f"PANAPP_{self.role.upper()}_URL": self.url,
            self.site_key_variable: base64_text.encode(self.site_key),
        }

    @property
    def leader_url(self) -> str:
        """Base address of the site's resources for its helper; empty for a partner that needs none."""
        return ""

    def partner(self) -> Partner:
        """The partner, as those know it who publish recipes here."""
        return Partner(
            url=self.url,
            verification_key=self.key,
            leader_url=self.leader_url,
            signing_key=settings.SIGNING_KEY,
        )


class HelperPairing(Pairing):
    """A leader, which is this installation, and a helper."""

    role = "helper"
    site_key_variable = "PANAPP_LEADER_KEY"

    @property
    def leader_url(self) -> str:
        return f"http://{HOST}:{self.site_port}/leader"

    def site_variables(self) -> dict[str, str]:
        return {
            "PANAPP_ROLE": "leader",
            "PANAPP_LEADER_URL": self.leader_url,
            **super().site_variables(),
        }


class ShufflerPairing(Pairing):
    """An analyzer, which is this installation, and a shuffler."""

    role = "shuffler"
    site_key_variable = "PANAPP_ANALYZER_KEY"


KINDS: dict[str, type[Pairing]] = {kind.role: kind for kind in (HelperPairing, ShufflerPairing)}
"""Role of a partner → how this installation is paired with it."""


@contextmanager
def pair(kind: type[P], *, site_port: int, data: Path) -> Iterator[P]:
    """This installation paired with a partner that has secrets of its own, made where there are none.

    The partner's address is the same every time, so that what was not finished finds it again; its port is
    held until the end.
    """
    own = environment.local_secrets(data / "local-secrets.json")
    with held_lasting_port(data / "port") as port:
        yield kind(
            site_port=site_port,
            site_key=environment.public_half(settings.SIGNING_KEY),
            key=environment.public_half(
                environment.key_of_32_bytes("PANAPP_SIGNING_KEY", own["signing_key"])
            ),
            port=port,
            data=data,
        )
