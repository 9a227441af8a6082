"""The one report of a device with a value that it randomizes itself."""

import random
from collections.abc import Sequence
from typing import Any

from panprivacy.device.transport import WireReport
from panprivacy.device.value_reports.interface import ValueReports
from panprivacy.encryption.interface import REPORT_NONCE_BYTES, PublicKey, key_of_report
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.randomized.interface import Randomizer


def text_of(cells: Sequence[str]) -> str:
    """The cells of one value as one text."""
    return ",".join(cells)


def cells_of(text: str, columns: int) -> tuple[str, ...]:
    """Inverse of `text_of`: of several cells, none that is a value has a comma.

    Args:
        columns: how many cells make up one value.

    Raises:
        FieldError: `value`, if it has another number of cells.
    """
    if columns == 1:
        return (text,)
    cells = tuple(text.split(","))
    if len(cells) != columns:
        raise FieldError("value", f"must be {columns:,} numbers with commas between them, not {len(cells):,}")
    return cells


class RandomizedReports(ValueReports[Any]):
    """Reports of one randomized value, encrypted, or in plain shares for two servers."""

    def __init__(self, recipe: PublishedRecipe, public_key: PublicKey | None = None) -> None:
        self.statistic = statistic_as(recipe, Randomizer)
        self.sampling_rate = float(self.statistic.parameters.sampling_rate)
        self._recipe = recipe
        self._public_key = None
        if recipe.servers.scheme is not None:
            self._public_key = recipe.public_key if public_key is None else public_key

    def value_of(self, text: str) -> Any:
        return self.statistic.value_of(cells_of(text, len(self.statistic.columns)))

    def of_value(
        self, value: Any, random_source: random.Random, nonce: bytes | None = None
    ) -> WireReport | None:
        measurement = self.statistic.randomize(value, random_source)
        if measurement is None:
            return None
        nonce = random_source.randbytes(REPORT_NONCE_BYTES) if nonce is None else nonce
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
