"""The options with which a device takes part in a recipe that is beyond its usual limits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pages.publish.blockers import REFUSED
from panprivacy.formats.display import plain
from panprivacy.planning.limits import NO_LOCAL_LIMIT, USUAL
from panprivacy.statistics.interface import Statistic
from web.numbers import at_most


@dataclass(frozen=True)
class DeviceOption:
    """One option of `join` and `send-value`.

    Attributes:
        text: with its value, as on the command line.
        meaning: what a device agrees to with it, as the rest of a sentence that begins with the option.
        refusal: what devices without it refuse, in a sentence.
    """

    text: str
    meaning: str
    refusal: str

    @property
    def name(self) -> str:
        return self.text.split()[0]


def device_options(statistic: Statistic[Any], local: float) -> list[DeviceOption]:
    """Those that a published recipe's statistic needs; none if it is within all limits.

    Args:
        local: the local ε of its reports (`panprivacy.planning.limits.local_epsilon`).
    """
    if not statistic.device_input.has_devices:
        return []
    return [
        DeviceOption(f"--{limit} {value}", meaning, REFUSED[field])
        for field, limit, value, meaning in _beyond(statistic, local)
    ]


def _beyond(statistic: Statistic[Any], local: float) -> Iterator[tuple[str, str, str, str]]:
    parameters = statistic.parameters
    if parameters.cohort_size < USUAL.smallest_cohort:
        meaning = "agrees to a result over so few devices"
        yield "cohort_size", "smallest-cohort", str(parameters.cohort_size), meaning
    if parameters.epsilon > USUAL.largest_epsilon:
        meaning = "agrees to this privacy loss (ε) of the result"
        yield "epsilon", "largest-epsilon", plain(parameters.epsilon, ""), meaning
    if parameters.delta > USUAL.largest_delta:
        meaning = "agrees to this failure probability (δ)"
        yield "delta", "largest-delta", plain(parameters.delta, ""), meaning
    if local >= NO_LOCAL_LIMIT:
        meaning = (
            "agrees to reports that reveal the value to anyone who reads a single report (no local ε holds)"
        )
        yield "guarantee", "largest-local-epsilon", f"{NO_LOCAL_LIMIT:.0f}", meaning
    elif local > USUAL.largest_local_epsilon:
        meaning = "agrees to single reports with this local privacy loss (ε)"
        yield "guarantee", "largest-local-epsilon", at_most(local, 3).replace(",", ""), meaning
