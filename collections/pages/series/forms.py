"""The form that repeats a recipe."""

from collections.abc import Mapping
from typing import Any

from django import forms

from pages.publish.fields import NumberField
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.series import DEFAULT_ZONE, MOST_ROUNDS, SeriesDraft

CHOICES = (("day", "Every day"), ("week", "Every week"), ("month", "Every month"))


class SeriesForm(forms.Form):
    """How often, and how many times. Once it is valid, `draft` is what is asked."""

    draft: SeriesDraft

    every = forms.ChoiceField(
        label="How often",
        choices=CHOICES,
        initial="week",
        help_text="At least as long as the steps of a round take.",
    )
    time_zone = forms.CharField(
        label="Time zone",
        required=False,
        initial=DEFAULT_ZONE,
        empty_value=DEFAULT_ZONE,
        max_length=64,
        help_text="Where days, weeks and months are counted: a name such as Europe/Berlin. Rounds open at "
        "the same time of the day there, also after clocks are set forward or back.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    rounds = NumberField(
        label="Rounds",
        initial=4,
        help_text=f"From 1 to {MOST_ROUNDS}. The budget of all of them is reserved when you publish.",
        widget=forms.NumberInput(attrs={"step": "1", "min": 1, "max": MOST_ROUNDS, "inputmode": "numeric"}),
    )

    def __init__(self, *arguments: Any, members: Mapping[str, Any], **options: Any) -> None:
        """
        Args:
            members: of the recipe's file. Its times are left out: the rounds begin at once.
        """
        super().__init__(*arguments, **options)
        self.asked = {name: members[name] for name in members if name not in ("opens_at", "closes_at")}

    def repetition(self) -> dict[str, Any]:
        """How often, and how many times."""
        rounds = self.cleaned_data["rounds"]
        return self.cleaned_data | {"rounds": int(rounds) if rounds == int(rounds) else rounds}

    def members(self) -> dict[str, Any]:
        """The file of the series."""
        return self.asked | self.repetition()

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.draft = SeriesDraft.from_mapping(self.members())
            except FieldError as error:
                self.add_refusal(error)
        return cleaned

    def add_refusal(self, error: FieldError) -> None:
        """Show a refusal at its field, or above all fields if the form has no such field."""
        if error.field in self.fields:
            self.add_error(error.field, sentence(error.message))
        else:
            self.add_error(None, f"{error}.")
