"""The interface of simulated devices: their file, their reports, and the truth that these estimate."""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic

from devices_sim.fleet_result import FleetResult
from devices_sim.workloads.bucket import DeviceData, Workload
from panprivacy.device.transport import WireReport
from panprivacy.device.upload import BATCH_REPORTS
from panprivacy.encryption.interface import PublicKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import Statistic

TrueAnswer = int | str | tuple[str | None, int]
"""What is true of one device: its count of events, its value, or its segment with the count."""


@lru_cache(maxsize=4)
def key_with_tables(key: PublicKey) -> PublicKey:
    """A recipe's key that encrypts faster; made once for all buckets of the recipe.

    Tables are not constant-time; that matters on real devices only.
    """
    return key.with_tables()


class FleetDevices(ABC, Generic[DeviceData]):
    """The devices of one recipe. Holds nothing about any of them."""

    @abstractmethod
    def answer(self, device_data: DeviceData) -> TrueAnswer:
        """What is true of a device, as the statistic's truth is made of it."""

    @abstractmethod
    def report(
        self, device_data: DeviceData, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        """A device's report, without a token; None for one that takes no part.

        Args:
            nonce: of the report, 16 bytes, if a token fixes it; else it is drawn.
        """


@dataclass(frozen=True)
class Truth:
    """The exact answer that a fleet's reports estimate.

    Attributes:
        segments: the same for each segment: `label`, `devices` and `answers`; empty if there are none.
    """

    values: tuple[float, ...]
    segments: Sequence[dict[str, Any]] = ()


class SimulatedDevices(ABC):
    """What a simulation knows of the devices of one statistic.

    Args:
        statistic: calibrated, or as a draft has it for its input and its size.

    Attributes:
        option: the input of the devices: the name of the option of `collect` for their file.
        header: columns of that file.
        reports_name: what devices send, for people, in the plural.
        has_many_messages: whether a device sends so much that the user is warned first.
        has_one_cohort: whether a recipe closes automatically when its cohort is full, so that further devices
            come too late.
        batch_reports: the most devices whose reports go in one request.
    """

    option: ClassVar[str]
    header: ClassVar[tuple[str, ...]]
    reports_name: ClassVar[str] = "reports"
    has_many_messages: ClassVar[bool] = False
    has_one_cohort: ClassVar[bool] = False
    batch_reports: ClassVar[int] = BATCH_REPORTS

    def __init__(self, statistic: Statistic[Any]) -> None:
        self.statistic = statistic

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the file for this statistic."""
        return self.header

    @property
    @abstractmethod
    def most_ciphertexts(self) -> int:
        """The most ciphertexts that one device sends (≥ 1)."""

    @abstractmethod
    def workload(self, path: Path) -> AbstractContextManager[Workload[Any]]:
        """The simulated devices of such a file, which last as long as the context.

        Raises:
            FieldError: the first fault of the file, with its line and column.
        """

    @abstractmethod
    def fleet(self, recipe: PublishedRecipe) -> FleetDevices[Any]:
        """The simulated devices of a recipe of this statistic."""

    def eager_fleet(self, recipe: PublishedRecipe) -> FleetDevices[Any]:
        """The same, taking every step if there are steps."""
        return self.fleet(recipe)

    @abstractmethod
    def truth(self, result: FleetResult) -> Truth:
        """The exact answer that a fleet's reports estimate."""
