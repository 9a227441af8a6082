"""Who may draft, publish and close recipes."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

from audit.access import AccessCheckedView

PUBLISH = "recipes.publish_recipe"


def may_publish(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may draft, publish and close recipes."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(PUBLISH)


class PublishersOnly(AccessCheckedView):
    """A page for those who may publish."""

    refusal = "Only analysts may draft, publish and close recipes."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_publish(user)
