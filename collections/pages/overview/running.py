"""What runs on this site: simulations without a result yet."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q
from django.utils import timezone

from recipes.access import recipes_visible_to
from simulations.models import Simulation
from simulations.selectors import progress_of

MOST = 6
"""Simulations that are shown."""


@dataclass(frozen=True)
class Running:
    """A simulation without a result yet.

    Attributes:
        sums: whether all of its devices have reported.
        seconds_left: until they have; None if that is not known.
    """

    simulation: Simulation
    sums: bool
    seconds_left: int | None


def simulations_unfinished(user: AbstractBaseUser | AnonymousUser) -> list[Running]:
    """The newest simulations that an account may know of and that have no result, without tries."""
    reported = Q(state=Simulation.State.REPORTED, recipe__release=None)
    unfinished = Simulation.objects.filter(
        Q(state=Simulation.State.RUNNING) | reported,
        try_number=None,
        recipe__in=recipes_visible_to(user),
    )
    now = timezone.now()
    return [
        Running(one, one.state == Simulation.State.REPORTED, progress_of(one, now).seconds_left)
        for one in unfinished.select_related("recipe")[:MOST]
    ]
