"""Who may announce intrusions, and see what was seen."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

from audit.access import AccessCheckedView

ANNOUNCE = "streams.add_announcedintrusion"


def may_announce(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may read a state on purpose: administrators, no group."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(ANNOUNCE)


class AnnouncersOnly(AccessCheckedView):
    """A page for those who may announce intrusions. What was seen is for nobody else: it is the state."""

    refusal = "Only administrators may announce an intrusion, and see what was seen."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_announce(user)
