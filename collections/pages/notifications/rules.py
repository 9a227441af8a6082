"""Rules on pages: a form on what is watched, one's own rules, and when they fired."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode

from log.audit.access import signed_in_user
from notifications.kinds import RULE_FIRED
from notifications.models import Check, Rule
from notifications.operations import NotificationStateError
from notifications.rules import (
    FALSE_ALARMS,
    USUAL_ROUNDS,
    Subject,
    firings_of,
    results_counted,
    rule_create,
    rule_delete,
    rule_sentence,
    rules_of,
    subject_of,
)
from notifications.selectors import subscriptions_of
from pages.account.views import OwnView
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.series import MOST_ROUNDS
from recipes.models import Recipe
from series.models import Series
from series.selectors import rounds_in_all

COHORT = "cohort"
"""The choice of a form that the API spells as `below` without a value."""

WHENS = (
    (Rule.When.ABOVE.value, "A result is above a value"),
    (Rule.When.BELOW.value, "A result is below a value"),
    (Rule.When.CHANGED.value, "A result differs from the one before"),
    (COHORT, "A result is missing: too few devices reported"),
)

MOST_FIRINGS = 10
"""The newest of a rule, on a page."""


@dataclass(frozen=True)
class RuleShown:
    """One of the reader's own rules.

    Attributes:
        firings: the newest.
        compared: number of results with which it was compared.
        unknown: number of those in which there was nothing to compare.
    """

    rule: Rule
    sentence: str
    firings: Sequence[Check]
    compared: int
    unknown: int


class RuleForm(forms.Form):
    """A new rule: at most four fields."""

    prefix = "rule"

    when = forms.ChoiceField()
    value = forms.FloatField(required=False)
    over_rounds = forms.IntegerField(
        label="Rounds",
        min_value=1,
        max_value=MOST_ROUNDS,
        help_text="Over this number of rounds, the probability of a false alarm is at most "
        f"{FALSE_ALARMS:.0%}. With more rounds, only larger changes fire.",
    )

    def __init__(self, *args: Any, subject: Subject, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.subject = subject
        whens = dict(WHENS)
        if subject.series is not None:
            self.fields["over_rounds"].initial = min(USUAL_ROUNDS, rounds_in_all(subject.series))
        else:
            del whens[Rule.When.CHANGED.value], self.fields["over_rounds"]
        self.fields["when"] = forms.ChoiceField(label="When", choices=list(whens.items()))
        self.fields["value"].label = f"Value in {subject.unit_of('') or '% of devices'}"
        self.fields["value"].or_else = "for “above” and “below”"  # type: ignore[attr-defined]  # read by field.html
        if subject.segments:
            everything = "Every segment" if subject.unit else "All devices and every segment"
            choices = [("", everything), *((one, one) for one in subject.segments)]
            self.fields["segment"] = forms.ChoiceField(label="Segment", choices=choices, required=False)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        needed = cleaned.get("when") in (Rule.When.ABOVE, Rule.When.BELOW)
        if needed and cleaned.get("value") is None and "value" not in self.errors:
            self.add_error("value", "Fill it in: a result is compared with it.")
        return cleaned

    def asked(self) -> dict[str, Any]:
        """The arguments of `rule_create`."""
        data = self.cleaned_data
        when, value, segment = data["when"], data["value"], data.get("segment", "")
        if when == COHORT:
            when, value = Rule.When.BELOW.value, None
        elif when == Rule.When.CHANGED:
            value = None
        if value is not None and not self.subject.unit_of(segment):
            value /= 100
            if not 0 <= value <= 1:
                raise FieldError("value", "must be from 0 to 100%")
        return {"when": when, "value": value, "segment": segment, "over_rounds": data.get("over_rounds")}


class RuleView(OwnView):
    """A new rule, on a series or a recipe that the query names."""

    def get(self, request: HttpRequest) -> HttpResponse:
        subject = _subject(request)
        return _page(request, subject, RuleForm(subject=subject))

    def post(self, request: HttpRequest) -> HttpResponse:
        subject = _subject(request)
        form = RuleForm(request.POST, subject=subject)
        if form.is_valid():
            try:
                made = rule_create(user=signed_in_user(request), subject=subject, **form.asked())
            except FieldError as error:
                form.add_error(error.field if error.field in form.fields else None, sentence(error.message))
            except NotificationStateError as error:
                form.add_error(None, sentence(str(error)))
            else:
                messages.success(request, f"You have a new rule. {rule_sentence(made)}")
                return redirect("notifications")
        return _page(request, subject, form, status=422)


class RuleDeleteView(OwnView):
    """End a rule."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, rule: str) -> HttpResponse:
        rule_delete(rule=get_object_or_404(rules_of(signed_in_user(request)), identifier=rule))
        messages.success(request, "The rule is deleted.")
        return redirect("notifications")


def rules_context(
    request: HttpRequest, *, series: Series | None = None, recipe: Recipe | None = None
) -> dict[str, Any]:
    """What the page of a series or a recipe shows of rules: a form, the reader's own rules, and which of them
    fired at this recipe. Nothing to readers that are not signed in."""
    if not request.user.is_authenticated:
        return {}
    own = rules_of(request.user)
    context: dict[str, Any] = {"may_have_rules": True, "fired_here": []}
    if recipe is not None:
        fired = own.filter(checks__recipe=recipe, checks__state=Check.State.FIRED)
        context["fired_here"] = [rule_sentence(rule) for rule in fired]
    context["rules"] = rules_shown(own.filter(recipe=recipe) if series is None else own.filter(series=series))
    try:
        subject = subject_of(**_named(series, recipe))
    except FieldError:
        return context  # all of its results are there, or cannot be compared
    return context | _form_context(request, subject, RuleForm(subject=subject))


def rules_shown(rules: QuerySet[Rule]) -> list[RuleShown]:
    """Rules of one account, with their firings."""
    found = list(rules)
    firings, counted = firings_of(found, MOST_FIRINGS), results_counted(found)
    return [
        RuleShown(rule, rule_sentence(rule), firings[rule.pk], *counted.get(rule.pk, (0, 0)))
        for rule in found
    ]


def _page(request: HttpRequest, subject: Subject, form: RuleForm, status: int = 200) -> HttpResponse:
    context = {"subject": subject, **_form_context(request, subject, form)}
    return render(request, "notifications/rule.html", context, status=status)


def _form_context(request: HttpRequest, subject: Subject, form: RuleForm) -> dict[str, Any]:
    """The form, and whether a subscription of the reader is notified when a rule fires."""
    active = subscriptions_of(signed_in_user(request)).filter(confirmed_at__isnull=False, disabled_at=None)
    return {
        "rule_form": form,
        "rule_query": urlencode(_named(subject.series, subject.recipe)),
        "rules_sent": any(RULE_FIRED.name in one.events for one in active),
    }


def _named(series: Series | None, recipe: Recipe | None) -> dict[str, str]:
    if series is not None:
        return {"series": series.identifier}
    return {} if recipe is None else {"recipe": str(recipe.identifier)}


def _subject(request: HttpRequest) -> Subject:
    try:
        return subject_of(series=request.GET.get("series"), recipe=request.GET.get("recipe"))
    except FieldError as error:
        raise Http404(str(error)) from None
