"""Trust in a single server on the device: one report over the REST API."""

from panprivacy.device.rest_upload import RestUpload
from panprivacy.device.transport import Transport
from panprivacy.device.trust_models.interface import ReportPath
from panprivacy.device.upload import Upload


class SingleServer(ReportPath):
    """To the server that published the recipe."""

    def _upload(self, transport: Transport) -> Upload:
        return RestUpload(self.recipe.identifier, transport)
