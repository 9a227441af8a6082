"""What the overview's list can be narrowed to; every choice is in the address."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.validators import RegexValidator
from django.http import QueryDict

from ledger.selectors import population_names
from panprivacy.formats.structures import EVENT_ALLOWED, EVENT_PATTERN
from panprivacy.statistics.catalogue import STATISTICS
from recipes.access import may_publish
from recipes.models import TAG_LENGTH
from recipes.selectors import owner_names
from web.paging import text_of

STATUSES = (
    ("", "All"),
    ("open", "Open"),
    ("closed", "Closed"),
    ("released", "Released"),
    ("withheld", "Withheld"),
)

DRAFTS = ("draft", "Drafts")

SORTS = (("result", "Newest result"), ("closing", "Closing next"), ("name", "Name"))

VIEWS = (("cards", "Cards"), ("table", "Table"))

ARRANGING = ("sort", "view")
"""Choices that leave nothing out."""

UNKNOWN = "“%(value)s” is none of the choices."
NO_DATE = "Give a date as 2026-01-31."

NO_EVENT = f"Give its name as recipes do: {EVENT_ALLOWED}."

EVENT_BOX = {"list": "events", "autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
"""The browser offers the names that are known."""

DAY = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})


def _asked_once(names: Callable[[], list[str]]) -> Callable[[], list[tuple[str, str]]]:
    """Choices that are read from the database when they are needed, and then kept with the form."""
    return cache(lambda: [("", "All"), *((one, one) for one in names())])


class FilterForm(forms.Form):
    """Each field is a parameter of the query string, and an argument of `overview_search`; words are a
    separate argument.
    """

    status = forms.ChoiceField(choices=STATUSES)
    statistic = forms.ChoiceField(choices=lambda: [("", "All"), *_titles()])
    population = forms.ChoiceField()
    event = forms.CharField(
        validators=[RegexValidator(rf"\A{EVENT_PATTERN.pattern}\Z", NO_EVENT, code="no_event")],
        strip=True,
        widget=forms.TextInput(EVENT_BOX),
    )
    since = forms.DateField(label="Published since", widget=DAY, input_formats=["%Y-%m-%d"])
    until = forms.DateField(label="Published until", widget=DAY, input_formats=["%Y-%m-%d"])
    owner = forms.ChoiceField()
    tag = forms.CharField(max_length=TAG_LENGTH, widget=forms.TextInput({"list": "tags"}))
    sort = forms.ChoiceField(label="Sort by", choices=SORTS)
    view = forms.ChoiceField(choices=VIEWS, widget=forms.HiddenInput)

    def __init__(self, query: QueryDict, reader: AbstractBaseUser | AnonymousUser) -> None:
        given = {name: query.get(name, "") for name in self.base_fields}
        super().__init__(given, auto_id="filter-%s", label_suffix="")
        for name, names in (("population", population_names), ("owner", owner_names)):
            self.fields[name].choices = _asked_once(names)  # type: ignore[attr-defined]  # a ChoiceField's
        # Owners and tags are an organization's own: they are in no public document.
        if not reader.is_authenticated:
            del self.fields["owner"], self.fields["tag"]
        if may_publish(reader):
            self.fields["status"].choices = (*STATUSES, DRAFTS)  # type: ignore[attr-defined]  # a ChoiceField's
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
        view: how the list is shown, one of `VIEWS`.
    """

    form: FilterForm
    text: str
    problems: list[tuple[str, str]]
    given: dict[str, Any]
    view: str

    @property
    def chosen(self) -> list[str]:
        """Every choice as "label value", in the form's order."""
        words = [f"search “{self.text}”"] if self.text else []
        return words + [
            f"{str(field.label).lower()} {dict(getattr(field.field, 'choices', ())).get(value, value)}"
            for field in self.form
            if field.name not in ARRANGING and (value := self.form.data.get(field.name))
        ]

    @property
    def more(self) -> bool:
        """Whether one of the folded choices is made."""
        return bool(self.given.keys() - {"text", "status", *ARRANGING})

    @property
    def narrowed(self) -> bool:
        """Whether the list is less than everything."""
        return bool(self.chosen)


def filters_of(query: QueryDict, reader: AbstractBaseUser | AnonymousUser) -> Filters:
    """The filters of a query string. Other parameters are ignored; a value that means nothing is
    a problem."""
    form, text = FilterForm(query, reader), text_of(query, "q")
    problems = [
        (str(form[name].label), str(message))
        for name, messages in form.errors.items()
        for message in messages
    ]
    given = {} if problems else {name: value for name, value in form.cleaned_data.items() if value}
    view = given.pop("view", VIEWS[0][0])
    return Filters(form, text, problems, given | {"text": text}, view)


def _titles() -> list[tuple[str, str]]:
    return [(name, statistic.title) for name, statistic in STATISTICS.items()]
