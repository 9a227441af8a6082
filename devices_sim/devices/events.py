"""Simulated devices with events in some of T steps."""

import random
from collections.abc import Callable, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from devices_sim.devices.interface import FleetDevices, SimulatedDevices, Truth, key_with_tables
from devices_sim.fleet_result import FleetResult
from devices_sim.workloads.bucket import NAME_STRIDE, Workload
from devices_sim.workloads.events_file import HEADER, NAMED_HEADER, events_csv
from devices_sim.workloads.segments import SegmentedDevice
from panprivacy.device.algorithm import ClientAlgorithm, Phase, wire_report
from panprivacy.device.transport import WireReport
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import narrowed
from panprivacy.statistics.events.interface import Mechanism


def happened(events: Set[int]) -> dict[int, int]:
    """Step → what happened in it, as `Mechanism.step` takes it, from the events of a `Stream`."""
    found: dict[int, int] = {}
    for event in events:
        name, step = divmod(event, NAME_STRIDE)
        found[step] = found.get(step, 0) | 1 << name
    return found


class _EventDevices(FleetDevices[Set[int]]):
    """Devices with events in some of T steps."""

    def __init__(self, recipe: PublishedRecipe, segment: str | None = None) -> None:
        self._algorithm = ClientAlgorithm(recipe, key_with_tables(recipe.public_key), segment)

    def answer(self, device_data: Set[int]) -> int:
        return self._algorithm.mechanism.outcome(happened(device_data))


class LazyDevices(_EventDevices):
    """Devices that only ever make their last state."""

    def report(
        self, device_data: Set[int], random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        state = self._algorithm.report_of_count(self.answer(device_data), random_source, nonce)
        return None if state is None else wire_report(state)


class EagerDevices(_EventDevices):
    """Devices that take every step."""

    def report(
        self, device_data: Set[int], random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        algorithm = self._algorithm
        state = algorithm.start(random_source, nonce)
        if state.phase is Phase.NOT_SAMPLED:
            return None
        events = happened(device_data)
        for step in range(1, algorithm.steps + 1):
            state = algorithm.step(state, events.get(step, 0), random_source)
        return wire_report(algorithm.finish(state, random_source, nonce))


class SegmentedDevices(FleetDevices[SegmentedDevice]):
    """Devices with events and a segment each.

    Args:
        devices: makes those of one segment.
    """

    def __init__(
        self,
        recipe: PublishedRecipe,
        devices: Callable[[PublishedRecipe, str | None], _EventDevices],
    ) -> None:
        self._of = {segment: devices(recipe, segment) for segment in (*recipe.segments, None)}

    def answer(self, device_data: SegmentedDevice) -> tuple[str | None, int]:
        segment = device_data.segment
        return segment, self._of[segment].answer(device_data.steps)

    def report(
        self, device_data: SegmentedDevice, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        return self._of[device_data.segment].report(device_data.steps, random_source, nonce)


class SimulatedEvents(SimulatedDevices):
    """Devices with events, and a segment each if the statistic has segments."""

    option = "events"
    header = HEADER

    @property
    def most_ciphertexts(self) -> int:
        return narrowed(self.statistic, Mechanism).report_ciphertexts

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the events; empty if there is one without a name."""
        return narrowed(self.statistic, Mechanism).names

    @property
    def columns(self) -> tuple[str, ...]:
        return NAMED_HEADER if self.names else HEADER

    def workload(self, path: Path) -> AbstractContextManager[Workload[Any]]:
        segmentation = self.statistic.segmentation
        labels = () if segmentation is None else segmentation.labels
        return events_csv(path, self.statistic.parameters.step_count, labels, self.names)

    def fleet(self, recipe: PublishedRecipe) -> FleetDevices[Any]:
        return _of_segments(recipe, LazyDevices)

    def eager_fleet(self, recipe: PublishedRecipe) -> FleetDevices[Any]:
        return _of_segments(recipe, EagerDevices)

    def truth(self, result: FleetResult) -> Truth:
        """About the whole population, those included that were not sampled."""
        devices, segmentation = result.devices_by_answer, self.statistic.segmentation
        by_segment = [] if segmentation is None else segmentation.truths(devices)
        return Truth(narrowed(self.statistic, Mechanism).truth(devices), by_segment)


def _of_segments(recipe: PublishedRecipe, devices: type[_EventDevices]) -> FleetDevices[Any]:
    return SegmentedDevices(recipe, devices) if recipe.segments else devices(recipe)
