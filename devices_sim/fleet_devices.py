"""What a simulated device does with what it is given: events, or a value."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Set
from functools import lru_cache
from typing import Generic

from devices_sim.algorithm import ClientAlgorithm, Phase, value_report, values_statistic, wire_report
from devices_sim.randomized_report import RandomizedReports
from devices_sim.transport import WireReport
from devices_sim.workloads.bucket import Given
from devices_sim.workloads.segments import Located
from panprivacy.encryption.interface import PublicKey
from panprivacy.recipe.document import PublishedRecipe

TrueAnswer = int | str | tuple[str | None, int]
"""What is true of one device: its count of events, its value, or its segment with the count."""


@lru_cache(maxsize=4)
def key_with_tables(key: PublicKey) -> PublicKey:
    """A recipe's key that encrypts faster; made once for all buckets of the recipe.

    Tables are not constant-time; that matters on real devices only.
    """
    return key.with_tables()


class FleetDevices(ABC, Generic[Given]):
    """The devices of one recipe. Holds nothing about any of them."""

    @abstractmethod
    def answer(self, given: Given) -> TrueAnswer:
        """What is true of a device, as the statistic's truth is made of it."""

    @abstractmethod
    def report(
        self, given: Given, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        """A device's report, without a token; None for one that takes no part.

        Args:
            nonce: of the report, 16 bytes, where a token fixes it; else it is drawn.
        """


class _EventDevices(FleetDevices[Set[int]]):
    """Devices with events in some of T steps."""

    def __init__(self, recipe: PublishedRecipe, segment: str | None = None) -> None:
        self._algorithm = ClientAlgorithm(recipe, key_with_tables(recipe.public_key), segment)

    def answer(self, given: Set[int]) -> int:
        return len(given)


class LazyDevices(_EventDevices):
    """Devices that only ever make their last state."""

    def report(
        self, given: Set[int], random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        state = self._algorithm.report_of_count(len(given), random_source, nonce)
        return None if state is None else wire_report(state)


class EagerDevices(_EventDevices):
    """Devices that take every step."""

    def report(
        self, given: Set[int], random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        algorithm = self._algorithm
        state = algorithm.start(random_source, nonce)
        if state.phase is Phase.NOT_SAMPLED:
            return None
        for step in range(1, algorithm.steps + 1):
            state = algorithm.step(state, step in given, random_source)
        return wire_report(algorithm.finish(state, random_source, nonce))


class LocatedDevices(FleetDevices[Located]):
    """Devices with events and a segment each.

    Args:
        devices: makes those of one segment.
    """

    def __init__(
        self,
        recipe: PublishedRecipe,
        devices: Callable[[PublishedRecipe, str | None], FleetDevices[Set[int]]],
    ) -> None:
        self._of = {segment: devices(recipe, segment) for segment in (*recipe.segments, None)}

    def answer(self, given: Located) -> tuple[str | None, int]:
        return given.segment, len(given.steps)

    def report(
        self, given: Located, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        return self._of[given.segment].report(given.steps, random_source, nonce)


class ValueDevices(FleetDevices[str]):
    """Devices with one value each, which they send through a shuffler."""

    def __init__(self, recipe: PublishedRecipe) -> None:
        self._statistic = values_statistic(recipe.calibrated_statistic)
        self._public_key = key_with_tables(recipe.public_key)

    def answer(self, given: str) -> str:
        return given

    def report(self, given: str, random_source: random.Random, nonce: bytes | None = None) -> WireReport:
        value = self._statistic.value_of(given)
        return value_report(self._statistic, self._public_key, value, random_source, nonce)


class RandomizingDevices(FleetDevices[str]):
    """Devices with one value each, which they randomize themselves."""

    def __init__(self, recipe: PublishedRecipe) -> None:
        self._reports = RandomizedReports(recipe, with_tables=True)

    def answer(self, given: str) -> str:
        return given

    def report(
        self, given: str, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        reports = self._reports
        if not reports.is_sampled(random_source):
            return None
        return reports.of_value(reports.value_of(given), random_source, nonce)
