"""Trust in two servers on the device: what a single server gets, split between a leader and a helper."""

from devices_sim.transport import Transport
from devices_sim.trust_models.single_server import SingleServer
from devices_sim.upload import Upload
from panprivacy.recipe import PublishedRecipe


class TwoServer(SingleServer):
    """Devices as for a single server, which upload a share for each of two (DAP)."""

    def upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        # Here, because devices of other recipes need none of it.
        from devices_sim.dap_upload import DapUpload

        return DapUpload(recipe, transport)
