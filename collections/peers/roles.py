"""The other servers with which this installation runs recipes, and what to do where there is none."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from panprivacy.dap.signatures import SignatureRefusedError
from panprivacy.trust import Trust
from peers.client import PeerRefusedError, PeerUnavailableError
from peers.partner import Partner


@dataclass(frozen=True)
class PartnerRole:
    """What another server is to us, in words.

    Attributes:
        trust: the model whose recipes need it.
        name, our_name: what it is called, and we beside it.
        url_setting: names its address, on both sides.
        key_setting: names its verification key on our side.
        our_key_setting: names ours on its side.
        how_to_set_up: sentences.
    """

    trust: Trust
    name: str
    our_name: str
    url_setting: str
    key_setting: str
    our_key_setting: str
    how_to_set_up: str

    @property
    def missing(self) -> str:
        """That there is none, as a clause."""
        return f"no {self.name} is set up for this installation"


HELPER = PartnerRole(
    Trust.TWO_SERVER,
    "helper",
    "leader",
    "PANAPP_HELPER_URL",
    "PANAPP_HELPER_KEY",
    "PANAPP_LEADER_KEY",
    "Run it as a leader: set PANAPP_ROLE=leader, PANAPP_LEADER_URL, PANAPP_HELPER_URL and PANAPP_HELPER_KEY "
    "(docs/operations.md, “Two servers”). To try two servers here: `make demo` and `collect` bring "
    "a helper along",
)
SHUFFLER = PartnerRole(
    Trust.SHUFFLER,
    "shuffler",
    "analyzer",
    "PANAPP_SHUFFLER_URL",
    "PANAPP_SHUFFLER_KEY",
    "PANAPP_ANALYZER_KEY",
    "Set PANAPP_SHUFFLER_URL and PANAPP_SHUFFLER_KEY (docs/operations.md, “A shuffler”). To try one here: "
    "`collect` brings a shuffler along",
)


def configured_partners() -> Mapping[Trust, Partner]:
    """As the settings name them, by the trust model whose recipes need one."""
    partners = {}
    if settings.LEADER_URL and settings.HELPER_URL and settings.HELPER_KEY:
        partners[Trust.TWO_SERVER] = Partner(
            url=settings.HELPER_URL,
            verification_key=settings.HELPER_KEY,
            leader_url=settings.LEADER_URL,
            signing_key=settings.SIGNING_KEY,
        )
    if settings.SHUFFLER_URL and settings.SHUFFLER_KEY:
        partners[Trust.SHUFFLER] = Partner(
            url=settings.SHUFFLER_URL,
            verification_key=settings.SHUFFLER_KEY,
            leader_url="",
            signing_key=settings.SIGNING_KEY,
        )
    return partners


def why_no_answer(role: PartnerRole, partner: Partner, error: PeerUnavailableError) -> str:
    """What stands between us and the other server, and what to do about it, as a clause."""
    cause = error.__cause__
    if isinstance(cause, PeerRefusedError) and cause.status == 403:
        key = Ed25519PrivateKey.from_private_bytes(partner.signing_key).public_key().public_bytes_raw()
        return (
            f"the {role.name} at {partner.url} does not accept the signature of this {role.our_name}: set "
            f"its {role.our_key_setting} to {base64.b64encode(key).decode()}, and see that both sides name "
            f"the same {role.url_setting} and that both clocks are right"
        )
    if isinstance(cause, SignatureRefusedError):
        return (
            f"what answers at {partner.url} does not sign as the {role.name} ({error}): see "
            f"{role.url_setting}, {role.key_setting} and the proxies in between"
        )
    return f"the {role.name} at {partner.url} did not answer ({error}); try again later"
