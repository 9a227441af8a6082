"""Random streams, made when they are used: any number of devices in constant memory."""

import math
import random
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from devices_sim.workloads.bucket import BUCKET_DEVICES, NAME_STRIDE, Bucket, EventWorkload, Stream
from devices_sim.workloads.segments import SegmentedDevice
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description

DEVICES = Description(label="Devices", help="Number of devices.", minimum=1, maximum=1_000_000_000)
PROBABILITY = Description(
    label="Probability", help="Probability of an event in a time step.", minimum=0, maximum=1
)
SHARE = Description(label="Share", help="Share of devices with the event.", minimum=0, maximum=1)
RATE = Description(label="Rate", help="Mean number of events in a time step.", minimum=0, maximum=1e6)


@dataclass(frozen=True)
class SyntheticBucket(Bucket[Set[int]]):
    """Devices `first`, `first` + 1, … whose steps have an event independently with `probability`. Its name is
    drawn uniformly."""

    seed: int
    first: int
    devices: int
    steps: int
    probability: float
    names: int = 1

    def __iter__(self) -> Iterator[Stream]:
        generator = random.Random(f"{self.seed}:{self.first}")  # noqa: S311  # a simulation, to be repeated
        for device in range(self.first, self.first + self.devices):
            steps = self._steps_with_event(generator)
            if self.names > 1:
                steps = {step + NAME_STRIDE * generator.randrange(self.names) for step in sorted(steps)}
            yield f"device-{device}", steps

    def _steps_with_event(self, generator: random.Random) -> set[int]:
        if self.probability == 0:
            return set()
        if self.probability == 1:
            return set(range(1, self.steps + 1))
        # Gaps between events are geometric: the cost follows the events, not the steps.
        log_failure = math.log1p(-self.probability)
        happened: set[int] = set()
        step = 0
        while True:
            gap = math.log(1 - generator.random()) / log_failure
            if step + gap >= self.steps:
                return happened
            step += 1 + int(gap)
            happened.add(step)


@dataclass(frozen=True)
class ShareBucket(Bucket[Any]):
    """Devices `first`, `first` + 1, …: a fixed share of them has one event, in any step. Each segment has a
    share of its own, no more or less by chance.

    Attributes:
        segments: in turn, those of the devices; empty if there are none.
        shares: of devices with the event, from 0 to 1: one for each segment, or one for all.
    """

    seed: str
    first: int
    devices: int
    steps: int
    segments: tuple[str, ...]
    shares: tuple[float, ...]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        count = max(1, len(self.segments))
        for device in range(self.first, self.first + self.devices):
            place, earlier = device % count, device // count
            share = self.shares[place % len(self.shares)]
            # As many as the share of those so far, to the nearest: one more if it is one of them.
            has_event = round_half_up((earlier + 1) * share) > round_half_up(earlier * share)
            generator = random.Random(f"{self.seed}:{device}")  # noqa: S311  # a simulation, to be repeated
            happened = {generator.randint(1, self.steps)} if has_event else set[int]()
            name = f"device-{device}"
            yield name, SegmentedDevice(happened, self.segments[place]) if self.segments else happened


def round_half_up(value: float) -> int:
    """To the nearest whole number, halves up: the larger of two values never gives less."""
    return math.floor(value + 0.5)


def bernoulli(*, devices: int, steps: int, probability: float, seed: int) -> EventWorkload:
    """Every step of every device has an event independently with `probability` (0..1).

    Raises FieldError for `devices` outside 1..10⁹, `steps` below 1, or `probability` outside 0..1.
    """
    devices = DEVICES.check("devices", int, devices)
    probability = PROBABILITY.check("probability", float, probability)
    if steps < 1:
        raise FieldError("steps", f"must be a whole number of at least 1, not {steps!r}")
    buckets = tuple(
        SyntheticBucket(seed, first, min(BUCKET_DEVICES, devices - first), steps, probability)
        for first in range(0, devices, BUCKET_DEVICES)
    )
    return EventWorkload(steps, buckets)
