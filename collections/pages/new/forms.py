"""The form of a goal: that of its statistic, with what the goal needs in view."""

from copy import deepcopy
from typing import cast

from django.urls import reverse
from django.utils.http import urlencode

from pages.new.goals import Goal
from pages.publish.forms import RecipeForm, recipe_form_class
from pages.series.forms import SeriesForm
from panprivacy.recipe.parts.bundle import FIELD as BUNDLE
from panprivacy.statistics.catalogue import statistic_class
from recipes.models import Recipe
from recipes.operations import draft_repetition_keep

WEEKS = 8
"""Rounds of a goal that is asked every week, to start with."""

HELP = {
    "question": "The title of the public page.",
    "segments": "One per line. The first is what others are compared with.",
    "population_size": "Your estimate, for the preview.",
    "cohort_size": "With fewer reports, nothing is released.",
    "epsilon": "A smaller one protects devices more and makes the result less precise.",
    "event": "As developers call it, for example crash or form.opened.",
    "dimension": "Numbers in the update of a device.",
    "labels": "One per line.",
    "steps": "Then it reports once.",
}
"""Shorter than in the form of a statistic: one line each."""


def goal_form_class(goal: Goal) -> type[RecipeForm]:
    """The form of a goal. Its fields have the names that the statistic's form gives them."""
    repeated = ("every", "rounds") if goal.weekly else ()
    base = recipe_form_class(statistic_class(goal.statistic))
    trusted = [name for name in ("trust", BUNDLE) if name in base.base_fields]
    own = {"simple": (*goal.fields, *repeated, *trusted), "repeated": repeated}
    form = cast("type[RecipeForm]", type("GoalForm", (base,), own))
    form.base_fields = deepcopy(base.base_fields)
    for name in repeated:
        form.base_fields[name] = deepcopy(SeriesForm.base_fields[name])
    if goal.weekly:
        form.base_fields["rounds"].initial = WEEKS
        form.base_fields["rounds"].help_text = "The budget of all of them is reserved."
    for name in goal.fields:
        form.base_fields[name].help_text = HELP.get(name, form.base_fields[name].help_text)
        form.base_fields[name].label = goal.labels.get(name, form.base_fields[name].label)
    for name in goal.required:
        form.base_fields[name].required = True
    return form


def review_address(goal: Goal, draft: Recipe, form: RecipeForm) -> str:
    """Of the page that shows all that will be public, and publishes it."""
    if not goal.weekly:
        return reverse("recipe-draft", args=[draft.pk])
    chosen = {name: form[name].value() for name in form.repeated}
    draft_repetition_keep(recipe=draft, repetition={name: form.cleaned_data[name] for name in chosen})
    return f"{reverse('draft-series', args=[draft.pk])}?{urlencode({'preview': 1, **chosen})}"
