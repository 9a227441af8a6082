"""The form of a recipe, made from the parameters that the chosen statistic declares."""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from textwrap import shorten
from typing import Any, ClassVar, cast
from urllib.parse import parse_qsl

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.forms.utils import pretty_name
from django.http import QueryDict

from ledger.selectors import population_choices
from pages.kinds import kind_of
from pages.publish.fields import DurationField, number_field, range_errors
from pages.publish.figures import Figures, figures_of
from pages.publish.parameter_fields import SUGGESTED, parameter_fields
from pages.publish.part_fields import part_fields
from pages.publish.target_field import at_target
from pages.trust_models import SHOWN, ShownTrustModel
from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters
from panprivacy.formats.times import EARLIEST, LATEST, format_time, parse_time
from panprivacy.planning.recipe_plan import MARGIN, POPULATION_SIZE
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.fields import NAME_LENGTH, QUESTION_LENGTH, STEP_SECONDS
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.parts.bundle import FIELD as BUNDLE
from panprivacy.recipe.parts.bundle import BundleAccess
from panprivacy.statistics.catalogue import statistic_of
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.segments import segments_of
from panprivacy.statistics.trust_models import TRUST_MODELS, statistic_under_trust, trust_named, trusts_of
from publishing.admission import admitting_here, require_admitted
from publishing.review import trust_unavailable
from publishing.target import Targeted, target_require
from recipes.cost import Cost, statistic_members
from recipes.operations import site_limits
from recipes.refusals import limit_errors
from storage.answers.questions import State

ABOUT_LISTS = "You enter the list when you publish the draft; it is not kept."

NOT_HERE = {
    "admission": "Not available here: no issuer is set up.",
    "relay": "Not available here: no relay is set up.",
}

FOLDED = {
    "admission",
    "aggregator_epsilon",
    "announced_intrusions",
    "at",
    "closes_at",
    "coin",
    "delta",
    "encryption",
    "event_definition",
    "hidden_count",
    "hpke",
    "labels",
    "name",
    "opens_at",
    "participation",
    "relay",
    "sampling_rate",
    "segments",
    "smallest_target",
    "start",
    "states",
    "table_size",
    "target",
    "target_margin",
}
"""Fields that most recipes leave as they are. They are folded away, as long as they are."""

DERIVED_NAME_LENGTH = 60
"""Of a name that is the beginning of the question."""

_YEARS = f"Enter a time in the years {EARLIEST.year} to {LATEST.year}."
IN_RANGE = [MinValueValidator(EARLIEST, _YEARS), MaxValueValidator(LATEST, _YEARS)]
"""Of times, which forms take in UTC."""

_NAME = re.compile(r"`?\b([a-z]+(?:_[a-z]+)+)\b`?")
"""A name of several words, as fields have in recipe files; one of a single word may be a word."""


STAND_INS = {"name": "-", "question": "-", "event": "event"}
"""A valid value in place of a field's invalid one, while the other fields are checked."""


@dataclass(frozen=True)
class TrustOption:
    """A trust model as a choice of the form.

    Attributes:
        unavailable: why it cannot be chosen, as a clause; empty if it can.
    """

    model: ShownTrustModel
    chosen: bool
    unavailable: str


@dataclass(frozen=True)
class FieldGroup:
    """Fields below one heading."""

    title: str
    fields: list[forms.BoundField]


@dataclass(frozen=True)
class Layout:
    """The fields of a form, in the order of the page.

    Attributes:
        simple: those that every recipe needs.
        settings: all others, which are folded away.
    """

    simple: list[forms.BoundField]
    settings: list[FieldGroup]

    @property
    def unfolded(self) -> bool:
        """Whether what is folded must be seen: it is wrong, or not what recipes start with."""
        return any(
            field.errors or not _same(field.value(), field.field.initial)
            for group in self.settings
            for field in group.fields
        )


def _same(value: Any, initial: Any) -> bool:
    if value in (None, "") or initial in (None, ""):
        return (value in (None, "")) == (initial in (None, ""))
    try:
        return float(value) == float(initial)
    except (TypeError, ValueError):
        return str(value) == str(initial)


