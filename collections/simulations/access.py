"""Who may simulate, and who may delete a private simulation."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from ledger.access import may_change_populations
from recipes.access import may_publish
from recipes.models import Recipe
from series.models import Series


def may_simulate(user: AbstractBaseUser | AnonymousUser | None) -> bool:
    """Whether the account may start, follow and cancel simulations."""
    return user is not None and may_publish(user)


def may_delete(user: AbstractBaseUser | AnonymousUser, simulated: Recipe | Series) -> bool:
    """Whether the account may delete a simulation: its owner or an administrator, if it is private."""
    return simulated.private and (simulated.created_by_id == user.pk or may_change_populations(user))
