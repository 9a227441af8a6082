"""Pages about announced intrusions: announce one, and show what was seen."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from log.audit.access import signed_in_user
from pages.access import AnnouncersOnly
from pages.not_found import found, readable, visible
from pages.recipe.seen_states import arrays_seen
from pages.recipe.stream_section import looks_shown, wonders
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.streams.state import StreamState
from recipes.models import Recipe
from recipes.numbers import numbers_of
from streams.errors import IntrusionRefusedError, StreamLostError
from streams.models import AnnouncedIntrusion
from streams.operations import REASON_LENGTH, intrusion_announce
from streams.selectors import intrusions_left, intrusions_of, seen_bytes


class ReasonForm(forms.Form):
    """Why an intrusion is announced."""

    reason = forms.CharField(
        max_length=REASON_LENGTH,
        help_text="For the audit log, with your name, e.g. a file number or court order. Not public.",
    )
    number = forms.IntegerField(required=False, widget=forms.HiddenInput)


class AnnounceView(AnnouncersOnly):
    """Read the state on purpose, after a page that states what this costs."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        return self._page(request, identifier, None)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        _stream_recipe(request, identifier)
        form = ReasonForm(request.POST)
        if not form.is_valid():
            return self._page(request, identifier, form, status=422)
        try:
            intrusion = intrusion_announce(
                identifier=identifier,
                actor=signed_in_user(request),
                reason=form.cleaned_data["reason"],
                number=form.cleaned_data["number"],
                now=timezone.now(),
            )
        except FieldError as error:
            form.add_error("reason", sentence(error.message))
            return self._page(request, identifier, form, status=422)
        except (IntrusionRefusedError, StreamLostError) as error:
            messages.info(request, f"Nothing was read or changed: {error}.")
            return redirect("recipe-privacy", identifier=identifier)
        messages.success(request, "Announced. Below is what was seen. Everything has been randomized again.")
        return redirect("recipe-intrusion", identifier=identifier, number=intrusion.number)

    def _page(
        self, request: HttpRequest, identifier: str, form: ReasonForm | None, status: int = 200
    ) -> HttpResponse:
        recipe = _stream_recipe(request, identifier)
        statistic, made = statistic_as(recipe.published, StreamStatistic), intrusions_of(identifier).count()
        left = intrusions_left(recipe.published)
        if recipe.status != Recipe.Status.PUBLISHED or left < 1:
            reason = "the recipe is closed" if left > 0 else "the recipe allows no more"
            messages.info(request, f"No intrusion can be announced: {reason}.")
            return redirect("recipe-privacy", identifier=identifier)
        numbers = numbers_of(recipe)
        before, after = looks_shown(statistic, numbers, made)[made : made + 2]
        context = {
            "recipe": recipe,
            "form": form or ReasonForm(initial={"number": made + 1}),
            "unit": statistic.unit,
            "wonders": wonders(numbers),
            "before": before,
            "after": after,
            "left": left,
        }
        return render(request, "recipe/announce.html", context, status=status)


class SeenView(AnnouncersOnly):
    """What was seen at one announced intrusion."""

    def get(self, request: HttpRequest, identifier: str, number: int) -> HttpResponse:
        recipe, intrusion = _stream_recipe(request, identifier), _intrusion(identifier, number)
        seen = _seen(intrusion)
        statistic = statistic_as(recipe.published, StreamStatistic)
        context = {
            "recipe": recipe,
            "intrusion": intrusion,
            "arrays": arrays_seen(StreamState.from_bytes(seen), statistic.fixed_point),
            # The number of announcements that precede this one.
            "bits": looks_shown(statistic, numbers_of(recipe), number - 1)[number - 1],
            "bytes": len(seen),
        }
        return render(request, "recipe/seen.html", context)


class SeenFileView(AnnouncersOnly):
    """The same as it was read, every array in full."""

    def get(self, request: HttpRequest, identifier: str, number: int) -> HttpResponse:
        intrusion = _intrusion(identifier, number)
        response = HttpResponse(_seen(intrusion), content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="state-{identifier[:12]}-{number}.bin"'
        return response


def _stream_recipe(request: HttpRequest, identifier: str) -> Recipe:
    recipe = readable(visible(request, found(Recipe.objects.all(), "recipe", identifier=identifier)))
    if recipe.published.servers.report_format is not None:
        raise Http404("There is no state of such a recipe here.")
    return recipe


def _seen(intrusion: AnnouncedIntrusion) -> bytes:
    seen = seen_bytes(intrusion)
    if seen is None:
        raise Http404("What was seen is lost: the server stopped before storing it.")
    return seen


def _intrusion(identifier: str, number: int) -> AnnouncedIntrusion:
    return get_object_or_404(intrusions_of(identifier), number=number)
