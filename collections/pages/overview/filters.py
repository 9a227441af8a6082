"""What the overview's list can be narrowed to; every choice is in the address."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict

from ledger.selectors import population_names
from panprivacy.recipe.parts.event import EVENT_LENGTH, EVENT_PATTERN
from panprivacy.statistics.catalogue import STATISTICS
from web.paging import text_of

STATUSES = (
    ("", "All"),
    ("open", "Open"),
    ("closed", "Closed"),
    ("released", "Released"),
    ("withheld", "Withheld"),
)

UNKNOWN = "“%(value)s” is none of the choices."
NO_DATE = "Give a date as 2026-01-31."

NO_EVENT = f"Give its name as recipes do: 1 to {EVENT_LENGTH} of the characters a-z, 0-9, dot, _ and -."

EVENT_BOX = {"list": "events", "autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
"""The browser offers the names that are known."""

DAY = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})


class FilterForm(forms.Form):
    """Each field is a parameter of the query string, and an argument of `overview_search`; words are a
    separate argument.
    """

    status = forms.ChoiceField(choices=STATUSES)
    statistic = forms.ChoiceField(choices=lambda: [("", "All"), *_titles()])
    population = forms.ChoiceField(choices=lambda: [("", "All"), *((one, one) for one in population_names())])
    event = forms.CharField(
        validators=[RegexValidator(rf"\A{EVENT_PATTERN.pattern}\Z", NO_EVENT, code="no_event")],
        strip=True,
        widget=forms.TextInput(EVENT_BOX),
    )
    since = forms.DateField(label="Published since", widget=DAY, input_formats=["%Y-%m-%d"])
    until = forms.DateField(label="Published until", widget=DAY, input_formats=["%Y-%m-%d"])

    def __init__(self, query: QueryDict) -> None:
        given = {name: query.get(name, "") for name in self.base_fields}
        super().__init__(given, auto_id="filter-%s", label_suffix="")
        for field in self.fields.values():
            field.required = False
            field.error_messages |= {"invalid_choice": UNKNOWN, "invalid": NO_DATE}

    def clean(self) -> dict[str, Any]:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and until < since:
            self.add_error("until", "It must not be before “published since”.")
        return self.cleaned_data


@dataclass(frozen=True)
class Filters:
    """A query as it was read.

    Attributes:
        form: the choices, with what is wrong with them.
        text: words to search for.
        problems: label and message of each wrong choice.
        given: the arguments for `overview_search`; empty if a choice is wrong.
        more: whether one of the choices other than the status is made.
    """

    form: FilterForm
    text: str
    problems: list[tuple[str, str]]
    given: dict[str, Any]
    more: bool

    @property
    def chosen(self) -> list[str]:
        """Every choice as "label value", in the form's order."""
        words = [f"search “{self.text}”"] if self.text else []
        return words + [
            f"{str(field.label).lower()} {dict(getattr(field.field, 'choices', ())).get(value, value)}"
            for field in self.form
            if (value := self.form.data.get(field.name))
        ]

    @property
    def narrowed(self) -> bool:
        """Whether the list is less than everything."""
        return bool(self.text) or any(self.form.data.values())


def filters_of(query: QueryDict) -> Filters:
    """The filters of a query string. Other parameters are ignored; a value that means nothing is
    a problem."""
    form, text = FilterForm(query), text_of(query, "q")
    problems = [
        (str(form[name].label), str(message))
        for name, messages in form.errors.items()
        for message in messages
    ]
    given = {} if problems else {name: value for name, value in form.cleaned_data.items() if value}
    more = any(value for name, value in form.data.items() if name != "status")
    return Filters(form, text, problems, given | {"text": text}, more)


def _titles() -> list[tuple[str, str]]:
    return [(name, statistic.title) for name, statistic in STATISTICS.items()]
