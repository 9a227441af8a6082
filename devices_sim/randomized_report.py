"""The one report of a device with a value that it randomizes itself; nothing is kept of it."""

import random
from typing import Any

from devices_sim.algorithm import NONCE_BYTES
from devices_sim.transport import WireReport
from devices_sim.workloads.values_file import cells_of
from panprivacy.encryption.interface import key_of_report
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.randomized.interface import Randomizer


def randomizer_of(statistic: Statistic[Any]) -> Randomizer[Any, Any]:
    """The statistic as one whose devices randomize one value; TypeError if they do not."""
    if not isinstance(statistic, Randomizer):
        raise TypeError(f"devices of {statistic.statistic} do not randomize one value")
    return statistic


class RandomizedReports:
    """The reports of one recipe's devices. Holds nothing about a device; serves any number of them.

    Args:
        recipe: a verified recipe.
        with_tables: encrypt faster, in a time that depends on the randomness: for simulations.
    """

    def __init__(self, recipe: PublishedRecipe, *, with_tables: bool = False) -> None:
        self.statistic = randomizer_of(recipe.calibrated_statistic)
        self._recipe = recipe
        self._public_key = None
        if recipe.servers.scheme is not None:
            self._public_key = recipe.public_key.with_tables() if with_tables else recipe.public_key

    def value_of(self, text: str) -> Any:
        """A device's value from one text, in the form of workloads; FieldError if it is none."""
        return self.statistic.value_of(cells_of(text, len(self.statistic.columns)))

    def is_sampled(self, random_source: random.Random) -> bool:
        """Toss the coin that decides whether a device takes part: once, whatever its value."""
        return random_source.random() < float(self.statistic.parameters.sampling_rate)

    def of_value(
        self, value: Any, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        """The report of a device that is sampled; None if not sending is a part of the randomizer.

        Args:
            value: as `Randomizer.value_of` reads it.
            nonce: of the report, 16 bytes, if a token fixes it; else it is drawn.
        """
        measurement = self.statistic.randomize(value, random_source)
        if measurement is None:
            return None
        nonce = random_source.randbytes(NONCE_BYTES) if nonce is None else nonce
        if self._public_key is None:
            return WireReport(nonce, self._shares(measurement, nonce, random_source))
        key = key_of_report(self._public_key, nonce)
        return WireReport(nonce, tuple(bytes(key.encrypt(entry, random_source)) for entry in measurement))

    def _shares(
        self, measurement: tuple[int, ...], nonce: bytes, random_source: random.Random
    ) -> tuple[bytes, bytes, bytes]:
        # Imported here, because devices of other recipes do not need it.
        from panprivacy.protocols.dap.client import shard_measurement
        from panprivacy.recipe.dap_task import REPORT_TIME, task_of

        report = shard_measurement(
            *task_of(self._recipe),
            measurement,
            time=REPORT_TIME,
            random_source=random_source,
            report_id=nonce,
        )
        return report.public_share, report.leader_share, report.helper_share
