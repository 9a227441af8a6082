"""Results side by side: chosen in the address, so that a comparison is a link."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import View

from pages.charts.shown import shown_chart
from pages.compare.charts import difference_chart, results_chart
from pages.compare.presentation import choices_of, comparison_query, shown_results
from pages.recipe.presentation import level_percent
from panprivacy.formats.errors import FieldError
from recipes.models import Recipe
from results.comparison_exports import comparison_csv, level_of
from results.comparisons import (
    MOST,
    comparable_with,
    latest_results,
    recipes_to_compare,
    results_compare,
    segment_to_compare,
)


class CompareView(View):
    """Two results or more, each with the first; below that, what there is to choose from."""

    def get(self, request: HttpRequest) -> HttpResponse:
        chosen = request.GET.getlist("recipe")
        context: dict[str, Any] = {"most": MOST}
        recipes: list[Recipe] = []
        segment = ""
        try:
            recipes = recipes_to_compare(request.user, chosen, least=0)
            segment = segment_to_compare(recipes, request.GET.get("segment", ""))
        except FieldError as error:
            context["problem"] = f"This cannot be compared: a {error.field} {error.message}."
        context |= _comparison(recipes, segment) if len(recipes) > 1 else {}
        if len(recipes) < MOST:
            comparable = comparable_with(request.user, recipes[0]) if recipes else []
            context["choices"] = choices_of(comparable, latest_results(request.user), recipes)
        context |= {"chosen": recipes, "segment": segment}
        context["segments"] = recipes[0].published.segments if recipes else ()
        return render(request, "compare/compare.html", context, status=422 if "problem" in context else 200)


class ComparisonCsvView(View):
    """The comparison as CSV, exact."""

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            recipes = recipes_to_compare(request.user, request.GET.getlist("recipe"))
            segment = segment_to_compare(recipes, request.GET.get("segment", ""))
        except FieldError as error:
            raise Http404(f"{error}.") from None
        content = comparison_csv(results_compare(recipes, segment), segment)
        response = HttpResponse(content, content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="comparison.csv"'
        return response


def _comparison(recipes: list[Recipe], segment: str) -> dict[str, Any]:
    names = [str(recipe.identifier) for recipe in recipes]
    compared = results_compare(recipes, segment)
    level = level_of(compared)
    results, differences = results_chart(compared, segment), difference_chart(compared)
    return {
        "results": shown_results(compared, segment),
        "level": "" if level is None else level_percent(level),
        "in_points": any(one.change and one.change.shares for one in compared),
        "results_chart": None if results is None else shown_chart(results, "results"),
        "chart": None if differences is None else shown_chart(differences, "differences"),
        "everybody": comparison_query(names),
        "query": comparison_query(names, segment),
    }
