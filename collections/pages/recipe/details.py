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
        "By the threshold that the paper proves. No difference found does not mean that there is none.",
    ),
    "threshold": (
        "Threshold of the paper (τ)",
        "A test statistic (Z′) above it is called not uniform. Small differences do not reach it.",
    ),
    "calibrated_verdict": (
        "Calibrated verdict",
        "By a threshold computed for values that are equally frequent.",
    ),
    "calibrated_threshold": (
        "Calibrated threshold",
        "A test statistic (Z′) above it is called not uniform, too.",
    ),
    "calibrated_level": (
        "Level of the calibrated threshold",
        "How often Z′ exceeds it by chance, if the values are equally frequent.",
    ),
    "expected_if_uniform": (
        "Test statistic if uniform (Z′)",
        "Its mean if the values are equally frequent: measure from there, not from 0.",
    ),
    "expected_shift_at_alpha": (
        "Rise of the test statistic (Z′) at distance (α)",
        "Values at a distance of α raise Z′ by at least this much on average. From about three standard "
        "errors of Z′ on, the calibrated threshold mostly notices them; that of the paper takes more.",
    ),
    "touched_places": (
        "Touched places",
        "Estimated number of places that values were hashed to. The result follows from it: some share one.",
    ),
    "saturated": (
        "Saturated",
        "Yes if the table may be nearly full: then the result could be far too low.",
    ),
    "stray_messages": (
        "Stray messages",
        "Messages by which places exceed the protocol's two per user. Above 0, someone did not follow the "
        "protocol, and none of the errors stated here holds.",
    ),
    "amplification": (
        "Amplification",
        "The factor by which undoing the counters' noise enlarges all other errors.",
    ),
    "counted_from": ("Counted from", "This many appearances and more count in full."),
    "not_counted_up_to": (
        "Not counted up to",
        "This many appearances and fewer do not count; in between, they count in part.",
    ),
    "tables": ("Tables", "The result was put together from this many thresholds."),
    "primes": ("Primes", "Appearances were counted modulo each of them."),
    "estimates": (
        "Estimate by each prime",
        "Each is too high on average, if at all; the smallest is the result.",
    ),
    "at_least": ("At least", "The lower end of what the error bound allows."),
    "at_most": ("At most", "The upper end of what the error bound allows."),
    "set_size": ("Size of the set that was read", "In places; the result decides which set is read."),
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
    return number(float(f"{value:.4g}")) if isinstance(value, float) else number(value)
