"""Who has a second factor, and who must."""

from django.conf import settings
from django.contrib.auth.models import User

from second_factor.models import Factor

OFF, OPTIONAL, ADMINISTRATORS, REQUIRED = POLICIES = ("off", "optional", "administrators", "required")
"""What PANAPP_SECOND_FACTOR may say: nobody is asked; those who set one up; administrators must have one;
everybody must."""


def factor_of(user: User) -> Factor | None:
    """The second factor that this account is asked for; None where it is asked for none."""
    if settings.SECOND_FACTOR == OFF:
        return None
    return Factor.objects.filter(user=user, confirmed_at__isnull=False).first()


def factor_required(user: User) -> bool:
    """Whether this account must have one to sign in."""
    administrator = user.is_staff or user.is_superuser
    return bool(
        settings.SECOND_FACTOR == REQUIRED or (settings.SECOND_FACTOR == ADMINISTRATORS and administrator)
    )
