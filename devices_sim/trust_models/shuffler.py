"""Trust in a shuffler on the device: messages that the shuffler mixes."""

from collections.abc import Mapping

from devices_sim.oblivious_transport import Gateway
from devices_sim.shuffler_upload import ShufflerUpload
from devices_sim.transport import Transport
from devices_sim.trust_models.interface import ReportPath
from devices_sim.upload import Upload
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer


class Shuffler(ReportPath):
    """To the shuffler, not to the server that published the recipe."""

    @property
    def gateways(self) -> Mapping[str, Gateway]:
        servers = self.recipe.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError(f"a recipe with a shuffler names it, unlike {type(servers).__name__}")
        return {servers.shuffler_url: Gateway("shuffler", servers.shuffler_verification_key)}

    def _upload(self, transport: Transport) -> Upload:
        return ShufflerUpload(self.recipe, transport)
