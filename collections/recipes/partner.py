"""The helper with which this installation runs two-server recipes."""

from django.conf import settings

from dap.provisioning import Partner


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
