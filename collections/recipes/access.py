"""Permission to draft, publish and close recipes, and to see private simulations."""

import secrets

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from recipes.models import Recipe

PUBLISH = "recipes.publish_recipe"

DEVICE_KEY = "X-Simulated-Device"
"""Field of the header with which simulated devices reach their private simulation over the public API."""


def may_publish(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may draft, publish and close recipes."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(PUBLISH)


def recipes_visible_to(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Recipe]:
    """The recipes that an account may know of: analysts all, others none of the private simulations. For
    lists; `may_see` is the same for one recipe."""
    recipes = Recipe.objects.all()
    return recipes if may_publish(user) else recipes.filter(device_key="")


def may_see(request: HttpRequest, recipe: Recipe) -> bool:
    """Whether the client of a request may know of a recipe. Pages, API and ingest endpoint ask here, and
    answer that there is no such recipe if not.

    A private simulation is seen by analysts, and by its own simulated devices.
    """
    # The account is read for private recipes only: other answers do not depend on it.
    return (
        not recipe.private
        or constant_time_compare(request.headers.get(DEVICE_KEY, ""), recipe.device_key)
        or may_publish(getattr(request, "user", AnonymousUser()))
    )


def device_key_new() -> str:
    """A device key: 64 hexadecimal digits."""
    return secrets.token_hex(32)
