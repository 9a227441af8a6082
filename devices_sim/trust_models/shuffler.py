"""Trust in a shuffler on the device: one value, sent as messages that the shuffler mixes."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.algorithm import values_statistic
from devices_sim.fleet_devices import FleetDevices, ValueDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.forecast import Forecast, forecast_of_values
from devices_sim.shuffler_upload import ShufflerUpload
from devices_sim.transport import Transport
from devices_sim.trust_models.interface import ReportingModel
from devices_sim.upload import Upload
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.values_file import HEADER, values_csv
from panprivacy.recipe import PublishedRecipe
from panprivacy.statistic import Statistic


class Shuffler(ReportingModel):
    """Devices with one value each; they take no steps."""

    sends = "messages"  # several of each user, which nobody can tell apart any more
    option = "values"
    header = HEADER
    batch_reports = ShufflerUpload.batch_reports

    def upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        return ShufflerUpload(recipe, transport)

    def fleet_devices(
        self,
        recipe: PublishedRecipe,
        *,
        eager: bool,  # noqa: ARG002  # no steps
    ) -> FleetDevices[Any]:
        return ValueDevices(recipe)

    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        return values_csv(path, values_statistic(statistic).value_of)

    def most_ciphertexts(self, statistic: Statistic[Any]) -> int:
        return values_statistic(statistic).most_messages

    def truth(self, statistic: Statistic[Any], fleet: FleetResult) -> tuple[float, ...]:
        """About the users whose messages were mixed; those who came later are not in the result."""
        return values_statistic(statistic).truth_of(fleet.accepted_by_answer)

    def forecast(self, recipe: PublishedRecipe, workload: Workload[Any], processes: int) -> Forecast:
        return forecast_of_values(recipe, workload, processes)
