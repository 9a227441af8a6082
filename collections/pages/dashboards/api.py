"""Dashboards for programs, by the operations that the pages call."""

from typing import Any, ClassVar

from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from pages.dashboards.access import may_change
from pages.dashboards.cards import readable_cards
from pages.dashboards.content import FIELDS, MOST_CARDS, TEXT_LENGTH
from pages.dashboards.models import TITLE_LENGTH, Dashboard
from pages.dashboards.operations import (
    DashboardStateError,
    dashboard_change,
    dashboard_create,
    dashboard_delete,
)
from pages.dashboards.scopes import DASHBOARDS_READ, DASHBOARDS_WRITE
from web.openapi import CURSOR, example, problem_response
from web.paging import api_results
from web.problems import Problem, row_found
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer, OpenSerializer, paged

EXAMPLE = {
    "title": "Crashes of the week",
    "public": False,
    "cards": [
        {"type": "text", "text": "What to read first."},
        {"type": "series", "series": "0123456789abcdef", "title": "Crash rate by week"},
    ],
}

REFUSED = problem_response("A field is missing, unknown or out of range; `field` names it.")
NOT_OWN = problem_response("It belongs to another account.")


class CardSerializer(OpenSerializer):
    """One card: what it has besides `type` depends on that."""

    type = serializers.ChoiceField(choices=list(FIELDS))
    recipe = serializers.CharField(
        required=False, max_length=64, help_text="Of a `result`: identifier of the published recipe."
    )
    series = serializers.CharField(required=False, max_length=16, help_text="Of a `series`: its identifier.")
    title = serializers.CharField(
        required=False,
        max_length=TITLE_LENGTH,
        help_text="Of a `result` or a `series`; if it is left out, the question is shown.",
    )
    text = serializers.CharField(
        required=False,
        max_length=TEXT_LENGTH,
        help_text="Of a `text`: paragraphs with empty lines between them. Nothing in it is markup.",
    )


class DashboardChangeSerializer(ExactSerializer):
    most_bytes = 2 * 1024 * 1024

    title = serializers.CharField(max_length=TITLE_LENGTH, required=False)
    public = serializers.BooleanField(
        required=False, help_text="Whether everyone may read it; else accounts of this site. Default: false."
    )
    cards = serializers.ListField(
        child=CardSerializer(), max_length=MOST_CARDS, required=False, help_text="In their order."
    )


class DashboardContentSerializer(DashboardChangeSerializer):
    title = serializers.CharField(max_length=TITLE_LENGTH)
    cards = serializers.ListField(child=CardSerializer(), max_length=MOST_CARDS, help_text="In their order.")


class DashboardSummarySerializer(serializers.Serializer[Dashboard]):
    id = serializers.CharField(source="identifier", help_text="16 hexadecimal digits.")
    title = serializers.CharField(max_length=TITLE_LENGTH)
    public = serializers.BooleanField()
    owner = serializers.CharField(source="owner.username")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    page = serializers.SerializerMethodField(help_text="Address of its page.")

    def get_page(self, dashboard: Dashboard) -> str:
        return reverse("dashboard", args=[dashboard.identifier])


class DashboardSerializer(DashboardSummarySerializer):
    cards = serializers.SerializerMethodField(help_text="In their order, without what you may not see.")

    @extend_schema_field(CardSerializer(many=True))
    def get_cards(self, dashboard: Dashboard) -> Any:
        return readable_cards(dashboard, self.context["reader"])


class DashboardListView(APIView):
    """Every dashboard, newest first."""

    scopes: ClassVar[Scopes] = {"GET": DASHBOARDS_READ, "POST": DASHBOARDS_WRITE}

    @extend_schema(
        summary="List dashboards",
        operation_id="dashboards_list",
        responses=paged(DashboardSummarySerializer),
        parameters=[CURSOR],
    )
    def get(self, request: Request) -> Response:
        rows = Dashboard.objects.select_related("owner")
        return Response(api_results(rows, request, DashboardSummarySerializer))

    @extend_schema(
        summary="Make a dashboard",
        description="It holds identifiers and texts, and shows what their own pages show to its reader.",
        operation_id="dashboard_create",
        request=DashboardContentSerializer,
        responses={
            201: OpenApiResponse(DashboardSerializer, "The dashboard; `Location` is its address."),
            400: REFUSED,
            409: problem_response("The account has as many as it may."),
        },
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request) -> Response:
        asked = DashboardContentSerializer.read(request)
        with as_problems(conflicts=DashboardStateError):
            made = dashboard_create(actor=signed_in_user(request._request), **asked)
        location = reverse("api-dashboard", args=[made.identifier])
        return Response(_document(made, request), status=201, headers={"Location": location})


class DashboardView(APIView):
    """One dashboard. Its owner and administrators change it."""

    scopes: ClassVar[Scopes] = {
        "GET": DASHBOARDS_READ,
        "PUT": DASHBOARDS_WRITE,
        "PATCH": DASHBOARDS_WRITE,
        "DELETE": DASHBOARDS_WRITE,
    }

    @extend_schema(summary="Fetch one dashboard", operation_id="dashboard", responses=DashboardSerializer)
    def get(self, request: Request, dashboard: str) -> Response:
        return Response(_document(_dashboard(dashboard), request))

    @extend_schema(
        summary="Replace a dashboard",
        operation_id="dashboard_replace",
        request=DashboardContentSerializer,
        responses={200: DashboardSerializer, 400: REFUSED, 403: NOT_OWN},
        examples=example(EXAMPLE, request_only=True),
    )
    def put(self, request: Request, dashboard: str) -> Response:
        return _changed(request, dashboard, {"public": False, **DashboardContentSerializer.read(request)})

    @extend_schema(
        summary="Change fields of a dashboard",
        operation_id="dashboard_change",
        request=DashboardChangeSerializer,
        responses={200: DashboardSerializer, 400: REFUSED, 403: NOT_OWN},
        examples=example({"public": True}, request_only=True),
    )
    def patch(self, request: Request, dashboard: str) -> Response:
        return _changed(request, dashboard, DashboardChangeSerializer.read(request))

    @extend_schema(
        summary="Delete a dashboard",
        operation_id="dashboard_delete",
        responses={204: OpenApiResponse(description="It is deleted. What it showed stays."), 403: NOT_OWN},
    )
    def delete(self, request: Request, dashboard: str) -> Response:
        own = _changeable(request, dashboard)
        with as_problems(conflicts=DashboardStateError):
            dashboard_delete(dashboard=own, actor=signed_in_user(request._request))
        return Response(status=204)


def _document(dashboard: Dashboard, request: Request) -> dict[str, Any]:
    return dict(DashboardSerializer(dashboard, context={"reader": request.user}).data)


def _dashboard(identifier: str) -> Dashboard:
    rows = Dashboard.objects.select_related("owner")
    return row_found(rows, "No dashboard has this identifier.", identifier=identifier)


def _changeable(request: Request, identifier: str) -> Dashboard:
    dashboard = _dashboard(identifier)
    if not may_change(request.user, dashboard):
        detail = "Only its owner and administrators may change a dashboard."
        raise Problem("forbidden", "This is not allowed", 403, detail)
    return dashboard


def _changed(request: Request, identifier: str, asked: dict[str, Any]) -> Response:
    own = _changeable(request, identifier)
    with as_problems(conflicts=DashboardStateError):
        changed = dashboard_change(dashboard=own, actor=signed_in_user(request._request), **asked)
    return Response(_document(changed, request))
