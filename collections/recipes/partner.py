"""The helper with which this installation runs two-server recipes, and what to do where there is none."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from dap.client import PeerRefusedError, PeerUnavailableError
from dap.provisioning import Partner
from panprivacy.dap.signatures import SignatureRefusedError

NO_HELPER = "no helper is set up for this installation"

HOW_TO_SET_UP = (
    "Run it as a leader: set PANAPP_ROLE=leader, PANAPP_LEADER_URL, PANAPP_HELPER_URL and PANAPP_HELPER_KEY "
    "(docs/operations.md, “Two servers”). To try two servers here: `make demo` and `collect` bring "
    "a helper along"
)


def configured_partner() -> Partner | None:
    """As the settings name it; None where there is none."""
    if not (settings.LEADER_URL and settings.HELPER_URL and settings.HELPER_KEY):
        return None
    return Partner(
        url=settings.HELPER_URL,
        verification_key=settings.HELPER_KEY,
        leader_url=settings.LEADER_URL,
        signing_key=settings.SIGNING_KEY,
    )


def why_no_answer(partner: Partner, error: PeerUnavailableError) -> str:
    """What stands between us and the helper, and what to do about it, as a clause."""
    cause = error.__cause__
    if isinstance(cause, PeerRefusedError) and cause.status == 403:
        key = Ed25519PrivateKey.from_private_bytes(partner.signing_key).public_key().public_bytes_raw()
        return (
            f"the helper at {partner.url} does not accept the signature of this leader: set its "
            f"PANAPP_LEADER_KEY to {base64.b64encode(key).decode()}, and see that both sides name the same "
            "PANAPP_HELPER_URL and that both clocks are right"
        )
    if isinstance(cause, SignatureRefusedError):
        return (
            f"what answers at {partner.url} does not sign as the helper ({error}): see PANAPP_HELPER_URL, "
            "PANAPP_HELPER_KEY and the proxies in between"
        )
    return f"the helper at {partner.url} did not answer ({error}); try again later"
