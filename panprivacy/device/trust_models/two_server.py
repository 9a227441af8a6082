"""Trust in two servers on the device: a report that is split between a leader and a helper (DAP)."""

from collections.abc import Mapping

from panprivacy.device.oblivious_transport import Gateway
from panprivacy.device.transport import Transport
from panprivacy.device.trust_models.interface import ReportPath
from panprivacy.device.upload import Upload
from panprivacy.statistics.trust_models.two_server import TwoServers


class TwoServer(ReportPath):
    """To the leader, with a share for each of the two servers."""

    @property
    def gateways(self) -> Mapping[str, Gateway]:
        servers = self.recipe.servers
        if not isinstance(servers, TwoServers):
            raise TypeError(f"a recipe of two servers names them, unlike {type(servers).__name__}")
        return {
            servers.leader_url: Gateway("", self.verification_key),
            servers.helper_url: Gateway("helper", servers.helper_verification_key),
        }

    def _upload(self, transport: Transport) -> Upload:
        # Imported here, because devices of other recipes do not need it.
        from panprivacy.device.dap_upload import DapUpload

        return DapUpload(self.recipe, transport)
