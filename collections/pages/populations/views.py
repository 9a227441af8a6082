"""Pages of the ledger: every population, one with its book, and the form for administrators."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views import View

from ledger.access import may_change_populations
from ledger.exports import book_csv, book_document
from ledger.models import Population
from ledger.operations import population_change, population_create
from ledger.selectors import (
    balance_of,
    balances_of,
    conditions_of,
    lines_of,
    populations_list,
    spendings_list,
)
from log.audit.access import may_read_log, signed_in_user
from pages.access import AdministratorsOnly
from pages.charts.shown import shown_chart
from pages.not_found import found
from pages.populations.charts import spending_chart
from pages.populations.forms import PopulationForm
from pages.populations.sentences import event_in_words, left_sentence
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.targeting.attributes import NO_ATTRIBUTES
from recipes.selectors import names_of
from series.selectors import series_of_subjects
from web.paging import page_of

POPULATIONS = 20
LINES = 50
CHART_LINES = 200


class PopulationsView(View):
    """Every population: budget, what is spent, what is left."""

    def get(self, request: HttpRequest) -> HttpResponse:
        page = page_of(populations_list(), request, POPULATIONS)
        context = {
            "page": page,
            "balances": [(balance, left_sentence(balance)) for balance in balances_of(page.rows)],
            "may_change": may_change_populations(request.user),
        }
        return render(request, "populations/populations.html", context)


class PopulationView(View):
    """One population: its state, spending over time, what each recipe cost."""

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        population = found(Population.objects.all(), "population", name=name)
        balance = balance_of(population)
        page = page_of(spendings_list(population), request, LINES)
        recent = list(spendings_list(population)[:CHART_LINES])
        # One question: of all lines that the page and the chart show.
        lines = lines_of(balance, [*page.rows, *recent])
        shown, drawn = lines[: len(page.rows)], lines[len(page.rows) :]
        names = names_of(line.recipe for line in shown)
        reserved = series_of_subjects(line.recipe for line in shown)
        context: dict[str, Any] = {
            "population": population,
            "balance": balance,
            "left": left_sentence(balance),
            "page": page,
            "lines": [
                (line, names.get(line.recipe, ""), reserved.get(line.recipe), event_in_words(line.event))
                for line in shown
            ],
            "conditions": conditions_of(population),
            "may_change": may_change_populations(request.user),
            "may_read_log": may_read_log(request.user),
        }
        if recent:
            context["chart"] = shown_chart(spending_chart(balance, drawn, timezone.now()), "spending")
            context["chart_is_cut"] = len(recent) == CHART_LINES
        context["computing"] = balance.readable and not (
            balance.complete and all(line.computed for line in shown)
        )
        return render(request, "populations/population.html", context)


class BookExportView(View):
    """The whole book as CSV or JSON, exact."""

    def get(self, request: HttpRequest, name: str, form: str) -> HttpResponse:
        population = found(Population.objects.all(), "population", name=name)
        balance = balance_of(population)
        lines = lines_of(balance, list(spendings_list(population)))
        response: HttpResponse
        if form == "csv":
            response = HttpResponse(book_csv(balance, lines), content_type="text/csv; charset=utf-8")
        else:
            document = book_document(balance, lines)
            response = JsonResponse(document, json_dumps_params={"indent": 2, "ensure_ascii": False})
        response["Content-Disposition"] = f'attachment; filename="population-{name}.{form}"'
        return response


class NewPopulationView(AdministratorsOnly):
    """Make a population."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _form_page(request, PopulationForm(), None)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = PopulationForm(request.POST)
        if form.is_valid():
            try:
                population = population_create(
                    name=form.cleaned_data["name"],
                    description=form.cleaned_data["description"],
                    budget=form.budget,
                    four_eyes=bool(form.asked_four_eyes),
                    attributes=form.cleaned_data["attributes"] or NO_ATTRIBUTES,
                    actor=signed_in_user(request),
                )
            except FieldError as error:
                form.add_field_error(error)
            else:
                messages.success(request, "The population is made. Recipes can name it from now on.")
                return redirect("population", name=population.name)
        return _form_page(request, form, None, status=422)


class PopulationEditView(AdministratorsOnly):
    """Change description or budget."""

    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        population = found(Population.objects.all(), "population", name=name)
        return _form_page(request, PopulationForm(population=population), population)

    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        population = found(Population.objects.all(), "population", name=name)
        form = PopulationForm(request.POST, population=population)
        if form.is_valid():
            try:
                changed = population_change(
                    population=population,
                    description=form.cleaned_data["description"],
                    budget=form.budget,
                    four_eyes=form.asked_four_eyes,
                    attributes=form.cleaned_data["attributes"],
                    actor=signed_in_user(request),
                )
            except FieldError as error:
                form.add_field_error(error)
            else:
                if balance_of(changed).overspent:
                    messages.warning(
                        request, "Saved. More is spent than this budget: nothing more can be published."
                    )
                else:
                    messages.success(request, "Saved.")
                return redirect("population", name=name)
        return _form_page(request, form, population, status=422)


def _form_page(
    request: HttpRequest, form: PopulationForm, population: Population | None, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "population": population}
    if population is not None:
        context["balance"] = balance_of(population)
    return render(request, "populations/form.html", context, status=status)
