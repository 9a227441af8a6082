"""The interface of a trust model on the device: to which servers reports go, and how."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.device.transport import Transport
from panprivacy.device.upload import Upload
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.request_bytes import published_report_bytes


class ReportPath(ABC):
    """The path of one recipe's reports. It holds nothing about a device.

    Args:
        recipe: verified, of this trust model.
        verification_key: of the server that published it, 32 bytes, pinned beforehand.
    """

    def __init__(self, recipe: PublishedRecipe, verification_key: bytes) -> None:
        self.recipe = recipe
        self.verification_key = verification_key

    @property
    def gateways(self) -> Mapping[str, Gateway]:
        """Base address → gateway of every server that the recipe names: the targets of its relay."""
        return {}

    def transport(self, direct: Transport, server: str = "") -> Transport:
        """The transport to the servers of the recipe: through its relay, if it has one.

        Args:
            direct: to the server that published the recipe; stays open.
            server: that server's base address, which the relay does not need.
        """
        if self.recipe.relay is None:
            return direct
        return ObliviousTransport(
            server,
            self.recipe.relay,
            direct,
            Gateway("", self.verification_key),
            others=self.gateways,
            at_least=published_report_bytes(self.recipe),
            kem=self.recipe.hpke,
        )

    def upload(self, transport: Transport) -> Upload:
        """The upload of the recipe's reports.

        Args:
            transport: from `transport`; stays open.

        Raises:
            ValueError: the recipe has a relay, and this is another transport: no report goes in the clear.
        """
        if self.recipe.relay is None:
            return self._upload(transport)
        if not isinstance(transport, ObliviousTransport):
            raise ValueError("reports of this recipe are sent through its relay only")
        upload = self._upload(transport)
        upload.batch_reports = 1
        return upload

    @abstractmethod
    def _upload(self, transport: Transport) -> Upload:
        """As in `upload`, for any transport."""
