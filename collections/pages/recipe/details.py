"""What a release says beside its estimates: each detail with a label and its meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pages.words.verdicts import verdict_in_words
from releases.models import Release
from web.numbers import number

_TOLD: Mapping[str, tuple[str, str]] = {
    "verdict": (
        "Verdict",
        "By the threshold that the paper proves. That no difference was found does not mean that there is "
        "none.",
    ),
    "threshold": (
        "Threshold of the paper (τ)",
        "Z′ above it is called not uniform. It is careful: small differences do not reach it.",
    ),
    "calibrated_verdict": (
        "Calibrated verdict",
        "By a threshold that was computed for values that are equally frequent.",
    ),
    "calibrated_threshold": ("Calibrated threshold", "Z′ above it is called not uniform, too."),
    "calibrated_level": (
        "Level of the calibrated threshold",
        "How often Z′ exceeds it by chance, if the values are equally frequent.",
    ),
    "expected_if_uniform": (
        "Z′ if uniform",
        "Where Z′ lies on average if the values are equally frequent: measure from there, not from 0.",
    ),
    "expected_shift_at_alpha": (
        "Rise of Z′ at α",
        "Values at a distance of α raise Z′ by so much on average, or more. From about three standard errors "
        "of Z′ on they are mostly noticed by the calibrated threshold; that of the paper takes more.",
    ),
    "touched_places": (
        "Touched places",
        "How many places values were hashed to, estimated. The result follows from it, as some share one.",
    ),
    "saturated": (
        "Saturated",
        "Whether the table may be as good as full: then the result could be far too low.",
    ),
    "stray_messages": (
        "Stray messages",
        "Those by which places have more than the protocol's two per user. Above 0, somebody did not follow "
        "it, and none of the errors that are stated here holds.",
    ),
    "amplification": ("Amplification", "How much undoing the counters' noise enlarges all other errors."),
    "counted_from": ("Counted from", "So many appearances and more count in full."),
    "not_counted_up_to": (
        "Not counted up to",
        "So many appearances and fewer do not count; in between, in part.",
    ),
    "tables": ("Tables", "How many thresholds the result was put together from."),
    "primes": ("Primes", "Appearances were counted modulo each of them."),
    "estimates": (
        "Estimate by each prime",
        "Each is too high on average, if at all; the smallest is the result.",
    ),
    "at_least": ("At least", "The lower end of what the error bound allows."),
    "at_most": ("At most", "The upper end of what the error bound allows."),
    "set_size": ("Size of the set that was read", "In places; it is chosen by the result."),
    "set_density": ("Share of it that was touched", "Estimated, without correction for collisions."),
}


_VERDICTS = ("verdict", "calibrated_verdict")


@dataclass(frozen=True)
class Detail:
    """One detail, ready to be shown."""

    label: str
    value: str
    meaning: str


def details_of(release: Release) -> list[Detail]:
    """Every detail of a release; those without a label of their own under their name."""
    return [_detail(name, value) for name, value in (release.details or {}).items()]


def _detail(name: str, value: Any) -> Detail:
    label, meaning = _TOLD.get(name, (name.replace("_", " ").capitalize(), ""))
    return Detail(label, verdict_in_words(value) if name in _VERDICTS else _shown(value), meaning)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(float(f"{value:.4g}")) if isinstance(value, float) else number(value)
