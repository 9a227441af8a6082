"""Devices with one value each, which they randomize themselves, whatever servers they report to."""

import random
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.fleet_devices import FleetDevices, RandomizingDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.randomized_report import RandomizedReports, randomizer_of
from devices_sim.transport import WireReport
from devices_sim.trust_models.interface import ReportingModel
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.values_file import HEADER, cells_of, values_csv
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import Statistic


class RandomizedReporting(ReportingModel):
    """The trust model of such devices; its upload is added by a class that inherits that too."""

    sends = "reports"
    option = "values"
    header: tuple[str, ...] = HEADER

    def header_of(self, statistic: Statistic[Any]) -> tuple[str, ...]:
        return (HEADER[0], *randomizer_of(statistic).columns)

    def fleet_devices(
        self,
        recipe: PublishedRecipe,
        *,
        eager: bool,  # noqa: ARG002  # no steps
    ) -> FleetDevices[Any]:
        return RandomizingDevices(recipe)

    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        return values_csv(path, randomizer_of(statistic).value_of, self.header_of(statistic))

    def require_value(self, statistic: Statistic[Any], text: str) -> None:
        randomizer = randomizer_of(statistic)
        randomizer.value_of(cells_of(text, len(randomizer.columns)))

    def is_sampled(self, recipe: PublishedRecipe, random_source: random.Random) -> bool:
        return RandomizedReports(recipe).is_sampled(random_source)

    def value_report(
        self, recipe: PublishedRecipe, text: str, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        reports = RandomizedReports(recipe)
        return reports.of_value(reports.value_of(text), random_source, nonce)

    def most_ciphertexts(self, statistic: Statistic[Any]) -> int:
        return randomizer_of(statistic).report_ciphertexts

    def truth(self, statistic: Statistic[Any], fleet: FleetResult) -> tuple[float, ...]:
        """About the whole population, those included that were not sampled."""
        randomizer = randomizer_of(statistic)
        columns = len(randomizer.columns)
        answers = fleet.devices_by_answer.items()
        return randomizer.truth_of({cells_of(text, columns): devices for text, devices in answers})

    def segment_truths(self, statistic: Statistic[Any], fleet: FleetResult) -> list[dict[str, Any]]:  # noqa: ARG002  # no segments
        """None: such statistics have no segments."""
        return []
