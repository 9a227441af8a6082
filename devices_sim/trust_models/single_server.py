"""Trust in a single server on the device: one report over the REST API."""

from devices_sim.rest_upload import RestUpload
from devices_sim.transport import Transport
from devices_sim.trust_models.interface import ReportPath
from devices_sim.upload import Upload


class SingleServer(ReportPath):
    """To the server that published the recipe."""

    def _upload(self, transport: Transport) -> Upload:
        return RestUpload(self.recipe.identifier, transport)
