"""The verdict of a test in words that promise no more than it can."""

from collections.abc import Mapping
from typing import Any

NOTICED = (
    "The test statistic (Z′) is larger if values are less equally frequent. The test can find a "
    "difference, never prove that there is none. Z′ adds up, over all values, the squared difference between "
    "the noisy count and an equal count, less the count itself, as that much comes by chance; all divided by "
    "an equal count."
)

_SHOWN: Mapping[str, str] = {
    "no_difference_found": "no difference found",
    "not_uniform": "not uniform",
}


def verdict_in_words(verdict: str) -> str:
    """A registered verdict as pages show it: that nothing was noticed does not make values uniform."""
    return _SHOWN.get(verdict, verdict)


def verdict_shown(details: Mapping[str, Any]) -> str:
    """The verdict of a test by its threshold, or by both if they differ."""
    by_paper = verdict_in_words(details["verdict"])
    calibrated = verdict_in_words(details.get("calibrated_verdict", details["verdict"]))
    if calibrated == by_paper:
        return by_paper
    return f"{calibrated} by the calibrated threshold, {by_paper} by that of the paper"
