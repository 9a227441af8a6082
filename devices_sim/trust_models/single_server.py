"""Trust in a single server on the device: events in some of T steps, and one report over the REST API."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.algorithm import steps_mechanism
from devices_sim.fleet_devices import EagerDevices, FleetDevices, LazyDevices, LocatedDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.rest_upload import RestUpload
from devices_sim.transport import Transport
from devices_sim.trust_models.interface import ReportingModel
from devices_sim.trust_models.randomized import RandomizedReporting
from devices_sim.upload import Upload
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.events_file import HEADER, events_csv
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.interface import Statistic


class SingleServer(ReportingModel):
    """Devices with events, or else with one value, which report to the server that published the recipe."""

    def reporting(self, statistic: str) -> ReportingModel:
        return self if statistic_class(statistic).device_input.takes_steps else self._randomized()

    def _randomized(self) -> ReportingModel:
        """The same for devices that randomize one value."""
        return _RandomizedToOne()

    sends = "reports"
    option = "events"
    header: tuple[str, ...] = HEADER
    batch_reports = RestUpload.batch_reports

    def _upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        return RestUpload(recipe.identifier, transport)

    def fleet_devices(self, recipe: PublishedRecipe, *, eager: bool) -> FleetDevices[Any]:
        devices = EagerDevices if eager else LazyDevices
        return LocatedDevices(recipe, devices) if recipe.segments else devices(recipe)

    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        labels = () if statistic.segmentation is None else statistic.segmentation.labels
        return events_csv(path, statistic.parameters.step_count, labels)

    def most_ciphertexts(self, statistic: Statistic[Any]) -> int:
        return steps_mechanism(statistic).report_ciphertexts

    def truth(self, statistic: Statistic[Any], fleet: FleetResult) -> tuple[float, ...]:
        """About the whole population, those included that were not sampled."""
        return steps_mechanism(statistic).truth(fleet.devices_by_answer)

    def segment_truths(self, statistic: Statistic[Any], fleet: FleetResult) -> list[dict[str, Any]]:
        """About the whole population, like `truth`."""
        segmentation = statistic.segmentation
        return [] if segmentation is None else segmentation.truths(fleet.devices_by_answer)


class _RandomizedToOne(RandomizedReporting, SingleServer):
    """Devices that randomize one value, for a single server."""
