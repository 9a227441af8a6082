"""The report of a device that has one value: one file for each input of that type, and this table of them.

Devices with events keep a state over steps instead: see `algorithm`.
"""

from collections.abc import Mapping
from typing import Any

from panprivacy.device.value_reports.interface import ValueReports
from panprivacy.device.value_reports.messages import MessageReports
from panprivacy.device.value_reports.randomized import RandomizedReports
from panprivacy.encryption.interface import PublicKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.device_input import DeviceInput

__all__ = ["VALUE_REPORTS", "ValueReports", "value_reports"]

VALUE_REPORTS: Mapping[DeviceInput, type[ValueReports[Any]]] = {
    DeviceInput.VALUE: MessageReports,
    DeviceInput.RANDOMIZED: RandomizedReports,
}


def value_reports(recipe: PublishedRecipe, public_key: PublicKey | None = None) -> ValueReports[Any]:
    """The reports of a recipe whose devices have one value each (`DeviceInput.is_one_value`).

    Args:
        recipe, public_key: as in `ValueReports`.
    """
    return VALUE_REPORTS[recipe.calibrated_statistic.device_input](recipe, public_key)
