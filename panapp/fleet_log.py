"""Simulated devices look at the site's public log before they report, and at the results that a target
cites: once for all of them."""

from contextlib import suppress

from django.db import OperationalError

from devices_sim.fleet import FleetError
from devices_sim.log_check import LogCheck, LogRefusedError, TooFewWitnessesError
from devices_sim.target_check import TargetRefusedError, target_require
from devices_sim.transport import ServedRecipe, Transport, TransportError
from panapp.services import Services, wait_until
from panprivacy.recipe import PublishedRecipe
from panprivacy.transparency.policy import Policy
from public_log.cosigning import witnesses_ask
from public_log.integrating import integrate
from public_log.models import AskedWitness
from storage import clock

WITNESS_SECONDS = 20.0
"""For which witnesses are waited for. They sign at once, unless they are being started again."""


def fleet_log_require(served: ServedRecipe, transport: Transport, services: Services) -> None:
    """Check that a recipe is in the public log of running services, and that their witnesses saw it there.

    Raises:
        FleetError: it is not, or too few witnesses sign; says what each answered.
    """
    check = LogCheck(services.log_policy)

    def holds() -> bool:
        # Now, rather than when the processes that do so every few seconds come to it.
        with suppress(OperationalError):  # the database is busy: next time
            integrate()
            witnesses_ask(now=clock.database_now(), policy=services.log_policy)
        try:
            check.require(served, transport)
        except TooFewWitnessesError:
            return False
        return True

    try:
        if wait_until(holds, WITNESS_SECONDS, interval=1.0):
            return
    except (LogRefusedError, TransportError) as error:
        raise FleetError(f"no device reports: {error}") from error
    why = _why(services.log_policy)
    raise FleetError(f"no device reports: too few witnesses sign the site's public log ({why})")


def fleet_target_require(recipe: PublishedRecipe, transport: Transport, services: Services) -> None:
    """Check the results that a recipe's target rests on, where it has one, after `fleet_log_require`.

    Raises:
        FleetError: the log does not have them, or they do not show that the target is large enough.
    """
    if recipe.target is None:
        return
    try:
        target_require(
            recipe.target,
            population=recipe.population,
            simulation=recipe.simulation,
            transport=transport,
            log=LogCheck(services.log_policy),
        )
    except (LogRefusedError, TargetRefusedError, TransportError) as error:
        raise FleetError(f"no device reports: {error}") from error


def _why(policy: Policy) -> str:
    """What the witnesses that did not sign answered."""
    names = {witness.key.name: name for name, witness in policy.witnesses.items()}
    asked = AskedWitness.objects.filter(witness__in=names, failing_since__isnull=False)
    return "; ".join(f"{names[one.witness]}: {one.last_error}" for one in asked) or "none was asked"
