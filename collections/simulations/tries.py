"""Tries: a simulation that browsers of visitors join, so that the product is explained by its use.

Strangers begin them, so all is bounded. One begins a minute at most, and only if a visitor asks; a visitor
who asks before it opens joins it. A day has `TRIES_A_DAY` at most, an address begins `TRIES_AN_HOUR`, and
`TRIES_AT_ONCE` run. What a try leaves for good is what any recipe does: its document, its result and three
entries of the log. Reports, sums and keys are deleted at its end.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError
from django.db.models import QuerySet

from devices_sim.devices import simulated_class
from panprivacy.formats.times import format_time
from panprivacy.recipe.draft import RecipeDraft
from recipes.planner.guarantees import Guaranteed, NotComputedError, guarantees_require
from simulations import device_counts
from simulations.errors import SimulationRefusedError
from simulations.models import Simulation
from simulations.operations import simulation_publish
from storage import clock
from web.request_counts import times_asked

STEPS = 4
STEP_SECONDS = 10
EPSILON = 1.0
COHORT_SIZE = 1_000

DEVICES = 3_000
"""Simulated ones, beside the browsers."""

RATE = 0.085
"""Probability of an event in a step: it then happens on 30% of the simulated devices."""

LEAD = timedelta(seconds=8)
"""From being asked for to its opening: a browser loads its page meanwhile."""

LATEST = timedelta(seconds=2)
"""So long before its opening a try can still be joined."""

REPORTING = timedelta(seconds=15)
"""From the last step to the end: a browser reports at a poll after that step."""

APART = timedelta(seconds=60)
"""Between the openings of two tries, at least."""

TRIES_A_DAY = 200
TRIES_AN_HOUR = 20
"""Of one address."""

TRIES_AT_ONCE = 4
"""More run only where workers do not come to them."""

_HOUR, _DAY = 3_600, timedelta(days=1)


@dataclass(frozen=True)
class Counted:
    """Simulated devices whose reports were accepted, and all those on which it happened."""

    reported: int
    happened: int


def try_join(*, asker: str) -> Simulation:
    """The try that a visitor may join now: the one that opens next, or else a new one.

    Do not call it in a transaction.

    Args:
        asker: the visitor's address; counted for an hour under a keyed hash, and only where a try is made.

    Raises:
        SimulationRefusedError: none can begin now, or here; the message is a visitor's.
    """
    if not settings.SITE_URL:
        raise SimulationRefusedError(
            "this site is not ready for it; its operator has to set its address (PANAPP_SITE_URL)"
        )
    now = clock.database_now()
    latest = latest_try()
    if latest is not None and _is_joinable(latest, now):
        return latest
    _require_capacity(now)
    guaranteed = _guaranteed(now)
    _count(asker)
    opens_at = now + LEAD
    number = 1
    if latest is not None and latest.try_number is not None and latest.recipe.opens_at is not None:
        number = latest.try_number + 1
        # One that lies further ahead was set by a clock that was then set back: ignore it.
        if latest.recipe.opens_at <= now + LEAD + APART:
            opens_at = max(opens_at, latest.recipe.opens_at + APART)
    try:
        return simulation_publish(
            members=try_members(opens_at),
            workload={"kind": "bernoulli", "devices": DEVICES, "rate": RATE},
            seed=None,
            actor=None,
            try_number=number,
            guaranteed=guaranteed,
        )
    except IntegrityError:
        # Somebody else began the same one at this moment.
        return Simulation.objects.select_related("recipe").get(try_number=number)


def try_members(opens_at: datetime) -> dict[str, Any]:
    """The recipe file of a try that opens then, to the second."""
    opens_at = opens_at.replace(microsecond=0)
    closes_at = opens_at + timedelta(seconds=STEPS * STEP_SECONDS) + REPORTING
    return {
        "name": "Try it",
        "question": "On how many devices did it happen?",
        "statistic": "count_nonzero",
        "steps": STEPS,
        "step_seconds": STEP_SECONDS,
        "epsilon": EPSILON,
        "delta": 1e-6,
        "cohort_size": COHORT_SIZE,
        "opens_at": format_time(opens_at),
        "closes_at": format_time(closes_at),
    }


def latest_try() -> Simulation | None:
    """The try that was begun last."""
    return _tries().select_related("recipe").order_by("-try_number").first()


def try_of(identifier: str) -> Simulation | None:
    """The try whose recipe has this identifier."""
    return _tries().select_related("recipe").filter(recipe__identifier=identifier).first()


def recipes_of_tries() -> QuerySet[Simulation, Any]:
    """Primary keys of the recipes of all tries, for a query that leaves them out."""
    return _tries().values("recipe")


def simulated_devices(simulation: Simulation) -> Counted:
    """What the simulated devices of a try did so far; the site does not know it of the browsers."""
    total = device_counts.of_json(simulation.totals)
    published = simulation.recipe.published
    (happened,) = simulated_class(published)(published.calibrated_statistic).truth(total).values
    return Counted(total.accepted, round(happened))


def _tries() -> QuerySet[Simulation]:
    return Simulation.objects.filter(try_number__isnull=False)


def _is_joinable(simulation: Simulation, now: datetime) -> bool:
    opens_at = simulation.recipe.opens_at
    if simulation.state != Simulation.State.RUNNING or opens_at is None:
        return False
    return LATEST <= opens_at - now <= LEAD + APART


def _require_capacity(now: datetime) -> None:
    if _tries().filter(state=Simulation.State.RUNNING).count() >= TRIES_AT_ONCE:
        raise SimulationRefusedError(
            "others are trying it, and their devices are still at work; press again in some minutes"
        )
    if _tries().filter(started_at__gt=now - _DAY).count() >= TRIES_A_DAY:
        raise SimulationRefusedError("too many people tried it today; come back tomorrow")


def _guaranteed(now: datetime) -> Guaranteed:
    """What every try guarantees: the same question of all, whenever they open."""
    try:
        return guarantees_require(asked=RecipeDraft.from_mapping(try_members(now)))
    except NotComputedError:
        raise SimulationRefusedError(
            "what it guarantees is being computed; press again in some seconds"
        ) from None


def _count(asker: str) -> None:
    if times_asked("tries", asker, seconds=_HOUR, now=clock.database_now()) > TRIES_AN_HOUR:
        raise SimulationRefusedError(
            "it was begun very often from your network within an hour; come back in an hour"
        )
