"""The form of a population."""

from typing import Any

from django import forms

from ledger.budget import DELTA, EPSILON, Budget, Rule
from ledger.models import DESCRIPTION_LENGTH, NAME_LENGTH, Population
from pages.publish.fields import NumberField, typed_lines
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.recipe.fields import require_population_name
from panprivacy.recipe.targeting.attributes import FIELD as ATTRIBUTES
from panprivacy.recipe.targeting.attributes import MOST_ATTRIBUTES, MOST_VALUES, Attributes
from web.numbers import number


def _bounds(description: Description) -> str:
    return f"From {number(description.minimum)}, up to {number(description.maximum)}."


def _number(description: Description) -> NumberField:
    return NumberField(
        label=description.label,
        required=False,
        help_text=f"{description.help} {_bounds(description)}",
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )


class AttributesField(forms.CharField):
    """Attributes of a population, one per line: `os: linux, mac, other`."""

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def to_python(self, value: Any) -> Attributes | None:  # type: ignore[override]  # no text
        """None if nothing is written: what was declared stays."""
        lines = [line for line in typed_lines(value) if line.strip()]
        members: dict[str, list[str]] = {}
        for line in lines:
            name, colon, values = line.partition(":")
            if not colon or name.strip() in members:
                raise forms.ValidationError("Write each attribute once, on a line: os: linux, mac, other")
            members[name.strip()] = [one.strip() for one in values.split(",")]
        if not members:
            return None
        try:
            return Attributes.from_members(members)
        except FieldError as error:
            raise forms.ValidationError(attribute_error(error)) from None

    def validate(self, value: Any) -> None:
        """The domain judges."""

    def run_validators(self, value: Any) -> None:
        """As of `validate`."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Attributes):
            return value
        return "\n".join(f"{name}: {', '.join(values)}" for name, values in value.values.items())


def attribute_error(error: FieldError) -> str:
    """A refusal of an attribute as a sentence that names it."""
    name = error.field.removeprefix(ATTRIBUTES).removeprefix(".")
    return f"{name}: {error.message}." if name else sentence(error.message)


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
    no_budget = forms.BooleanField(
        label="No budget",
        required=False,
        help_text="Spending is recorded and nothing refused. Without this, ε and δ are needed.",
    )
    rule = forms.ChoiceField(
        label="Rule",
        choices=[
            (Rule.FILTER.value, "Adaptive filter: recipes may be chosen by earlier results"),
            (Rule.COMPOSED.value, "Composition: recipes are chosen without regard to earlier results"),
        ],
        initial=Rule.FILTER.value,
        required=False,
        help_text="What may be published within the budget. Under the filter the budget also holds if "
        "recipes are chosen by results, and somewhat fewer recipes fit. Choose composition only if analysts "
        "who have seen a result do not decide what is published next.",
    )

    four_eyes = forms.ChoiceField(
        label="Four eyes",
        choices=[("site", "As the site says"), ("always", "Always")],
        initial="site",
        required=False,
        help_text="Whether publishing for it needs the approval of another analyst.",
    )

    attributes = AttributesField(
        label="Attributes",
        required=False,
        help_text="What devices know of themselves, so that a recipe can ask a part of them. One per line, "
        "with all its values: os: linux, mac, other. Coarse ones only. What was declared stays; new values "
        f"come last. At most {MOST_ATTRIBUTES}, of {MOST_VALUES} values each.",
    )

    def __init__(self, *arguments: Any, population: Population | None = None, **options: Any) -> None:
        if population is not None:
            options["initial"] = {
                "description": population.description,
                "epsilon": population.epsilon,
                "delta": population.delta,
                "no_budget": population.epsilon is None,
                "rule": population.rule,
                "four_eyes": "always" if population.four_eyes else "site",
                "attributes": population.declared,
            }
        super().__init__(*arguments, **options)
        if population is not None:
            del self.fields["name"]

    def clean(self) -> dict[str, Any]:
        """Let the domain judge; its refusal lands on the field that it names."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.budget: Budget | None = None
        if "name" not in self.fields and "description" not in self.data:
            self.add_error("description", "The description is missing; send it, empty for none.")
        try:
            if cleaned.get("name"):
                require_population_name(cleaned["name"])
        except FieldError as error:
            self.add_error("name", sentence(error.message))
        epsilon, delta = cleaned.get("epsilon"), cleaned.get("delta")
        if "epsilon" in self.errors or "delta" in self.errors:
            return cleaned
        if cleaned.get("no_budget"):
            if epsilon is not None or delta is not None:
                self.add_error("no_budget", "Either a budget or none: leave ε and δ empty.")
            return cleaned
        # A budget ends only if the administrator chooses so, not if a request lacks it.
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            if value is None:
                self.add_error(name, "A budget needs ε and δ. Choose “No budget” for none.")
        if epsilon is not None and delta is not None:
            try:
                self.budget = Budget(epsilon=epsilon, delta=delta, rule=self._rule(cleaned))
            except FieldError as error:
                self.add_error(error.field, sentence(error.message))
        return cleaned

    @property
    def asked_four_eyes(self) -> bool | None:
        """For a valid form, whether four eyes are always needed; None if a request has no choice."""
        chosen = self.cleaned_data.get("four_eyes")
        return chosen == "always" if chosen else None

    def _rule(self, cleaned: dict[str, Any]) -> Rule:
        """The chosen rule; if a request names none, the present one."""
        return Rule(cleaned.get("rule") or self.initial.get("rule") or Rule.FILTER)

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field."""
        if error.field.startswith(f"{ATTRIBUTES}."):
            self.add_error(ATTRIBUTES, attribute_error(error))
        else:
            self.add_error(error.field if error.field in self.fields else None, sentence(error.message))
