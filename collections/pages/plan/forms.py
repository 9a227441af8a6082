"""The form of a plan, made from the descriptions of the statistic's parameters and of the targets."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from pages.publish.fields import number_field
from pages.publish.parameter_fields import parameter_fields
from pages.trust_models import SHOWN
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.planning.plan import Question
from panprivacy.planning.recipe_plan import MARGIN, POPULATION_SIZE
from panprivacy.planning.solver import UNKNOWNS
from panprivacy.planning.targets import AGGREGATOR_EPSILON
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.segments import MOST_SEGMENTS
from panprivacy.statistics.segments import allowed as segments_allowed
from panprivacy.statistics.trust_models import TRUST_MODELS, trust_named, trusts_of

NOTHING = "nothing"
"""No unknown: only what to expect."""

START = {"population_size": 10_000, "margin": 2, "aggregator_epsilon": 1, "unknown": "epsilon"}
"""Initial values of a plan; parameters start as those of a new recipe."""

UNKNOWN_LABELS = {
    "epsilon": "privacy loss (ε)",
    "population_size": "population size",
    "sampling_rate": "sampling rate",
    "cohort_size": "cohort size",
}


class TrustField(forms.ChoiceField):
    """The trust model; a refusal gives the reason, and the models that can."""

    def __init__(self, mechanism: type[CohortStatistic[Any]]) -> None:
        self.mechanism = mechanism
        trusts = trusts_of(mechanism)
        super().__init__(
            label="Who collects",
            help_text=f"“{SHOWN[Trust.TWO_SERVER].title}” add noise to the number of reports, and need a "
            "margin beyond the cohort.",
            choices=[(trust.value, SHOWN[trust].title) for trust in trusts],
            initial=trusts[0].value,
        )

    def validate(self, value: str) -> None:
        """ValidationError for a trust model under which the statistic cannot be asked."""
        if not value or self.valid_value(value):
            super().validate(value)
            return
        others = " or ".join(f"“{SHOWN[trust].title}”" for trust in trusts_of(self.mechanism))
        if value not in TRUST_MODELS:
            raise forms.ValidationError(f"There is no such choice. Choose {others}.")
        refused = f"“{SHOWN[trust_named(value)].title}” cannot collect “{self.mechanism.title}”"
        why = TRUST_MODELS[value].refusal(self.mechanism)
        raise forms.ValidationError(f"{refused}: {why}. Choose {others}.")


class PlanForm(forms.Form):
    """A plan for one statistic. Subclasses are made by `plan_form_class`."""

    mechanism: ClassVar[type[CohortStatistic[Any]]]

    GROUPS: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = (
        ("Wanted", ("margin", "aggregator_epsilon", "unknown")),
        ("Privacy", ("epsilon", "delta", "guarantee")),
        ("Who takes part", ("population_size", "sampling_rate", "cohort_size", "trust")),
        ("What a device counts", ("steps", "*", "segments", "encryption")),
    )
    """Order on the page; `*` means the fields that only this statistic has."""

    def clean(self) -> dict[str, Any]:
        """Let the domain judge; its refusal lands on the field that it names."""
        self.question: Question | None = None
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                self.question = Question.from_mapping(self._members(cleaned))
            except FieldError as error:
                self.add_field_error(error)
        return cleaned

    def _members(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in cleaned.items() if value not in (None, "")}
        names = self.mechanism.parameters_class.names()
        members = {
            "statistic": self.mechanism.statistic,
            # The recipe's own target is this plan's.
            "parameters": {
                name: given[name] for name in names if name in given and name != "aggregator_epsilon"
            },
            "population_size": given["population_size"],
            "encryption": given["encryption"],
            "trust": given["trust"],
        }
        if given.get("segments"):
            # A plan depends on their number only; in an address, names would take line breaks.
            members["segments"] = [f"{place + 1}" for place in range(given["segments"])]
        if given["unknown"] == NOTHING:
            return members
        targets: dict[str, Any] = {
            name: given[name] for name in ("margin", "aggregator_epsilon") if name in given
        }
        if "aggregator_epsilon" in targets:
            # One δ for all: the recipe's.
            targets["aggregator_delta"] = given["delta"]
        return {**members, "unknown": given["unknown"], "targets": targets}

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field, or above the form if there is none."""
        message = sentence(error.message)
        # The form has no objects: `parameters.epsilon` is its field `epsilon`.
        field = error.field.rpartition(".")[2]
        if field in self.fields:
            self.add_error(field, message)
        elif error.field == "targets":
            self.add_error("unknown", "Enter a wanted margin, a wanted privacy loss of the result, or both.")
        else:
            self.add_error(None, f"{error}.")

    def problems(self) -> list[tuple[str, str]]:
        """(label, message) of everything that is wrong."""
        return [
            (str(self.fields[name].label) if name in self.fields else "", " ".join(map(str, messages)))
            for name, messages in self.errors.items()
        ]

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields by heading, in the order of the page."""
        named = {name for _, names in self.GROUPS for name in names}
        own = tuple(name for name in self.fields if name not in named)
        groups = []
        for title, names in self.GROUPS:
            expanded = [name for part in names for name in (own if part == "*" else (part,))]
            groups.append((title, [self[name] for name in expanded if name in self.fields]))
        return groups

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> "PlanForm":
        """The form bound to a query, and to its start values if the query is empty."""
        start = {name: field.initial for name, field in cls.base_fields.items() if field.initial is not None}
        given = {name: query[name] for name in cls.base_fields if name in query}
        # An address that names some values only, from another statistic or by hand, gets the rest.
        # What a form sends empty stays empty.
        return cls({**start, **given})


def plan_form_class(mechanism: type[CohortStatistic[Any]]) -> type[PlanForm]:
    """The form for one statistic."""
    fields: dict[str, Any] = dict(parameter_fields(mechanism))
    fields["population_size"] = number_field(POPULATION_SIZE, int, required=True)
    fields["margin"] = number_field(MARGIN, float, required=False)
    unit = "percentage points" if mechanism.counts_devices else mechanism.unit
    fields["margin"].label = f"Wanted margin (± {unit})"
    fields["margin"].help_text = "Half the width of the 95% interval. Leave empty for any."
    fields["aggregator_epsilon"] = number_field(AGGREGATOR_EPSILON, float, required=False)
    fields["aggregator_epsilon"].help_text = f"{AGGREGATOR_EPSILON.help} Leave empty for any."
    fields["unknown"] = forms.ChoiceField(
        label="Find",
        help_text="All other values stay as entered below.",
        choices=[*((name, UNKNOWN_LABELS[name]) for name in UNKNOWNS), (NOTHING, "nothing")],
    )
    fields["encryption"] = forms.ChoiceField(
        help_text="Decides how many bytes a device stores and sends.",
        choices=[(scheme, scheme) for scheme in SCHEMES],
    )
    fields["encryption"].initial = DEFAULT_SCHEME
    fields["trust"] = TrustField(mechanism)
    if segments_allowed(mechanism):
        fields["segments"] = forms.IntegerField(
            label="Segments",
            min_value=1,
            max_value=MOST_SEGMENTS,
            required=False,
            help_text="How many parts of the population to compare, as versions; two are an A/B test. The "
            "recipe's form asks for their names. Leave empty for none.",
        )
    for name, value in START.items():
        fields[name].initial = value
    if not mechanism.counts_devices:
        fields["margin"].initial = 0.05
    for field in fields.values():
        field.error_messages["required"] = "Enter a value."
    return type("PlanForm", (PlanForm,), {**fields, "mechanism": mechanism})
