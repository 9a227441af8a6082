"""What a release states besides its estimates: each detail with a label and its meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pages.recipe.derived import derived_of
from pages.words.verdicts import verdict_in_words
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.catalogue import statistic_class
from recipes.models import Recipe
from results.models import Release
from web.numbers import number

_VERDICTS = ("verdict", "calibrated_verdict")


@dataclass(frozen=True)
class Detail:
    """One detail, ready to be shown."""

    label: str
    value: str
    meaning: str


def details_of(recipe: Recipe, release: Release) -> list[Detail]:
    """Every detail of a release, in its statistic's words; those without any under their name."""
    try:
        labels = statistic_class(recipe.statistic).detail_labels
    except FieldError:  # another version registered it
        labels = {}
    details = {} if derived_of(release) else release.details or {}
    return [_detail(name, value, labels) for name, value in details.items()]


def _detail(name: str, value: Any, labels: Mapping[str, tuple[str, str]]) -> Detail:
    label, meaning = labels.get(name, (name.replace("_", " ").capitalize(), ""))
    return Detail(label, verdict_in_words(value) if name in _VERDICTS else _shown(value), meaning)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value)
    return number(float(f"{value:.4g}")) if isinstance(value, float) else number(value)
