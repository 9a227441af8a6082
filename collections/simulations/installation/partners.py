"""This installation and its partners on one machine, each configured for the other: for `collect`, `demo`,
tests.

Between two organizations people do the same by hand (docs/operations/two-organizations.md).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from django.conf import settings

from panprivacy.formats import base64_text
from panprivacy.protocols.transparency.policy import NO_QUORUM
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, VerifierKey
from partners.partner import Partner
from simulations.installation.ports import HOST, held_lasting_port
from storage.key_halves import log_name, public_half
from storage.local_secrets import key_of_32_bytes, local_secrets
from storage.signing_key import witness_key_from

SERVICES = ("DATABASE_URL", "CELERY_BROKER_URL")
"""Variables that an installation keeps for itself, besides all that begin with PANAPP_."""

P = TypeVar("P", bound="Pairing")


@dataclass(frozen=True)
class Pairing:
    """Addresses and verification keys of this installation, the site, and of one partner.

    Attributes:
        site_port: port of the site.
        site_key, key: Ed25519 verification keys of the site and of the partner, 32 bytes each.
        port: port of the partner.
        data: the partner's data directory.
        witness_key: with which the partner signs as a witness, 32 bytes.
    """

    role: ClassVar[str]
    """The partner's PANAPP_ROLE, and the path of its resources."""

    site_key_variable: ClassVar[str] = ""
    """Variables that give the partner the site's key; empty if it need not know it."""

    is_witness: ClassVar[bool] = True
    """Whether it witnesses the site's log."""

    site_port: int
    site_key: bytes
    key: bytes
    port: int
    data: Path
    witness_key: bytes

    @property
    def url(self) -> str:
        """Base address of the partner's resources."""
        return f"http://{HOST}:{self.port}/{self.role}"

    @property
    def witness(self) -> VerifierKey:
        """The partner as a witness: under the default name of its log."""
        return VerifierKey(log_name(self.key), COSIGNATURE, self.witness_key)

    @property
    def witness_url(self) -> str:
        """Its address as a witness."""
        return f"http://{HOST}:{self.port}/witness"

    def site_variables(self) -> dict[str, str]:
        """Variables that configure the site for this partner."""
        name = f"PANAPP_{self.role.upper()}"
        return {f"{name}_URL": self.url, f"{name}_KEY": base64_text.encode(self.key)}

    def partner_variables(
        self, inherited: Mapping[str, str] = os.environ, beside: "Mapping[str, Pairing] | None" = None
    ) -> dict[str, str]:
        """The partner's whole environment: nothing of the site's database, broker, secrets or settings.

        Args:
            beside: all partners that run, this one too, by their roles.
        """
        site_key = base64_text.encode(self.site_key)
        return {
            **{
                name: value
                for name, value in inherited.items()
                if not name.startswith("PANAPP_") and name not in SERVICES
            },
            "PANAPP_ROLE": self.role,
            "PANAPP_DATA_DIR": str(self.data),
            **({self.site_key_variable: site_key} if self.site_key_variable else {}),
            **({"PANAPP_WITNESSED_LOGS": site_log().text} if self.is_witness else {}),
            **self.own_variables(beside or {}),
        }

    def own_variables(self, beside: "Mapping[str, Pairing]") -> dict[str, str]:
        """Variables that configure the partner itself, and its peers other than the site."""
        return {f"PANAPP_{self.role.upper()}_URL": self.url}

    @property
    def leader_url(self) -> str:
        """Base address of the site's resources for its helper; empty for a partner that needs none."""
        return ""

    def partner(self) -> Partner:
        """The partner in the form that publishers of recipes need."""
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


class IssuerPairing(Pairing):
    """An issuer of tokens, which knows the recipes, with an attester, which knows the devices."""

    role = "issuer"
    site_key_variable = "PANAPP_SITE_KEY"

    def own_variables(self, beside: Mapping[str, Pairing]) -> dict[str, str]:
        attester = beside["attester"]
        return {
            **super().own_variables(beside),
            "PANAPP_ATTESTER_URL": attester.url,
            "PANAPP_ATTESTER_KEY": base64_text.encode(attester.key),
        }


class AttesterPairing(Pairing):
    """An attester to which any fresh key is a device; the site does not know it."""

    role = "attester"

    def site_variables(self) -> dict[str, str]:
        return {}

    def own_variables(self, beside: Mapping[str, Pairing]) -> dict[str, str]:
        return {
            **super().own_variables(beside),
            **beside["issuer"].site_variables(),
            "PANAPP_ATTESTATION": "trial",
        }


class RelayPairing(Pairing):
    """A relay that leads to the site and to the servers of its recipes."""

    role = "relay"
    is_witness = False

    @property
    def relay_url(self) -> str:
        """The site's address for devices."""
        return f"{self.url}/site"

    def site_variables(self) -> dict[str, str]:
        return {"PANAPP_RELAY_URL": self.relay_url}

    def own_variables(self, beside: Mapping[str, Pairing]) -> dict[str, str]:
        behind = {f"site/{role}": beside[role].port for role in BEHIND_RELAY if role in beside}
        gateways = {"site": self.site_port, **behind}
        pairs = (f"{name}=http://{HOST}:{port}" for name, port in gateways.items())
        return {"PANAPP_RELAY_GATEWAYS": ",".join(pairs)}


BEHIND_RELAY = ("helper", "shuffler")
"""Partners to which devices send requests, besides the site."""

KINDS: dict[str, type[Pairing]] = {
    kind.role: kind for kind in (HelperPairing, ShufflerPairing, IssuerPairing, AttesterPairing, RelayPairing)
}
"""Role of a partner → how this installation is paired with it."""


def site_log() -> VerifierKey:
    """The key of this installation's public log."""
    return VerifierKey(settings.LOG_ORIGIN, ED25519, public_half(settings.SIGNING_KEY))


def log_policy_text(pairings: Iterable[Pairing]) -> str:
    """A file (C2SP, tlog-policy): our own log, and any one of these partners as its witness."""
    witnesses = [pairing for pairing in pairings if pairing.is_witness]
    lines = [f"log {site_log().text}"]
    lines += [f"witness {one.role} {one.witness.text} {one.witness_url}" for one in witnesses]
    if witnesses:
        lines.append(f"group partners any {' '.join(one.role for one in witnesses)}")
    return "\n".join([*lines, f"quorum {'partners' if witnesses else NO_QUORUM}", ""])


def paired(kind: type[P], *, site_port: int, port: int, data: Path) -> P:
    """This installation paired with a partner that listens on `port`. Its secrets lie in `data`, and are made
    if there are none."""
    own = local_secrets(data / "local-secrets.json")
    signing_key = key_of_32_bytes("PANAPP_SIGNING_KEY", own["signing_key"])
    return kind(
        site_port=site_port,
        site_key=public_half(settings.SIGNING_KEY),
        key=public_half(signing_key),
        port=port,
        data=data,
        witness_key=witness_key_from(signing_key).public_key().public_bytes_raw(),
    )


@contextmanager
def pair(kind: type[P], *, site_port: int, data: Path) -> Iterator[P]:
    """This installation paired with a partner whose port is held until the end.

    The partner's address is the same every time, so that what was not finished finds it again.
    """
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with held_lasting_port(data / "port") as port:
        yield paired(kind, site_port=site_port, port=port, data=data)
