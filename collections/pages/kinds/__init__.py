"""How statistics are offered and shown, one file for each kind of input; this is the table."""

from typing import Any

from pages.kinds.events import DEVICES
from pages.kinds.interface import Kind
from pages.kinds.items import STREAMS
from pages.kinds.randomized import RANDOMIZED
from pages.kinds.value import SHUFFLED
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic

__all__ = ["KINDS", "Kind", "kind_of"]

KINDS: dict[DeviceInput, Kind] = {
    kind.device_input: kind for kind in (DEVICES, RANDOMIZED, SHUFFLED, STREAMS)
}
"""In the order in which they are offered."""


def kind_of(statistic: type[Statistic[Any]]) -> Kind:
    """The kind of a statistic."""
    return KINDS[statistic.device_input]
