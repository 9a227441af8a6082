"""The part of a recipe's form that selects the devices of its population that the recipe asks, with evidence
of their number.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.choices import CallableChoiceIterator

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.target import SMALLEST
from panprivacy.recipe.targeting.target import FIELD
from results.counts import newest_counts
from web.numbers import number

TARGET_FIELDS = (FIELD, SMALLEST)


class TargetSelect(forms.SelectMultiple):
    """The conditions that released results can show; in addition, the stored choice."""

    def optgroups(self, name: str, value: list[str], attrs: dict[str, Any] | None = None) -> list[Any]:
        groups = super().optgroups(name, value, attrs)
        offered = {str(option["value"]) for _, options, _ in groups for option in options}
        for chosen in value:
            if chosen not in offered:
                label = f"{chosen.partition('@')[0].replace('=', ' = ')} (not by the newest result)"
                option = self.create_option(name, chosen, label, selected=True, index=len(groups))
                groups.append((None, [option], len(groups)))
        return groups


class TargetField(forms.Field):
    """`target` of a recipe file. A condition is written `os=linux@IDENTIFIER`."""

    widget = TargetSelect

    def to_python(self, value: Any) -> dict[str, Any] | None:
        """As in a recipe file; None if nothing is chosen. The domain refuses invalid ones."""
        if isinstance(value, Mapping) or not value:
            return dict(value) if value else None
        conditions: dict[str, Any] = {}
        for condition in value:
            asked, _, recipe = str(condition).partition("@")
            name, _, of = asked.partition("=")
            if name in conditions:
                raise forms.ValidationError(f"Choose one value of {name}: a device has one.")
            conditions[name] = {"value": of, "recipe": recipe}
        return conditions

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value or None
        return [f"{name}={of['value']}@{of['recipe']}" for name, of in value.items()]


def target_field(**texts: Any) -> TargetField:
    """The field, with the present options, and with these texts of a form's field."""
    choices = CallableChoiceIterator(_offered)
    return TargetField(widget=TargetSelect(choices=choices, attrs={"size": 4}), **texts)


def in_words(conditions: Mapping[str, Any]) -> str:
    """`target` of a recipe file as people read it."""
    return " and ".join(f"{name} = {of['value']}" for name, of in conditions.items())


def at_target(error: FieldError) -> FieldError:
    """The same refusal, if it names a part of the target, at the field of the form."""
    if not error.field.startswith(f"{FIELD}."):
        return error
    return FieldError(FIELD, f"{error.field.removeprefix(FIELD + '.')}: {error.message}")


def _offered() -> list[tuple[str, list[tuple[str, str]]]]:
    """By population, every condition with the devices that surely meet it."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for count in newest_counts():
        by = f"counted by “{count.recipe.name}”, {count.released_at:%Y-%m-%d}"
        groups.setdefault(count.population, []).extend(
            (
                f"{count.attribute}={value}@{count.recipe.identifier}",
                f"{count.attribute} = {value}: surely {number(max(0, int(low)))} devices ({by})",
            )
            for value, (low, _) in count.sizes.values.items()
        )
    return list(groups.items())