class RecipeForm(forms.Form):
    """A recipe of one statistic. Subclasses are made by `recipe_form_class`."""

    mechanism: ClassVar[type[Statistic[Any]]]
    simple: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that are not folded away; if empty, all but those of `FOLDED`."""
    repeated: ClassVar[tuple[str, ...]] = ()
    """Names of fields about a series, which are not in the draft of a recipe."""

    name = forms.CharField(
        max_length=NAME_LENGTH,
        required=False,
        help_text="A short name for lists. If it is empty, the beginning of the question.",
    )
    question = forms.CharField(
        max_length=QUESTION_LENGTH,
        help_text="Your question, which is the title of the public page.",
    )
    population = forms.ChoiceField(
        choices=population_choices,
    )
    population_size = forms.IntegerField(
        label="Devices that will hear of it",
        min_value=1,
        max_value=cast("int", POPULATION_SIZE.maximum),
        help_text="Your estimate, for the preview; not signed.",
        error_messages=range_errors(POPULATION_SIZE),
    )
    opens_at = forms.DateTimeField(
        label="Opens at (UTC)",
        required=False,
        help_text="Leave empty to open when it is published.",
        validators=IN_RANGE,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    closes_at = forms.DateTimeField(
        label="Closes at (UTC)",
        required=False,
        validators=IN_RANGE,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    trust = forms.ChoiceField(
        label="Who reads reports",
        required=False,
        widget=forms.RadioSelect(),
    )
    encryption = forms.ChoiceField(
        choices=[(scheme, scheme) for scheme in SCHEMES],
    )

    def clean(self) -> dict[str, Any]:
        """Let the domain judge; its refusal lands on the field that it names."""
        self.targeted: Targeted | None = None
        self.parameters: PublicParameters | None = None
        self.figures: Figures | State = State.COMPUTING
        self.draft: RecipeDraft | None = None
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "name" not in self.errors and not cleaned.get("name"):
            beginning = shorten(cleaned.get("question", ""), DERIVED_NAME_LENGTH, placeholder=" …")
            cleaned["name"] = beginning or STAND_INS["name"]
        cleaned["trust"] = cleaned.get("trust") or trusts_of(self.mechanism)[0].value
        self._refuse_unavailable_trust(cleaned["trust"])
        given = {name: value for name, value in cleaned.items() if value not in (None, "")}
        wanted = [name for name in self.mechanism.parameters_class.names() if name in self.fields]
        if not any(name in self.errors for name in wanted):
            members = {name: given[name] for name in wanted if name in given}
            try:
                parameters = self.mechanism.parameters_class.from_mapping(members)
                self.mechanism(parameters)  # some refuse invalid combinations only here
                self.parameters = parameters
                self._compute()
            except FieldError as error:
                self.parameters = None
                self.add_field_error(error)
        draft = self._asked(given)
        if self.parameters is not None:
            statistic, figures = self.mechanism(self.parameters), self.figures
            # Unknown, it is asked for by the page that publishes.
            local = figures.local_epsilon if isinstance(figures, Figures) else 0.0
            for refusal in limit_errors(statistic, site_limits(), local=local):
                self._add_new(refusal)
            if isinstance(figures, Figures):
                self._refuse_unadmitted(draft, statistic)
            self._refuse_untargeted(draft)
        if not self.errors:
            self.draft = draft
        return cleaned

    def _compute(self) -> None:
        """Have the values computed that follow from the parameters; FieldError if they cannot be met."""
        if self.parameters is None or "segments" in self.errors:
            return
        self.figures = figures_of(self.cost(self.trust_model), self.cleaned_data.get("population_size"))
        if isinstance(self.figures, Figures):
            self.parameters = replace(self.parameters, **self.figures.derived)

    def _asked(self, given: dict[str, Any]) -> RecipeDraft | None:
        """What would be asked. All refusals of the domain are shown at once: valid values replace invalid
        ones, and the rest is checked again.
        """
        members = self.members(given)
        refused = set(self.errors)
        parameters = set(self.mechanism.parameters_class.names())
        for _ in range(2 * len(self.fields)):
            for name in refused & self.fields.keys():
                members[name] = STAND_INS.get(name, self.fields[name].initial)
                if members[name] is None:
                    del members[name]
            try:
                return RecipeDraft.from_mapping(members)
            except FieldError as refusal:
                error = at_target(refusal)
                if error.field in refused:
                    return None
                refused.add(error.field)
                # If one parameter is wrong, messages about others may be caused by its replacement.
                if self.parameters is not None or error.field not in parameters:
                    self._add_new(error)
        return None

    def _refuse_unadmitted(self, draft: RecipeDraft | None, statistic: Statistic[Any]) -> None:
        if draft is not None and (draft.relay or draft.admission != Admission.OPEN):
            try:
                require_admitted(draft, statistic, admitting_here())
            except FieldError as refusal:
                self._add_new(refusal)

    def _refuse_untargeted(self, draft: RecipeDraft | None) -> None:
        if draft is not None and draft.target is not None:
            try:
                self.targeted = target_require(draft, simulation=False)
            except FieldError as refusal:
                self._add_new(at_target(refusal))

    def _add_new(self, error: FieldError) -> None:
        """Unless the field is known to be wrong."""
        if error.field not in self.errors:
            self.add_field_error(error)

    def statistic(self) -> Statistic[Any]:
        """What would be asked, once validated; FieldError if it cannot be with these segments."""
        segments = segments_of(self.cleaned_data.get("segments"), self.mechanism)
        if self.parameters is None:
            raise ValueError("the form has no parameters")
        statistic = statistic_of(self.mechanism.statistic, self.parameters, segments)
        return statistic_under_trust(statistic, self.trust_model)

    @property
    def trust_model(self) -> Trust:
        """The chosen trust model. If it is unavailable here, the first one: what it would promise can be
        shown all the same."""
        return trust_named(self.cleaned_data.get("trust") or trusts_of(self.mechanism)[0].value)

    def cost(self, trust: Trust) -> Cost:
        """The same as data, under a trust model."""
        segments = segments_of(self.cleaned_data.get("segments"), self.mechanism)
        return Cost(statistic_members(self.mechanism.statistic, self.parameters, trust, len(segments)))

    def trust_options(self) -> list["TrustOption"]:
        """The trust models as choices, those that cannot be chosen with the reason."""
        chosen = self["trust"].value() or trusts_of(self.mechanism)[0].value
        return [
            TrustOption(
                SHOWN[trust].for_input(self.mechanism.device_input),
                trust.value == chosen,
                trust_unavailable(trust, self.mechanism),
            )
            for trust in kind_of(self.mechanism).trusts
        ]

    def _refuse_unavailable_trust(self, value: str) -> None:
        reason = trust_unavailable(trust_named(value), self.mechanism)
        if reason:
            self.add_field_error(FieldError("trust", f"cannot be {value}: {reason}"))

    def members(self, given: dict[str, Any]) -> dict[str, Any]:
        """The fields of a recipe file: what was entered."""
        times = {name: format_time(value) for name, value in given.items() if isinstance(value, datetime)}
        members = {**given, **times, "statistic": self.mechanism.statistic}
        members = {name: value for name, value in members.items() if name not in self.repeated}
        trust = given.get("trust")
        # These are there for other trust models. One that is refused is not among what is given.
        if trust is not None and not TRUST_MODELS[trust].encrypts(self.mechanism):
            members.pop("encryption", None)
        if trust is None or not TRUST_MODELS[trust].publishes_reports:
            members.pop(BUNDLE, None)
        return members

    def add_field_error(self, error: FieldError) -> None:
        """Show a refusal of the domain at its field, or above the form if there is none."""
        error = at_target(error)
        if error.field in self.fields:
            message = self._with_labels(error.message)
            self.add_error(error.field, sentence(message))
        else:
            self.add_error(None, self.refusal(error))

    @classmethod
    def refusal(cls, error: FieldError) -> str:
        """A refusal of the domain as a sentence, with labels if it has the names of recipe files."""
        error = at_target(error)
        field = cls.base_fields.get(error.field)
        label = error.field if field is None else field.label or pretty_name(error.field)
        return f"{label}: {cls._with_labels(error.message)}."

    @classmethod
    def _with_labels(cls, message: str) -> str:
        def label(found: re.Match[str]) -> str:
            if found[1] in TRUST_MODELS:
                return f"“{SHOWN[trust_named(found[1])].title}”"
            field = cls.base_fields.get(found[1])
            return found[0] if field is None else f"“{field.label}”"

        return _NAME.sub(label, message)

    def preview_errors(self) -> list[tuple[str, str]]:
        """(label, message) of every field that the preview needs and that has an error."""
        needed = {*self.mechanism.parameters_class.names(), "population_size", "segments"}
        return [
            (str(self.fields[name].label), " ".join(map(str, messages)))
            for name, messages in self.errors.items()
            if name in needed
        ]

    def admission_errors(self) -> list[tuple[str, str]]:
        """The same for admission, which the figures do without, and a published recipe does not."""
        return [
            (str(self.fields[name].label), " ".join(map(str, self.errors[name])))
            for name in ("admission", "relay", "hpke")
            if name in self.fields and name in self.errors
        ]

    def layout(self) -> Layout:
        """The fields as the page shows them, with what is not available here."""
        here = admitting_here()
        for name, there in (("admission", here.issuer), ("relay", here.relay_url)):
            if name in self.fields and there is None:
                self[name].help_text = f"{self.fields[name].help_text} {NOT_HERE[name]}"
        groups = kind_of(self.mechanism).groups
        named = {name for _, names in groups for name in names}
        parameters = self.mechanism.parameters_class.names()
        own = tuple(name for name in parameters if name in self.fields and name not in named)
        # A part that no layout names comes last.
        others = tuple(name for name in self.fields if name not in named and name not in parameters)
        headed = []
        for title, names in groups:
            within = [name for part in names for name in (own if part == "*" else (part,))]
            if title == groups[-1][0]:
                within += others
            headed.append((title, [name for name in within if name in self.fields]))
        simple = self.simple or tuple(
            name for _, names in headed for name in names if name not in {*FOLDED, *others}
        )
        # Without a choice there is nothing to decide.
        decided = sum(not option.unavailable for option in self.trust_options()) < 2
        simple = tuple(name for name in simple if name not in {"trust", BUNDLE} or not decided)
        settings = [
            FieldGroup(title, [self[name] for name in names if name not in simple]) for title, names in headed
        ]
        return Layout([self[name] for name in simple], [group for group in settings if group.fields])

    def mark(self, marks: Mapping[str, str]) -> None:
        """Show these sentences at the fields of these names; templates show them as `field.mark`."""
        for name, mark in marks.items():
            self[name].mark = mark  # type: ignore[attr-defined]  # a bound field is made once and kept

    @classmethod
    def with_taken(cls, data: QueryDict) -> QueryDict:
        """What was sent, with the values that the pressed button fills in (`take`, as in an address)."""
        taken = parse_qsl(data.get("take", "")[:200], keep_blank_values=True)
        filled = data.copy()
        for name, value in taken:
            if name in cls.base_fields:
                filled[name] = value
        return filled

    @classmethod
    def initial_of_query(cls, query: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
        """The initial values that an address names, and the labels of those that cannot be.

        Only numbers and choices, and empty times: words are for the analyst to write.
        """
        initial: dict[str, Any] = {}
        refused = []
        for name, field in cls.base_fields.items():
            if name not in query:
                continue
            if isinstance(field, forms.DateTimeField) and not query[name]:
                initial[name] = None
            if not isinstance(field, forms.IntegerField | forms.FloatField | forms.ChoiceField):
                continue
            try:
                initial[name] = field.clean(query[name])
            except forms.ValidationError:
                refused.append(str(field.label or name))
        return initial, refused

    @classmethod
    def initial_of(cls, draft: dict[str, Any]) -> dict[str, Any]:
        """The initial values that show a stored draft."""
        times = {
            name: parse_time(name, draft[name]).replace(tzinfo=None)
            for name in ("opens_at", "closes_at")
            if draft.get(name)
        }
        size = {"population_size": max(SUGGESTED["population_size"], draft.get("cohort_size", 0))}
        usual = {"admission": Admission.OPEN.value}
        if BUNDLE in cls.base_fields:
            usual[BUNDLE] = BundleAccess.PUBLIC.value
        return {**size, **usual, **draft, **times}


def recipe_form_class(mechanism: type[Statistic[Any]]) -> type[RecipeForm]:
    """The form for one statistic: a field for every parameter that is not derived, and for the other fields
    of such a recipe."""
    kind = kind_of(mechanism)
    fields: dict[str, Any] = dict(parameter_fields(mechanism))
    fields["step_seconds"] = DurationField(
        STEP_SECONDS,
        label="Length of a step",
        help_text="A device notes once a step whether the event happened.",
    )
    fields["step_seconds"].initial = SUGGESTED["step_seconds"]
    fields["target_margin"] = number_field(MARGIN, float, required=False)
    parts = part_fields(mechanism)
    fields |= parts
    form = cast("type[RecipeForm]", type("RecipeForm", (RecipeForm,), {**fields, "mechanism": mechanism}))
    shown = {name for _, names in kind.groups for name in names}
    shown |= {*mechanism.parameters_class.names(), *parts}
    if not any(TRUST_MODELS[trust].encrypts(mechanism) for trust in trusts_of(mechanism)):
        shown.discard("encryption")
    # Copies: fields that subclasses inherit are shared between them.
    form.base_fields = {name: deepcopy(form.base_fields[name]) for name in form.base_fields if name in shown}
    for name in ("population", "population_size", "encryption"):
        if name in form.base_fields:
            form.base_fields[name].initial = SUGGESTED[name]
    for name in kind.help.keys() & form.base_fields.keys():
        form.base_fields[name].help_text = kind.help[name]
    if "items" in form.base_fields:
        form.base_fields["items"].help_text += f" {ABOUT_LISTS}"
    trust_field = cast("forms.ChoiceField", form.base_fields["trust"])
    trust_field.initial = trusts_of(mechanism)[0].value
    trust_field.choices = [(trust.value, SHOWN[trust].title) for trust in kind.trusts]
    return form
