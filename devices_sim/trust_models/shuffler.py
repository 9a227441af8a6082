"""Trust in a shuffler on the device: one value, sent as messages that the shuffler mixes."""

import random
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.algorithm import value_report, values_statistic
from devices_sim.fleet_devices import FleetDevices, ValueDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.oblivious_transport import Behind
from devices_sim.shuffler_upload import ShufflerUpload
from devices_sim.transport import Transport, WireReport
from devices_sim.trust_models.interface import ReportingModel
from devices_sim.upload import Upload
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.values_file import HEADER, values_csv
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer


class Shuffler(ReportingModel):
    """Devices with one value each; they take no steps."""

    sends = "messages"  # several of each user, indistinguishable from each other
    option = "values"
    header = HEADER
    batch_reports = ShufflerUpload.batch_reports
    closes_when_full = True
    sends_many = True

    def _upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        return ShufflerUpload(recipe, transport)

    def behind(self, recipe: PublishedRecipe, verification_key: bytes) -> Mapping[str, Behind]:  # noqa: ARG002  # no server is asked for a key
        servers = recipe.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError(f"a recipe with a shuffler names it, unlike {type(servers).__name__}")
        return {servers.shuffler_url: Behind("shuffler", servers.shuffler_verification_key)}

    def fleet_devices(
        self,
        recipe: PublishedRecipe,
        *,
        eager: bool,  # noqa: ARG002  # no steps
    ) -> FleetDevices[Any]:
        return ValueDevices(recipe)

    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        return values_csv(path, lambda cells: self.require_value(statistic, *cells))

    def require_value(self, statistic: Statistic[Any], text: str) -> None:
        values_statistic(statistic).value_of(text)

    def value_report(
        self, recipe: PublishedRecipe, text: str, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport:
        statistic = values_statistic(recipe.calibrated_statistic)
        return value_report(statistic, recipe.public_key, statistic.value_of(text), random_source, nonce)

    def most_ciphertexts(self, statistic: Statistic[Any]) -> int:
        return values_statistic(statistic).most_messages

    def truth(self, statistic: Statistic[Any], fleet: FleetResult) -> tuple[float, ...]:
        """About the users whose messages were mixed; users that came later are not in the result."""
        return values_statistic(statistic).truth_of(fleet.accepted_by_answer)
