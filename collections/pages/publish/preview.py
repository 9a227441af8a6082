"""What an analyst can expect of a recipe before anyone publishes it: figures that follow typing."""

from collections.abc import Callable, Mapping
from typing import Any

from pages.publish.device_preview import DevicePreview, preview_of_devices
from pages.publish.shuffle_preview import ShufflePreview, preview_of_shuffle
from pages.publish.stream_preview import StreamPreview, preview_of_stream
from pages.words.kinds import DEVICES, SHUFFLED, STREAMS, kind_of
from panprivacy.statistic import Statistic

Preview = DevicePreview | ShufflePreview | StreamPreview

_PREVIEWS: Mapping[str, Callable[[Any, Any], Preview]] = {
    DEVICES.key: preview_of_devices,
    SHUFFLED.key: preview_of_shuffle,
    STREAMS.key: preview_of_stream,
}


def preview_of(statistic: Statistic[Any], population_size: int | None) -> Preview:
    """What to expect of a recipe with this (calibrated) statistic.

    Args:
        population_size: number of devices that hear of it, ≥ 1; None where its form does not ask for it.

    Raises:
        FieldError: nothing can be expected of these values.
    """
    return _PREVIEWS[kind_of(type(statistic)).key](statistic, population_size)
