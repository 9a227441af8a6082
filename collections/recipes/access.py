"""Permission to draft, publish and close recipes."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

PUBLISH = "recipes.publish_recipe"


def may_publish(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may draft, publish and close recipes."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(PUBLISH)
