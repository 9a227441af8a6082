"""The form of a population."""

from typing import Any

from django import forms

from ledger.budget import DELTA, EPSILON, Budget
from ledger.models import DESCRIPTION_LENGTH, NAME_LENGTH, Population
from pages.publish.forms import NumberField
from panprivacy.errors import FieldError
from panprivacy.parameters import Description
from panprivacy.recipe import require_population_name
from web.numbers import number


def _bounds(description: Description) -> str:
    return f"From {number(description.minimum)}, up to {number(description.maximum)}."


def _number(description: Description) -> NumberField:
    return NumberField(
        label=description.label,
        required=False,
        help_text=f"{description.help} {_bounds(description)} Leave ε and δ empty for no budget.",
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )


class PopulationForm(forms.Form):
    """Name, description and budget; the name is fixed once the population exists."""

    name = forms.CharField(
        max_length=NAME_LENGTH,
        help_text="1 to 60 of the characters a-z, 0-9 and -. It cannot be changed later: recipes carry it.",
    )
    description = forms.CharField(
        max_length=DESCRIPTION_LENGTH, required=False, help_text="Which devices these are, in one line."
    )
    epsilon = _number(EPSILON)
    delta = _number(DELTA)

    def __init__(self, *arguments: Any, population: Population | None = None, **options: Any) -> None:
        if population is not None:
            options["initial"] = {
                "description": population.description,
                "epsilon": population.epsilon,
                "delta": population.delta,
            }
        super().__init__(*arguments, **options)
        if population is not None:
            del self.fields["name"]

    def clean(self) -> dict[str, Any]:
        """Let the domain judge; its refusal lands on the field that it names."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.budget: Budget | None = None
        try:
            if cleaned.get("name"):
                require_population_name(cleaned["name"])
        except FieldError as error:
            self.add_error("name", _sentence(error))
        epsilon, delta = cleaned.get("epsilon"), cleaned.get("delta")
        if "epsilon" in self.errors or "delta" in self.errors:
            return cleaned
        if (epsilon is None) != (delta is None):
            self.add_error("delta" if delta is None else "epsilon", "ε and δ are needed together.")
        elif epsilon is not None and delta is not None:
            try:
                self.budget = Budget(epsilon=epsilon, delta=delta)
            except FieldError as error:
                self.add_error(error.field, _sentence(error))
        return cleaned

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field."""
        self.add_error(error.field if error.field in self.fields else None, _sentence(error))


def _sentence(error: FieldError) -> str:
    return f"{error.message[:1].upper()}{error.message[1:]}."
