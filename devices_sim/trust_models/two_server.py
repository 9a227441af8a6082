"""Trust in two servers on the device: the report to a single server, split between a leader and a helper."""

from collections.abc import Mapping

from devices_sim.oblivious_transport import Behind
from devices_sim.transport import Transport
from devices_sim.trust_models.interface import ReportingModel
from devices_sim.trust_models.randomized import RandomizedReporting
from devices_sim.trust_models.single_server import SingleServer
from devices_sim.upload import Upload
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.two_server import TwoServers


class TwoServer(SingleServer):
    """Devices as for a single server, which upload a share for each of two (DAP)."""

    def _randomized(self) -> ReportingModel:
        return _RandomizedToTwo()

    def _upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        # Imported here, because devices of other recipes do not need it.
        from devices_sim.dap_upload import DapUpload

        return DapUpload(recipe, transport)

    def behind(self, recipe: PublishedRecipe, verification_key: bytes) -> Mapping[str, Behind]:
        servers = recipe.servers
        if not isinstance(servers, TwoServers):
            raise TypeError(f"a recipe of two servers names them, unlike {type(servers).__name__}")
        return {
            servers.leader_url: Behind("", verification_key),
            servers.helper_url: Behind("helper", servers.helper_verification_key),
        }


class _RandomizedToTwo(RandomizedReporting, TwoServer):
    """Devices that randomize one value, for two servers."""
