"""How simulated devices are run under each trust model; with the registry.

What is the same for all (publishing, running, waiting for the release) is in `collection`.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, cast

from analyzer.models import Intake
from devices_sim.fleet import FleetResult
from devices_sim.forecast import Forecast, forecast_of_values
from devices_sim.workloads import Workload, events_csv, values_csv
from devices_sim.workloads.events_file import HEADER as EVENTS_HEADER
from devices_sim.workloads.values_file import HEADER as VALUES_HEADER
from leader.models import Farewell
from panprivacy.errors import FieldError
from panprivacy.mechanisms.recipe_statistic import recipe_mechanism
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.shuffle.interface import ShuffleStatistic
from panprivacy.shuffle.recipe_statistic import shuffle_statistic
from panprivacy.statistic import Statistic
from panprivacy.trust import Trust
from recipes.models import Recipe


class DeviceRun(ABC):
    """One trust model."""

    option: ClassVar[str]
    """Name of the option of `collect` that takes the file of devices."""

    header: ClassVar[tuple[str, ...]]
    """Columns of that file."""

    partner: ClassVar[str | None] = None
    """Role of the server that must run beside the site: an argument of `running_services`."""

    waiting: ClassVar[str] = "reports"
    """What the workers have still to decrypt, when they are counted."""

    @abstractmethod
    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        """The devices of a file, which lasts as long as the context.

        Args:
            statistic: of the recipe, calibrated.

        Raises:
            FieldError: the first thing wrong with the file; says in which line and column.
        """

    @abstractmethod
    def truth(self, recipe: PublishedRecipe, fleet: FleetResult) -> tuple[float, ...]:
        """The exact answer to what is estimated."""

    def forecast(
        self, recipe: PublishedRecipe, workload: Workload[Any], processes: int
    ) -> Forecast | None:  # a device with events sends one report
        """How much work the devices have; None where each has little."""
        return None

    def owes_farewell(self, recipe: Recipe) -> bool:  # a site by itself has nobody to tell
        """Whether the partner has still to hear of the end of a recipe, and to delete what it holds."""
        return False


class OneServerRun(DeviceRun):
    """Devices with events, which report to the site."""

    option = "events"
    header = EVENTS_HEADER

    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        return events_csv(path, statistic.parameters.steps)

    def truth(self, recipe: PublishedRecipe, fleet: FleetResult) -> tuple[float, ...]:
        """About the whole population, those included that were not sampled."""
        return recipe_mechanism(recipe).truth(cast("Mapping[int, int]", fleet.devices_by_answer))


class TwoServerRun(OneServerRun):
    """The same, reporting to a leader and a helper."""

    partner = "helper"

    def owes_farewell(self, recipe: Recipe) -> bool:
        return Farewell.objects.filter(task__task_id=bytes.fromhex(str(recipe.identifier))).exists()


class ShufflerRun(DeviceRun):
    """Devices with values, which send them to a shuffler."""

    option = "values"
    header = VALUES_HEADER
    partner = "shuffler"
    waiting = "messages"  # several of each user, which nobody can tell apart any more

    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        if not isinstance(statistic, ShuffleStatistic):
            raise TypeError(f"{statistic.statistic} does not go through a shuffler")
        return values_csv(path, statistic.value_of)

    def truth(self, recipe: PublishedRecipe, fleet: FleetResult) -> tuple[float, ...]:
        """About the users whose messages were mixed: who came later, nobody asks about."""
        return shuffle_statistic(recipe).truth_of(cast("Mapping[str, int]", fleet.accepted_by_answer))

    def forecast(self, recipe: PublishedRecipe, workload: Workload[Any], processes: int) -> Forecast:
        return forecast_of_values(recipe, workload, processes)

    def owes_farewell(self, recipe: Recipe) -> bool:
        return Intake.objects.filter(recipe=recipe, is_deleted_there=False).exists()


DEVICE_RUNS: Mapping[Trust, DeviceRun] = {
    Trust.SINGLE_SERVER: OneServerRun(),
    Trust.TWO_SERVER: TwoServerRun(),
    Trust.SHUFFLER: ShufflerRun(),
}
"""To a curator, no devices report."""

OPTIONS: Mapping[str, tuple[str, ...]] = {run.option: run.header for run in DEVICE_RUNS.values()}
"""Option → columns of its file."""


def device_run_of(draft: RecipeDraft) -> DeviceRun:
    """How the devices of a recipe are run; FieldError where it has none."""
    run = DEVICE_RUNS.get(draft.trust)
    if run is None:
        raise FieldError(
            "statistic",
            f"cannot be {draft.statistic}: no devices report to a curator (see `manage.py stream`)",
        )
    return run


def device_file(run: DeviceRun, options: Mapping[str, Path | None], statistic: str) -> Path:
    """The file among these that the run takes.

    Args:
        options: by name, every one of `OPTIONS`; None where it was not given.
        statistic: named in refusals.

    Raises:
        FieldError: another was given, or none, or the file cannot be read.
    """
    wanted = f"--{run.option} FILE.csv, with the header {','.join(run.header)}"
    for name in OPTIONS:
        if name != run.option and options[name] is not None:
            raise FieldError(name, f"is not for {statistic}: its devices need {wanted}")
    path = options[run.option]
    if path is None:
        raise FieldError(run.option, f"is missing: {statistic} needs {wanted}")
    if path.is_dir() or not os.access(path, os.R_OK):
        raise FieldError(run.option, f"{path} is not a file that can be read")
    return path
