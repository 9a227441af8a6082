"""Pages of dashboards."""

import re
from typing import Any

from csp.decorators import csp_replace
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.clickjacking import xframe_options_exempt

from log.audit.access import signed_in_user
from pages.access import PublishersOnly
from pages.dashboards.access import may_change, may_read
from pages.dashboards.cards import edited_cards, shown_cards
from pages.dashboards.content import MOST_CARDS, TEXT_LENGTH
from pages.dashboards.forms import apply_action, card_named, typed_dashboard
from pages.dashboards.models import TITLE_LENGTH, Dashboard
from pages.dashboards.operations import (
    DashboardStateError,
    dashboard_add,
    dashboard_change,
    dashboard_create,
    dashboard_delete,
)
from pages.not_found import found, missing
from panprivacy.formats.errors import FieldError
from web.paging import numbered_page_of, text_of

PAGE_SIZE = 20

KEPT = "public, max-age=300"
"""For how long a browser or a proxy shows an embedded dashboard without asking."""


class DashboardListView(View):
    """Public dashboards, and all of them for accounts."""

    def get(self, request: HttpRequest) -> HttpResponse:
        rows = Dashboard.objects.select_related("owner")
        if not may_read(request.user):
            rows = rows.filter(public=True)
        return render(request, "dashboards/list.html", {"page": numbered_page_of(rows, request, PAGE_SIZE)})


class DashboardView(View):
    """One dashboard."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponseBase:
        dashboard = _dashboard(identifier)
        if not may_read(request.user, dashboard):
            return redirect_to_login(request.get_full_path())
        context = {
            "dashboard": dashboard,
            "cards": shown_cards(dashboard, request.user),
            "may_change": may_change(request.user, dashboard),
            "embedded": request.build_absolute_uri(reverse("dashboard-embed", args=[identifier])),
        }
        return render(request, "dashboards/dashboard.html", context)


@method_decorator(xframe_options_exempt, "dispatch")
@method_decorator(csp_replace({"frame-ancestors": ["*"]}), "dispatch")
class EmbeddedView(View):
    """A public dashboard in a frame of another site: links and drawings, without forms or an account."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        dashboard = _dashboard(identifier)
        if not dashboard.public:
            raise missing("dashboard")
        # The same for all readers, so that it can be kept.
        context = {"dashboard": dashboard, "cards": shown_cards(dashboard, AnonymousUser())}
        response = render(request, "dashboards/embedded.html", context)
        response["Cache-Control"] = KEPT
        # Pages of others may show it, also those that require an explicit permission.
        response["Cross-Origin-Resource-Policy"] = "cross-origin"
        return response


class NewDashboardView(PublishersOnly):
    """A new dashboard, without cards."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return render(request, "dashboards/new.html", {"length": TITLE_LENGTH})

    def post(self, request: HttpRequest) -> HttpResponse:
        title, public = request.POST.get("title", ""), "public" in request.POST
        try:
            made = dashboard_create(title=title, public=public, cards=[], actor=signed_in_user(request))
        except (FieldError, DashboardStateError) as error:
            context = {"length": TITLE_LENGTH, "title": title, "public": public, "problem": _words(error)}
            return render(request, "dashboards/new.html", context, status=422)
        return redirect("dashboard-edit", identifier=made.identifier)


class AddToDashboardView(PublishersOnly):
    """Add the result or the series that the address names to one of the account's dashboards."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return _adding(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        actor, chosen = signed_in_user(request), request.POST.get("dashboard", "")
        try:
            card = card_named(text_of(request.GET, "card"))
            if chosen:
                dashboard = _changeable(request, chosen)
                dashboard_add(dashboard=dashboard, card=card, actor=actor)
            else:
                title = request.POST.get("title", "")
                dashboard = dashboard_create(title=title, cards=[card], actor=actor)
        except (FieldError, DashboardStateError) as error:
            return _adding(request, _words(error))
        return redirect("dashboard", identifier=dashboard.identifier)


class EditDashboardView(PublishersOnly):
    """Its title, its readers, and its cards in their order."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        return _editing(request, _changeable(request, identifier))

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        dashboard, typed = _changeable(request, identifier), typed_dashboard(request.POST)
        action = request.POST.get("action", "save")
        try:
            place = apply_action(typed, action, request.POST.get("address", ""))
            dashboard_change(
                dashboard=dashboard,
                actor=signed_in_user(request),
                title=typed.title,
                public=typed.public,
                cards=typed.cards,
                version=typed.version,
            )
        except FieldError as error:
            shown = {"title": typed.title, "public": typed.public, "address": request.POST.get("address", "")}
            shown["cards"] = edited_cards(typed.cards[:MOST_CARDS], request.user)
            return _editing(request, dashboard, _words(error), status=422, **shown)
        except DashboardStateError as error:
            problem = f"Nothing was saved: {error}. This is what it holds."
            dashboard.refresh_from_db()
            return _editing(request, dashboard, problem, status=409)
        if action == "save":
            return redirect("dashboard", identifier=identifier)
        page = reverse("dashboard-edit", args=[identifier])
        return redirect(page if place < 0 else f"{page}#card-{place}")


class DeleteDashboardView(PublishersOnly):
    """Delete a dashboard."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        dashboard = _changeable(request, identifier)
        try:
            dashboard_delete(dashboard=dashboard, actor=signed_in_user(request))
        except DashboardStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Deleted. Its results and series stay.")
        return redirect("dashboards")


def _dashboard(identifier: str) -> Dashboard:
    return found(Dashboard.objects.select_related("owner"), "dashboard", identifier=identifier)


def _changeable(request: HttpRequest, identifier: str) -> Dashboard:
    dashboard = _dashboard(identifier)
    if not may_change(request.user, dashboard):
        raise PermissionDenied("Only its owner and administrators may change a dashboard.")
    return dashboard


def _editing(
    request: HttpRequest, dashboard: Dashboard, problem: str = "", status: int = 200, **typed: Any
) -> HttpResponse:
    context = {
        "dashboard": dashboard,
        "title": dashboard.title,
        "public": dashboard.public,
        "problem": problem,
        "most": MOST_CARDS,
        "length": TITLE_LENGTH,
        "text_length": TEXT_LENGTH,
        **typed,
    }
    context.setdefault("cards", edited_cards(dashboard.cards, request.user))
    return render(request, "dashboards/edit.html", context, status=status)


def _adding(request: HttpRequest, problem: str = "") -> HttpResponse:
    own = Dashboard.objects.filter(owner=signed_in_user(request))
    context = {"dashboards": own, "problem": problem, "length": TITLE_LENGTH}
    return render(request, "dashboards/add.html", context, status=422 if problem else 200)


def _words(error: Exception) -> str:
    """What is wrong, as a sentence: places count from 1."""
    if not isinstance(error, FieldError):
        return f"Nothing was saved: {error}."
    in_card = re.fullmatch(r"cards\[(\d+)\](?:\.(\w+))?", error.field)
    if in_card is None:
        return f"The {error.field} {error.message}."
    place, field = in_card.groups()
    return f"Card {int(place) + 1}: the {field or 'card'} {error.message}."
