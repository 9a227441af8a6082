"""The interface of a trust model on the device: whether devices report, what, and to whom."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.fleet_devices import FleetDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.forecast import Forecast
from devices_sim.oblivious_transport import Behind, ObliviousTransport
from devices_sim.transport import Transport, WireReport
from devices_sim.upload import Upload
from devices_sim.workloads.bucket import Workload
from panprivacy.recipe import PublishedRecipe
from panprivacy.request_bytes import published_report_bytes
from panprivacy.statistic import Statistic


class DeviceTrustModel(ABC):
    """One trust model, as devices see it. Holds nothing about any recipe."""

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
        closes_when_full: whether a recipe closes by itself once it has all its users, so that others come too
            late.
    """

    closes_when_full = False

    def reporting(self, statistic: str) -> "ReportingModel":  # noqa: ARG002  # for refusals
        return self

    @property
    @abstractmethod
    def sends(self) -> str:
        """What devices send, for people, in the plural."""

    def way(
        self, recipe: PublishedRecipe, transport: Transport, verification_key: bytes, server: str = ""
    ) -> Transport:
        """The one way to the servers of a recipe: through its relay, where it has one.

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
        """The reports of a recipe, on their way.

        Args:
            recipe: verified, of this trust model.
            way: as `way` gives it; stays open.

        Raises:
            ValueError: the recipe has a relay, and this is another way: no report goes in the clear.
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
        """As of `upload`, whatever the way."""

    def behind(self, recipe: PublishedRecipe, verification_key: bytes) -> Mapping[str, Behind]:  # noqa: ARG002  # for those that override it
        """The servers that a recipe names, by their addresses: where its relay leads to.

        Args:
            verification_key: of the server that published the recipe.
        """
        return {}

    @abstractmethod
    def fleet_devices(self, recipe: PublishedRecipe, *, eager: bool) -> FleetDevices[Any]:
        """The simulated devices of a recipe.

        Args:
            eager: they take every step, where there are steps.
        """

    @property
    @abstractmethod
    def option(self) -> str:
        """What simulated devices have: the name of the option of `collect` that takes the file of them."""

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
        """Check the value of one device, as workloads hold it.

        Raises:
            FieldError: it is none of the statistic.
            TypeError: devices of the statistic have no values.
        """
        raise TypeError(f"devices of {statistic.statistic} have no values: {text}")

    def is_sampled(self, recipe: PublishedRecipe, random_source: random.Random) -> bool:  # noqa: ARG002  # for those that override it
        """Toss the coin that says whether a device with one value takes part: once, whatever its value."""
        return True

    def value_report(
        self,
        recipe: PublishedRecipe,
        text: str,
        random_source: random.Random,  # noqa: ARG002  # for those whose devices have values
        nonce: bytes | None = None,  # noqa: ARG002  # for those that override it
    ) -> WireReport | None:
        """The report of a sampled real device with one value; None where not sending is a part of the
        randomizer.

        Args:
            text: the value.
            random_source: `secrets.SystemRandom()`.
            nonce: of the report, 16 bytes, where a token fixes it; else it is drawn.

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
            FieldError: the first thing wrong with the file; says in which line and column.
        """

    @property
    @abstractmethod
    def batch_reports(self) -> int:
        """Most devices whose reports go in one request."""

    @abstractmethod
    def most_ciphertexts(self, statistic: Statistic[Any]) -> int:
        """How many ciphertexts one device sends at most (≥ 1).

        Args:
            statistic: of the recipe, calibrated.
        """

    @abstractmethod
    def truth(self, statistic: Statistic[Any], fleet: FleetResult) -> tuple[float, ...]:
        """The exact answer to what is estimated from a fleet's reports."""

    def segment_truths(self, statistic: Statistic[Any], fleet: FleetResult) -> list[dict[str, Any]]:  # noqa: ARG002  # for those that override it
        """The same for each segment: `label`, `devices` and `answers`; empty where it asks by none."""
        return []

    @abstractmethod
    def forecast(self, recipe: PublishedRecipe, workload: Workload[Any], processes: int) -> Forecast | None:
        """How much work simulated devices have; None where each has little."""
