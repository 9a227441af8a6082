"""Pages on which analysts begin with a goal."""

from functools import partial

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from pages.access import PublishersOnly
from pages.new.forms import goal_form_class, review_address
from pages.new.goals import GOALS, Goal
from pages.publish.forms import recipe_form_class
from pages.publish.views import Shown, filled_in, form_answer, form_page
from panprivacy.statistics.catalogue import statistic_class


class GoalsView(PublishersOnly):
    """What do you want to know?"""

    def get(self, request: HttpRequest) -> HttpResponse:
        return render(request, "new/goals.html", {"goals": GOALS.values()})


class GoalView(PublishersOnly):
    """The form of one goal."""

    def get(self, request: HttpRequest, goal: str) -> HttpResponse:
        chosen = _goal(goal)
        # The preview does without what only the analyst can write.
        form = goal_form_class(chosen)()
        repeated = {name: form.fields[name].initial for name in form.repeated}
        if "segments" in chosen.fields:
            repeated["segments"] = "1\n2"
        expected = filled_in(recipe_form_class(statistic_class(chosen.statistic)), repeated)
        return form_page(request, form, expected, _shown(chosen))

    def post(self, request: HttpRequest, goal: str) -> HttpResponse:
        chosen = _goal(goal)
        return form_answer(request, goal_form_class(chosen), _shown(chosen))


def _goal(key: str) -> Goal:
    if key not in GOALS:
        raise Http404(f"There is no goal {key}; there are {', '.join(GOALS)}.")
    return GOALS[key]


def _shown(goal: Goal) -> Shown:
    return Shown(title=goal.question, lead=goal.lead, review=partial(review_address, goal))
