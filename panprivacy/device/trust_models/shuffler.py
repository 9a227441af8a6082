"""Trust in a shuffler on the device: messages that the shuffler mixes."""

from collections.abc import Mapping

from panprivacy.device.oblivious_transport import Gateway
from panprivacy.device.shuffler_upload import ShufflerUpload
from panprivacy.device.transport import Transport
from panprivacy.device.trust_models.interface import ReportPath
from panprivacy.device.upload import Upload
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
