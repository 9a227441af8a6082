"""What an attester says publicly about itself: its attestation method, the number of devices in coarse steps,
its log.
"""

from typing import Any

from django.conf import settings

from panprivacy.formats.rounded_counts import STEPS, rounded_count
from partners.required_settings import required
from partners.server_status import server_status
from tokens.attester.kinds import attestation
from tokens.attester.models import Device, EnrolmentCode, Handle, Issued


def status() -> dict[str, Any]:
    """Everything that the page shows, as plain JSON values."""
    kind = attestation()
    return {
        **server_status(required(settings.ATTESTER_URL, "PANAPP_ATTESTER_URL")),
        "issuer": required(settings.ISSUER_URL, "PANAPP_ISSUER_URL"),
        "attestation": kind.name,
        "attestation_said": kind.title,
        # A reader must not see that one more device has enrolled or asked (rounded_counts.py).
        **{name: _coarse(count) for name, count in counts().items()},
    }


def counts() -> dict[str, int]:
    """How many there are of each kind of row: for the administrator, exactly."""
    return {
        "devices": Device.objects.filter(revoked=False).count(),
        "devices_revoked": Device.objects.filter(revoked=True).count(),
        "codes_unused": EnrolmentCode.objects.filter(used=False).count(),
        "tokens_handed_out": Issued.objects.count(),
        "tokens_withheld": Handle.objects.filter(withheld=True).count(),
    }


def _coarse(count: int) -> int:
    # In steps of a fiftieth of itself, or of 10.
    return rounded_count(count, max(count + 1, STEPS))
