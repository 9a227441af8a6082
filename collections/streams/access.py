"""Permission to announce intrusions, and to see what was seen."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

ANNOUNCE = "streams.add_announcedintrusion"


def may_announce(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may read a state on purpose: administrators, no group."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(ANNOUNCE)
