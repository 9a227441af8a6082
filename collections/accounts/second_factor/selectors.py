"""Which accounts have a second factor, and which must."""

from django.conf import settings
from django.contrib.auth.models import User

from accounts.second_factor.models import Factor

OFF, OPTIONAL, ADMINISTRATORS, REQUIRED = POLICIES = ("off", "optional", "administrators", "required")
"""Values of PANAPP_SECOND_FACTOR: asked of no account; of accounts that set one up; required of
administrators; required of all accounts."""


def factor_of(user: User) -> Factor | None:
    """The second factor that this account is asked for; None if it is asked for none."""
    if settings.SECOND_FACTOR == OFF:
        return None
    return Factor.objects.filter(user=user, confirmed_at__isnull=False).first()


def factor_required(user: User) -> bool:
    """Whether this account must have one to sign in."""
    administrator = user.is_staff or user.is_superuser
    return bool(
        settings.SECOND_FACTOR == REQUIRED or (settings.SECOND_FACTOR == ADMINISTRATORS and administrator)
    )
