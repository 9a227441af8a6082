"""What `collect` does with a recipe and devices that it has checked. A module of its own, as loading it takes
longer than refusing a file does."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from devices_sim.fleet import FleetError
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import Workload
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recompute.bundle import BundleError
from recipes.errors import PartnerUnavailableError
from results.bundles import NoBundleError, bundle_write
from simulations.collect.collection import (
    CollectionStalledError,
    collection_run,
    log_update,
    roles_beside,
)
from simulations.collect.rounds_collection import rounds_collect, rounds_run
from simulations.installation.services import SIMULATING, SIMULATING_ALONE, ServiceError, Warn
from simulations.installation.shared_installation import shared_installation


def collect(
    *,
    members: dict[str, Any],
    draft: RecipeDraft,
    rounds: RoundsDraft | None,
    workload: Workload[Any],
    attributes: FleetAttributes | None,
    workers: int,
    processes: int,
    bundle: Path | None,
    warn: Warn,
    **options: Any,
) -> dict[str, Any]:
    """Run everything that the recipe needs, collect, and stop it again; the object that is printed.

    Args:
        members: fields of the recipe file.
        draft: what they say; of a recipe in rounds, that of each round.
        attributes: of the devices, for a recipe with a target; rounds have none.
        workers: processes that sum reports.
        processes: those that run devices.
        bundle: folder for the bundle of a recipe with a joint key, new or empty; None for none.
        warn: as of `shared_installation`.
        options: what `collection_run` and `rounds_run` take alike: seed, weights, eager, say, forewarn.

    Raises:
        CommandError: it did not come to its end; it says why.
    """
    statistic = draft.calibrated_statistic()
    beside = roles_beside(draft)
    simulating = SIMULATING if beside else SIMULATING_ALONE
    try:
        with shared_installation(
            partners=beside,
            warn=warn,
            workers=workers,
            # Two, so that a chunk in hand holds up no step.
            devices=max(2, processes),
            environment={**simulating, "PANAPP_RECIPE_CHUNKS": str(workers)},
            # Publishing asks for them, and they are remembered.
            meanwhile=statistic.guarantees,
        ) as services:
            if rounds is not None:
                results = rounds_run(
                    draft=rounds, workload=workload, services=services, processes=processes, **options
                )
                return rounds_collect(draft=rounds, results=results)
            result = collection_run(
                members=members,
                workload=workload,
                attributes=attributes,
                services=services,
                processes=processes,
                **options,
            )
            if bundle is not None:
                # The tree takes in the last entry now, rather than at the next poll.
                log_update(services)
                try:
                    bundle_write(result.recipe, bundle)
                except (NoBundleError, BundleError, OSError) as error:
                    warn(f"Warning: no bundle was written. {error}")
            return result.as_dict()
    except (FleetError, PartnerUnavailableError, ServiceError, CollectionStalledError) as error:
        raise CommandError(str(error)) from error
