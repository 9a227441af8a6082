"""What runs on this site: simulations, of recipes and of series, without a result yet."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q
from django.utils import timezone

from recipes.access import recipes_visible_to
from series.models import Round
from series.selectors import series_visible_to
from simulations.models import SeriesSimulation, Simulation
from simulations.selectors import SeriesProgress, progress_of, series_progress_of, series_running

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
    """The newest simulations of recipes that an account may know of and that have no result, without tries
    and without rounds of simulated series."""
    reported = Q(state=Simulation.State.REPORTED, recipe__release=None)
    unfinished = Simulation.objects.filter(
        Q(state=Simulation.State.RUNNING) | reported,
        try_number=None,
        recipe__in=recipes_visible_to(user),
    ).exclude(recipe__in=Round.objects.filter(series__simulated_by__isnull=False).values("recipe"))
    now = timezone.now()
    return [
        Running(one, one.state == Simulation.State.REPORTED, progress_of(one, now).seconds_left)
        for one in unfinished.select_related("recipe")[:MOST]
    ]


def series_unfinished(
    user: AbstractBaseUser | AnonymousUser,
) -> list[tuple[SeriesSimulation, SeriesProgress]]:
    """The newest series that are simulated and that an account may know of, and how far they are."""
    running, now = series_running().filter(series__in=series_visible_to(user)), timezone.now()
    return [(one, series_progress_of(one, now)) for one in running.order_by("-started_at")[:MOST]]
