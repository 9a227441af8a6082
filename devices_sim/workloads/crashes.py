"""Crashes of an application in three versions, week by week: the devices of the demo's series."""

import random

from devices_sim.workloads.bucket import EventWorkload, listed
from devices_sim.workloads.segments import SegmentedDevice

STEPS = 7
WEEKS = 8
VERSION_DEVICES = 1_000
CRASHING = {"2.0": 0.05, "2.1": 0.04, "2.2": 0.06}
"""Version → share of its devices on which the application crashes in a week."""

WORSE, WORSE_CRASHING = "2.1", 0.24
"""The version that crashes more often in the last week, and how often."""


def crashes(week: int) -> EventWorkload:
    """3,000 devices over 7 days; the same at each call.

    Args:
        week: from 1 to `WEEKS`.
    """
    generator = random.Random(f"crashes:{week}")  # noqa: S311  # a simulation, to be repeated
    devices = []
    for version, usual in CRASHING.items():
        share = WORSE_CRASHING if (version, week) == (WORSE, WEEKS) else usual
        for device in range(VERSION_DEVICES):
            happened = {generator.randint(1, STEPS)} if generator.random() < share else set[int]()
            devices.append((f"phone-{version}-{device:04}", SegmentedDevice(happened, version)))
    return EventWorkload(STEPS, listed(devices))
