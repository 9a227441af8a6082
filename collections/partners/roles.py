"""The other servers with which this installation runs recipes, and what to do if there is none."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from panprivacy.formats import base64_text
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.partner import Partner
from storage.key_halves import public_half


@dataclass(frozen=True)
class PartnerRole:
    """What another server is to us, in words.

    Attributes:
        name, our_name: its name in sentences, and ours.
        url_setting: names its address, on both sides.
        key_setting: names its verification key on our side.
        our_key_setting: names ours on its side.
        how_to_set_up: sentences.
        our_url_setting: names our address, if the other server needs to know it; else empty.
    """

    name: str
    our_name: str
    url_setting: str
    key_setting: str
    our_key_setting: str
    how_to_set_up: str
    our_url_setting: str = ""

    @property
    def missing(self) -> str:
        """That there is none, as a clause."""
        return f"no {self.name} is set up for this installation"

    def configured(self) -> Partner | None:
        """The server as the settings name it; None if they name none."""
        names = (self.url_setting, self.key_setting, self.our_url_setting)
        values: list[Any] = [getattr(settings, name.removeprefix("PANAPP_"), "") for name in names]
        url, key, our_url = values
        if not (url and key) or (self.our_url_setting and not our_url):
            return None
        return Partner(url=url, verification_key=key, leader_url=our_url, signing_key=settings.SIGNING_KEY)


HELPER = PartnerRole(
    "helper",
    "leader",
    "PANAPP_HELPER_URL",
    "PANAPP_HELPER_KEY",
    "PANAPP_LEADER_KEY",
    "Run it as a leader: set PANAPP_ROLE=leader, PANAPP_LEADER_URL, PANAPP_HELPER_URL and PANAPP_HELPER_KEY "
    "(docs/operations/two-organizations.md, “Two servers”). To try two servers here: `make demo` and "
    "`collect` bring a helper along",
    our_url_setting="PANAPP_LEADER_URL",
)
SHUFFLER = PartnerRole(
    "shuffler",
    "analyzer",
    "PANAPP_SHUFFLER_URL",
    "PANAPP_SHUFFLER_KEY",
    "PANAPP_ANALYZER_KEY",
    "Set PANAPP_SHUFFLER_URL and PANAPP_SHUFFLER_KEY (docs/operations/two-organizations.md, “A shuffler”). "
    "To try one here: `collect` brings a shuffler along",
)


ISSUER = PartnerRole(
    "issuer",
    "site",
    "PANAPP_ISSUER_URL",
    "PANAPP_ISSUER_KEY",
    "PANAPP_SITE_KEY",
    "Set PANAPP_ISSUER_URL and PANAPP_ISSUER_KEY "
    "(docs/operations/two-organizations.md, “Pairing with an issuer”). To try one here: "
    "`collect` brings an issuer along",
)


def why_no_answer(role: PartnerRole, partner: Partner, error: PeerUnavailableError) -> str:
    """The obstacle between us and the other server, and what to do about it, as a clause."""
    cause = error.__cause__
    if isinstance(cause, PeerRefusedError) and cause.status == 403:
        key = base64_text.encode(public_half(partner.signing_key))
        return (
            f"the {role.name} at {partner.url} does not accept the signature of this {role.our_name}: set "
            f"its {role.our_key_setting} to {key}, and see that both sides name "
            f"the same {role.url_setting} and that both clocks are right"
        )
    if isinstance(cause, SignatureRefusedError):
        return (
            f"what answers at {partner.url} does not sign as the {role.name} ({error}): see "
            f"{role.url_setting}, {role.key_setting} and the proxies in between"
        )
    return f"the {role.name} at {partner.url} did not answer ({error}); try again later"
