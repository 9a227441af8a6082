"""Who may simulate, and who may delete a private simulation."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from ledger.access import may_change_populations
from recipes.access import may_publish
from simulations.models import Simulation


def may_simulate(user: AbstractBaseUser | AnonymousUser | None) -> bool:
    """Whether the account may start, follow and cancel simulations."""
    return user is not None and may_publish(user)


def may_delete(user: AbstractBaseUser | AnonymousUser, simulation: Simulation) -> bool:
    """Whether the account may delete the simulation: its owner or an administrator, if it is private."""
    if not simulation.recipe.private:
        return False
    return simulation.recipe.created_by_id == user.pk or may_change_populations(user)
