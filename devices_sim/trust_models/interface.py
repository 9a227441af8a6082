"""The interface of a trust model on the device: whether devices report, what, and to whom."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.fleet_devices import FleetDevices
from devices_sim.fleet_result import FleetResult
from devices_sim.forecast import Forecast
from devices_sim.transport import Transport
from devices_sim.upload import Upload
from devices_sim.workloads.bucket import Workload
from panprivacy.recipe import PublishedRecipe
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
    """A trust model in which devices take part."""

    def reporting(self, statistic: str) -> "ReportingModel":  # noqa: ARG002  # for refusals
        return self

    @property
    @abstractmethod
    def sends(self) -> str:
        """What devices send, for people, in the plural."""

    @abstractmethod
    def upload(self, recipe: PublishedRecipe, transport: Transport) -> Upload:
        """The way of a recipe's reports.

        Args:
            recipe: verified, of this trust model.
            transport: to the server that published it; stays open.
        """

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

    def segment_truths(self, statistic: Statistic[Any], fleet: FleetResult) -> list[dict[str, Any]]:  # noqa: ARG002
        """The same for each segment: `label`, `devices` and `answers`; empty where it asks by none."""
        return []

    @abstractmethod
    def forecast(self, recipe: PublishedRecipe, workload: Workload[Any], processes: int) -> Forecast | None:
        """How much work simulated devices have; None where each has little."""
