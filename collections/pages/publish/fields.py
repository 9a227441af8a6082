"""Fields of forms about recipes: numbers with their range, durations, lists of texts, a hidden number of
reports."""

from collections.abc import Mapping
from typing import Any

from django import forms

from panprivacy.formats.csv_table import plain_lines
from panprivacy.formats.display import duration_and_seconds, plain, sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.formats.structures import StateGroups, Structure, Tables
from web.numbers import number

HIDDEN_DELTA = 1e-6
"""δ of a hidden number of reports, if the analyst enters only an ε."""

UNITS = {86_400: "days", 3_600: "hours", 60: "minutes", 1: "seconds"}
"""Of durations, by their seconds; the longest first."""

STRUCTURE_CHARACTERS = 100_000

LOGARITHMIC_SPAN = 100
"""A range that spans more than this factor gets a logarithmic slider."""


class NumberField(forms.FloatField):
    """A number as people write it: 1, not 1.0, and 1e-6."""

    def prepare_value(self, value: Any) -> Any:
        return plain(value, "").removesuffix(".0") if isinstance(value, float) else value


def range_errors(description: Description) -> dict[str, str]:
    """The message for a number outside of its range: both ends, whichever it is beyond."""
    low, high = description.minimum, description.maximum
    if low is not None and high is not None:
        said = f"Must be from {number(low)} to {number(high)}."
    else:
        said = f"Must be at least {number(low)}." if low is not None else f"Must be at most {number(high)}."
    return {"min_value": said, "max_value": said}


def typed_lines(value: Any) -> list[str]:
    """The lines of a box but for empty ones at the end; ValidationError for what is no text."""
    try:
        lines = plain_lines(str(value or ""), field="lines")
    except FieldError as error:
        raise forms.ValidationError(sentence(error.message)) from None
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


class LabelsField(forms.CharField):
    """Texts, one per line; empty lines at the end do not count.

    Args:
        most: lines.
        length: of a line, in characters.
    """

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})

    def __init__(self, *, most: int, length: int, **members: Any) -> None:
        super().__init__(required=False, **members)
        self._most, self._length = most, length

    def to_python(self, value: Any) -> list[str] | None:  # type: ignore[override]  # several texts
        """The lines; None if there are none. The domain refuses invalid ones."""
        # A stored draft has a list already.
        lines = value if isinstance(value, list) else typed_lines(value)
        if len(lines) > self._most or any(len(line) > 2 * self._length for line in lines):
            # A text this long is not sent back.
            raise forms.ValidationError(
                f"Must be at most {number(self._most)} lines of 1 to {self._length} characters."
            )
        return [line.strip() for line in lines] or None

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value


class StructureField(forms.CharField):
    """A list or a table, as text. The domain judges it."""

    def __init__(self, description: Description, structure: Structure, *, required: bool) -> None:
        allowed = structure.allowed
        super().__init__(
            label=description.label,
            help_text=description.help,
            required=required,
            max_length=STRUCTURE_CHARACTERS,
            widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})
            if isinstance(structure, Tables | StateGroups)
            else forms.TextInput(attrs={"spellcheck": "false"}),
            error_messages={"max_length": f"Must be {allowed}."},
        )
        self._structure = structure
        self.initial = structure.example if required else None

    def clean(self, value: Any) -> Any:
        """The value as JSON; the domain refuses invalid ones."""
        if isinstance(value, str):
            text = super().clean(value)
            return self._structure.of_text(text) if text else None
        # A stored draft has JSON already.
        return value

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) or value is None else self._structure.as_text(value)


class HiddenCountField(forms.CharField):
    """ε and δ of `panprivacy.recipe.parts.hidden_count`: one number, or two."""

    def to_python(self, value: Any) -> Any:
        parts = [part for part in str(value or "").replace(",", " ").split() if part]
        if not parts:
            return None
        try:
            epsilon, delta = [*map(float, parts), *([HIDDEN_DELTA] if len(parts) == 1 else [])]
        except ValueError:
            raise forms.ValidationError("Write one number, or two: ε, δ.") from None
        return {"epsilon": epsilon, "delta": delta}

    def validate(self, value: Any) -> None:
        """The domain judges."""

    def run_validators(self, value: Any) -> None:
        """As of `validate`."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        epsilon, delta = value["epsilon"], value["delta"]
        return f"{epsilon!r}" if delta == HIDDEN_DELTA else f"{epsilon!r}, {delta!r}"


def _range_text(description: Description) -> str:
    low, high = description.minimum, description.maximum
    if low is None or high is None:
        return ""
    return f"From {number(low)}, up to {number(high)}."


def number_field(description: Description, kind: type, *, required: bool) -> forms.Field:
    """A number box for a described quantity; a script adds a slider to it."""
    attributes: dict[str, Any] = {"inputmode": "numeric" if kind is int else "decimal"}
    low, high = description.minimum, description.maximum
    if low is not None and high is not None:
        attributes["data-slider"] = "log" if low > 0 and high / low > LOGARITHMIC_SPAN else "linear"
        if description.usual_minimum is not None:
            attributes["data-slider-from"] = description.usual_minimum
    if kind is not int:
        attributes["step"] = "any"
    ends: list[Any] = [low, high]
    if kind is int:
        ends = [None if end is None else int(end) for end in ends]
    field_class = forms.IntegerField if kind is int else NumberField
    return field_class(
        label=description.label,
        help_text=f"{description.help} {_range_text(description)}".strip(),
        required=required,
        min_value=ends[0],
        max_value=ends[1],
        error_messages=range_errors(description),
        widget=forms.NumberInput(attrs=attributes),
    )


class DurationInput(forms.MultiWidget):
    """A number and its unit; as data, the seconds. The name alone may have them too, as in an address."""

    def __init__(self) -> None:
        number_box = forms.NumberInput(attrs={"inputmode": "decimal", "min": 0, "step": "any"})
        units = forms.Select(choices=list(UNITS.items()), attrs={"aria-label": "Unit"})
        super().__init__([number_box, units], attrs={"class": "duration"})

    def decompress(self, value: Any) -> list[Any]:
        """In the longest unit that gives a whole number."""
        try:
            seconds = int(value)
        except (TypeError, ValueError):
            return [value, 1]
        unit = next(unit for unit in UNITS if seconds % unit == 0)
        return [seconds // unit, unit]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        """The seconds; what was typed, if they cannot be computed."""
        if name in data:
            return data[name]
        amount, unit = super().value_from_datadict(data, files, name)
        try:
            return plain(round(float(amount) * int(unit), 3), "").removesuffix(".0")
        except (TypeError, ValueError, OverflowError):
            return amount

    def id_for_label(self, id_: str) -> str:
        return f"{id_}_0"


class DurationField(forms.IntegerField):
    """Seconds, which a form takes as a number and a unit."""

    def __init__(self, description: Description, *, label: str, help_text: str) -> None:
        low, high = int(description.minimum or 0), int(description.maximum or 0)
        said = f"Must be from {duration_and_seconds(low)} to {duration_and_seconds(high)}."
        super().__init__(
            label=label,
            help_text=help_text,
            min_value=low,
            max_value=high,
            widget=DurationInput(),
            error_messages=dict.fromkeys(("min_value", "max_value", "invalid"), said),
        )
