"""The interface of a trust model on the device: whether devices report, what, and to whom."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.fleet_devices import FleetDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.oblivious_transport import Behind, ObliviousTransport
from devices_sim.transport import Transport, WireReport
from devices_sim.upload import Upload
from devices_sim.workloads.bucket import Workload
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.request_bytes import published_report_bytes
from panprivacy.statistics.interface import Statistic


class DeviceTrustModel(ABC):
    """One trust model, from the view of devices. It holds nothing about any recipe."""

    @abstractmethod
    def reporting(self, statistic: str) -> "ReportingModel":
        """How devices report.

        Args:
            statistic: its name, for the refusal.

        Raises:
            FieldError: no devices take part.
        """


class ReportingModel(DeviceTrustModel):
    """A trust model in which devices take part.

    Attributes:
        closes_when_full: whether a recipe closes automatically when its cohort is full, so that further
            devices come too late.
        sends_many: whether a device sends so much that the user is warned first.
    """

    closes_when_full = False
    sends_many = False

    def reporting(self, statistic: str) -> "ReportingModel":  # noqa: ARG002  # for refusals
        return self

    @property
    @abstractmethod
    def sends(self) -> str:
        """What devices send, for people, in the plural."""

    def way(
        self, recipe: PublishedRecipe, transport: Transport, verification_key: bytes, server: str = ""
    ) -> Transport:
        """The transport to the servers of a recipe: through its relay, if it has one.

        Args:
            recipe: verified, of this trust model.
            transport: to the server that published it; stays open.
            verification_key: of that server, 32 bytes, pinned beforehand.
            server: its base address, which the relay does not need.
        """
        if recipe.relay is None:
            return transport
        return ObliviousTransport(
            server,
            recipe.relay,
            transport,
            Behind("", verification_key),
            others=self.behind(recipe, verification_key),
            at_least=published_report_bytes(recipe),
        )

    def upload(self, recipe: PublishedRecipe, way: Transport) -> Upload:
        """The upload of a recipe's reports.

        Args:
            recipe: verified, of this trust model.
            way: the transport that `way` gives; stays open.

        Raises:
            ValueError: the recipe has a relay, and this is another transport: no report goes in the clear.
        """
        if recipe.relay is None:
            return self._upload(recipe, way)
        if not isinstance(way, ObliviousTransport):
            raise ValueError("reports of this recipe are sent through its relay only")
        upload = self._upload(recipe, way)
        upload.batch_reports = 1
        return upload

    @abstractmethod
    def _upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        """As in `upload`, for any transport."""

    def behind(self, recipe: PublishedRecipe, verification_key: bytes) -> Mapping[str, Behind]:  # noqa: ARG002  # for those that override it
        """The servers that a recipe names, by their addresses: the targets of its relay.

        Args:
            verification_key: of the server that published the recipe.
        """
        return {}

    @abstractmethod
    def fleet_devices(self, recipe: PublishedRecipe, *, eager: bool) -> FleetDevices[Any]:
        """The simulated devices of a recipe.

        Args:
            eager: they take every step, if there are steps.
        """

    @property
    @abstractmethod
    def option(self) -> str:
        """The input of simulated devices: the name of the option of `collect` for their file."""

    @property
    @abstractmethod
    def header(self) -> tuple[str, ...]:
        """Columns of that file."""

    def header_of(self, statistic: Statistic[Any]) -> tuple[str, ...]:  # noqa: ARG002  # for those with more
        """Columns of that file for one statistic.

        Args:
            statistic: of the recipe, calibrated.
        """
        return self.header

    def require_value(self, statistic: Statistic[Any], text: str) -> None:
        """Check the value of one device of a workload.

        Raises:
            FieldError: it is no value of the statistic.
            TypeError: devices of the statistic have no values.
        """
        raise TypeError(f"devices of {statistic.statistic} have no values: {text}")

    def is_sampled(self, recipe: PublishedRecipe, random_source: random.Random) -> bool:  # noqa: ARG002  # for those that override it
        """Toss the coin that decides whether a device with one value takes part: once, whatever its value."""
        return True

    def value_report(
        self,
        recipe: PublishedRecipe,
        text: str,
        random_source: random.Random,  # noqa: ARG002  # for those whose devices have values
        nonce: bytes | None = None,  # noqa: ARG002  # for those that override it
    ) -> WireReport | None:
        """The report of a sampled real device with one value; None if the randomizer decides not to send.

        Args:
            text: the value.
            random_source: `secrets.SystemRandom()`.
            nonce: of the report, 16 bytes, if a token fixes it; else it is drawn.

        Raises:
            FieldError: it is no value of the recipe.
            TypeError: devices of the recipe have no values.
        """
        raise TypeError(f"devices of {recipe.statistic} have no values: {text}")

    @abstractmethod
    def workload(self, path: Path, statistic: Statistic[Any]) -> AbstractContextManager[Workload[Any]]:
        """The simulated devices of such a file, which last as long as the context.

        Args:
            statistic: of the recipe, calibrated.

        Raises:
            FieldError: the first fault of the file, with its line and column.
        """

    @property
    @abstractmethod
    def batch_reports(self) -> int:
        """The most devices whose reports go in one request."""

    @abstractmethod
    def most_ciphertexts(self, statistic: Statistic[Any]) -> int:
        """The most ciphertexts that one device sends (≥ 1).

        Args:
            statistic: of the recipe, calibrated.
        """

    @abstractmethod
    def truth(self, statistic: Statistic[Any], fleet: FleetResult) -> tuple[float, ...]:
        """The exact answer that a fleet's reports estimate."""

    def segment_truths(self, statistic: Statistic[Any], fleet: FleetResult) -> list[dict[str, Any]]:  # noqa: ARG002  # for those that override it
        """The same for each segment: `label`, `devices` and `answers`; empty if it has none."""
        return []
