"""How long a fleet of values will take: a user may send thousands of encrypted messages."""

import os
import secrets
import time
from dataclasses import dataclass

from devices_sim.algorithm import values_statistic
from devices_sim.fleet_devices import ValueDevices
from devices_sim.workloads.bucket import Workload
from panprivacy.recipe import PublishedRecipe

MEASURED_SECONDS = 0.2
"""For how long messages are made and thrown away, to see how fast it goes."""

MINUTE = 60


@dataclass(frozen=True)
class Forecast:
    """What the devices have to do.

    Attributes:
        users: number of devices, those included that come too late to count.
        messages: most that one of them sends.
        seconds: rough wall-clock time until all messages are made and encrypted. Sending them, mixing and
            decrypting come on top.
    """

    users: int
    messages: int
    seconds: float

    @property
    def is_long(self) -> bool:
        """Whether it takes so long that the user should be told first."""
        return self.seconds > MINUTE / 6  # decrypting, mostly by fewer processes, takes several times as long

    def __str__(self) -> str:
        return (
            f"{self.users:,} users send up to {self.messages:,} messages each: "
            f"{self.users * self.messages:,} encryptions, about {_time(self.seconds)}, and as many "
            "decryptions after that"
        )


def forecast_of_values(recipe: PublishedRecipe, workload: Workload[str], processes: int) -> Forecast:
    """What users with values have to do, by the time that the first of them take.

    Args:
        workload: at least one device.
        processes: that run the devices; more than there are processors are no faster.
    """
    devices, source = ValueDevices(recipe), secrets.SystemRandom()
    users = sum(1 for _ in workload)
    started, measured = time.perf_counter(), 0
    for _, value in workload:
        devices.report(value, source)
        measured += 1
        taken = time.perf_counter() - started
        if taken >= MEASURED_SECONDS:
            break
    at_once = min(processes, os.cpu_count() or 1)
    return Forecast(
        users, values_statistic(recipe.calibrated_statistic).most_messages, taken / measured * users / at_once
    )


def _time(seconds: float) -> str:
    """Rounded: "1 second", "50 seconds", "3 minutes"."""
    amount, unit = (seconds, "second") if seconds < 2 * MINUTE else (seconds / MINUTE, "minute")
    rounded = max(1, round(amount))
    return f"{rounded:,} {unit}{'' if rounded == 1 else 's'}"
