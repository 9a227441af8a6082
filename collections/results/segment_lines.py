"""What a result's CSV has on each segment: lines below those of the whole population."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = (
    "segment",
    "segment_devices",
    "segment_devices_low_95",
    "segment_devices_high_95",
    "difference",
    "difference_low_95",
    "difference_high_95",
    "more_than_noise",
    "segment_reason",
)
"""Empty on the lines of the whole population. A difference is of shares, to the first segment shown."""


def segment_lines(
    told: Sequence[Mapping[str, Any]], labels: Sequence[str], value_labels: Sequence[str]
) -> Iterator[dict[str, object]]:
    """A line for each answer of each segment, and for each number derived from them, by the names of its
    columns; of one that is not shown, the reason.

    At `level` all intervals of segments hold at once.

    Args:
        told: as in `segments_document`.
        labels, value_labels: of the answers; the latter may be fewer.
    """
    for segment in told:
        if not segment["shown"]:
            yield {"segment": segment["label"], "segment_reason": segment["reason"]}
            continue
        for place, label in enumerate(labels):
            named = value_labels[place] if place < len(value_labels) else ""
            yield {"label": label, "value_label": named or None, **_line(segment, place)}
        for one in segment["derived"]:
            yield {"segment": segment["label"], **derived_line(one, segment["intervals"][0]["level"])}


def derived_line(one: Mapping[str, Any], level: float) -> dict[str, object]:
    """The line of one derived number: it has a unit of its own.

    Args:
        one: as in `derived_numbers`.
        level: at which all of them hold together.
    """
    return {
        "label": one["label"],
        "unit": one["unit"],
        "estimate": one["value"],
        "low_95": one["low"],
        "high_95": one["high"],
        "level": level,
    }


def _line(segment: Mapping[str, Any], place: int) -> dict[str, object]:
    widest, difference = segment["intervals"][0], segment["difference"]
    low, high = widest["answers"][place]
    share_low, share_high = widest["shares"][place]
    devices_low, devices_high = widest["devices"]
    line = {
        "segment": segment["label"],
        "estimate": segment["answers"][place],
        "low_95": low,
        "high_95": high,
        "level": widest["level"],
        "share": segment["shares"][place],
        "share_low_95": share_low,
        "share_high_95": share_high,
        "share_of": segment["devices"],
        "segment_devices": segment["devices"],
        "segment_devices_low_95": devices_low,
        "segment_devices_high_95": devices_high,
    }
    if difference is not None:
        difference_low, difference_high = difference["intervals"][place]
        line |= {
            "difference": difference["shares"][place],
            "difference_low_95": difference_low,
            "difference_high_95": difference_high,
            "more_than_noise": difference["more_than_noise"][place],
        }
    if true := segment.get("truth"):
        line["truth_of_simulation"] = true["answers"][place]
    return line
