"""Who may simulate: those who may publish recipes, as a simulation publishes one."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from recipes.access import may_publish


def may_simulate(user: AbstractBaseUser | AnonymousUser | None) -> bool:
    """Whether the account may start, follow and cancel simulations."""
    return user is not None and may_publish(user)
