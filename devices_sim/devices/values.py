"""Simulated devices with one value each."""

import random
from abc import abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.devices.interface import FleetDevices, SimulatedDevices, Truth, key_with_tables
from devices_sim.fleet_result import FleetResult
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.values_file import HEADER, values_csv
from panprivacy.device.shuffler_upload import ShufflerUpload
from panprivacy.device.transport import WireReport
from panprivacy.device.value_reports import value_reports
from panprivacy.device.value_reports.randomized import cells_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import narrowed
from panprivacy.statistics.randomized.interface import Randomizer
from panprivacy.statistics.shuffle.interface import ShuffleStatistic


class ValueDevices(FleetDevices[str]):
    """Devices that report their value as real ones do."""

    def __init__(self, recipe: PublishedRecipe) -> None:
        key = None if recipe.servers.scheme is None else key_with_tables(recipe.public_key)
        self._reports = value_reports(recipe, key)

    def answer(self, device_data: str) -> str:
        return device_data

    def report(
        self, device_data: str, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        reports = self._reports
        if not reports.is_sampled(random_source):
            return None
        return reports.of_value(reports.value_of(device_data), random_source, nonce)


class SimulatedValues(SimulatedDevices):
    """Devices with one value each; they take no steps."""

    option = "values"
    header = HEADER

    @abstractmethod
    def require_value(self, text: str) -> None:
        """FieldError if this is no value of the statistic."""

    def fleet(self, recipe: PublishedRecipe) -> FleetDevices[Any]:
        return ValueDevices(recipe)


class SimulatedMessages(SimulatedValues):
    """Devices that send messages to a shuffler."""

    reports_name = "messages"  # several of each user, indistinguishable from each other
    has_many_messages = True
    has_one_cohort = True
    batch_reports = ShufflerUpload.batch_reports

    @property
    def most_ciphertexts(self) -> int:
        return narrowed(self.statistic, ShuffleStatistic).most_messages

    def workload(self, path: Path) -> AbstractContextManager[Workload[Any]]:
        return values_csv(path, lambda cells: self.require_value(*cells))

    def require_value(self, text: str) -> None:
        narrowed(self.statistic, ShuffleStatistic).value_of(text)

    def truth(self, result: FleetResult) -> Truth:
        """About the users whose messages were mixed; users that came later are not in the result."""
        return Truth(narrowed(self.statistic, ShuffleStatistic).truth_of(result.accepted_by_answer))


class SimulatedRandomized(SimulatedValues):
    """Devices that randomize their value themselves, whatever servers they report to."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (HEADER[0], *narrowed(self.statistic, Randomizer).columns)

    @property
    def most_ciphertexts(self) -> int:
        return narrowed(self.statistic, Randomizer).report_ciphertexts

    def workload(self, path: Path) -> AbstractContextManager[Workload[Any]]:
        return values_csv(path, narrowed(self.statistic, Randomizer).value_of, self.columns)

    def require_value(self, text: str) -> None:
        randomizer = narrowed(self.statistic, Randomizer)
        randomizer.value_of(cells_of(text, len(randomizer.columns)))

    def truth(self, result: FleetResult) -> Truth:
        """About the whole population, those included that were not sampled."""
        randomizer = narrowed(self.statistic, Randomizer)
        columns, answers = len(randomizer.columns), result.devices_by_answer.items()
        return Truth(randomizer.truth_of({cells_of(text, columns): devices for text, devices in answers}))
