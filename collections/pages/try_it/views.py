"""Pages on which the visitor's own browser is a device of a simulated recipe, and an intruder reads it."""

from datetime import datetime
from typing import Any

from axes.helpers import get_client_ip_address
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views import View

from pages.charts.shown import small_chart
from pages.not_found import missing
from pages.recipe.charts import release_chart
from pages.recipe.presentation import headline, release_of
from pages.try_it.built import program_address
from pages.words.certainty import certain_share, certainty
from panprivacy.formats import base64_text
from recipes.models import Recipe
from results.models import Release
from simulations import tries
from simulations.errors import SimulationRefusedError
from simulations.models import Simulation
from storage.signing_key import verification_key
from web.htmx import htmx_of
from web.numbers import at_most

OF_A_HUNDRED = 100


class Shown(View):
    """A page that is there only if the setting says so."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.TRY:
            raise Http404("PANAPP_TRY is not set")
        return super().dispatch(request, *args, **kwargs)


class TryItView(Shown):
    """What there is to try, and the button that begins."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _start(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            joined = tries.try_join(asker=str(get_client_ip_address(request)))
        except SimulationRefusedError as error:
            return _start(request, refused=str(error))
        return redirect("try", identifier=joined.recipe.identifier)


class TryView(Shown):
    """One try: the device of this browser, and in the end the result."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        simulation = tries.try_of(identifier)
        if simulation is None:
            raise missing("recipe")
        now = timezone.now()
        context = _result(simulation, now)
        partial = bool(htmx_of(request))
        if partial and request.GET.get("shown") == context["stage"]:
            return HttpResponse(status=204)
        template = "try_it/_result.html" if partial else "try_it/try.html"
        if not partial:
            key = base64_text.encode(verification_key().public_bytes_raw())
            context |= {"key": key, "program": program_address("try"), **_promises()}
        response = render(request, template, context)
        response["Vary"] = "HX-Request, Cookie"
        return response


class IntruderView(Shown):
    """What an intruder finds in this browser's storage."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return render(request, "try_it/intruder.html", {"program": program_address("intruder")})


def _start(request: HttpRequest, refused: str = "") -> HttpResponse:
    context = {
        "program": program_address("try"),
        "refused": refused,
        "devices": tries.DEVICES,
        "steps": tries.STEPS,
        "step_seconds": tries.STEP_SECONDS,
        "lead_seconds": int(tries.LEAD.total_seconds()),
        "apart_seconds": int(tries.APART.total_seconds()),
        **_promises(),
    }
    return render(request, "try_it/start.html", context, status=429 if refused else 200)


def _promises() -> dict[str, Any]:
    """Of 100 devices on which it happened, and of 100 others, how many report it; how sure a reader gets from
    one report; and by how many devices it moves the total: 1 / (2p - 1) if a device reports the truth with
    probability p."""
    share = certain_share(tries.EPSILON)
    yes = round(OF_A_HUNDRED * share)
    return {
        "yes": yes,
        "others": OF_A_HUNDRED - yes,
        "hundred": range(OF_A_HUNDRED),
        "certainty": certainty(tries.EPSILON),
        "moves": at_most(1 / (2 * share - 1)),
    }


def _result(simulation: Simulation, now: datetime) -> dict[str, Any]:
    """How far the try is. A count of reports would reveal whose has just come: it is shown once all have."""
    recipe = simulation.recipe
    release = release_of(recipe)
    if release is not None:
        stage = "released" if release.outcome == Release.Outcome.RELEASED else "withheld"
    elif recipe.status == Recipe.Status.CLOSED or (recipe.closes_at and now >= recipe.closes_at):
        stage = "summing"
    else:
        stage = "collecting"
    context: dict[str, Any] = {
        "recipe": recipe,
        "release": release,
        "stage": stage,
        "ended": release is not None,
        "devices": simulation.devices,
    }
    if release is not None and stage == "released":
        counted = tries.simulated_devices(simulation)
        context |= {
            "counted": counted,
            "headline": headline(recipe, release),
            "chart": small_chart(release_chart(recipe, release, None), "result"),
            "browsers": max(0, (release.reports or 0) - counted.reported),
        }
    return context
