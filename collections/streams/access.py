"""Who may announce intrusions."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

from audit.access import AccessCheckedView

ANNOUNCE = "streams.add_announcedintrusion"


def may_announce(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may read a state on purpose: administrators, no group."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(ANNOUNCE)


class AnnouncersOnly(AccessCheckedView):
    """A page for those who may announce intrusions."""

    refusal = "Only administrators may announce an intrusion."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_announce(user)
