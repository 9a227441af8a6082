"""The public read API of the ledger."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.exports import line_document, standing_document
from ledger.models import Population
from ledger.selectors import lines_of, populations_list, spendings_list, standing_of, standings_of

PAGE_SIZE = 100

UNKNOWN = (
    "Null where no ε is promised at this δ, where it could not be computed in time (ask again), or where "
    "another version of the server wrote an event."
)

CURSOR = OpenApiParameter("cursor", int, description="Taken from the `next` of the page before.")


class PopulationSerializer(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField()
    description = serializers.CharField()
    model = serializers.CharField(help_text="Always aggregator: someone who reads only combined results.")
    relation = serializers.CharField(help_text="Always replace: one device's whole history for another.")
    delta = serializers.FloatField(help_text="δ of every ε here: the budget's, or 1e-6 without a budget.")
    budget = serializers.FloatField(allow_null=True, help_text="ε; null where there is no budget.")
    spent = serializers.FloatField(
        allow_null=True, help_text=f"ε of all unreturned recipes together. {UNKNOWN}"
    )
    left = serializers.FloatField(
        allow_null=True, help_text="Budget less spent, never below 0; null where one is."
    )
    spent_if_half_colludes = serializers.FloatField(
        allow_null=True, help_text="The same for a reader with whom half of every cohort colludes."
    )
    recipes = serializers.IntegerField(help_text="Number of recipes that spent and were not returned.")


class PopulationListSerializer(serializers.Serializer[dict[str, Any]]):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")
    results = PopulationSerializer(many=True)


class SpendingSerializer(serializers.Serializer[dict[str, Any]]):
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(
        choices=("spent", "returned"), help_text="Returned: closed with nothing released."
    )
    recipe = serializers.CharField(help_text="Identifier of the recipe.")
    epsilon_alone = serializers.FloatField(allow_null=True, help_text=f"ε of this recipe alone. {UNKNOWN}")
    epsilon_composed = serializers.FloatField(
        allow_null=True, help_text=f"ε of all recipes together after this line. {UNKNOWN}"
    )
    delta = serializers.FloatField()
    returned_at = serializers.DateTimeField(allow_null=True)
    event = serializers.DictField(help_text="The privacy event, from which every ε is computed.")
    condition = serializers.CharField(
        help_text="What the event relies on, as a clause; empty where it holds as it is."
    )


class PopulationDetailSerializer(PopulationSerializer):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page of lines, or null.")
    spendings = SpendingSerializer(many=True, help_text="Lines of the book, newest first.")


class PopulationListView(APIView):
    """Populations, newest first, with budget and spending."""

    @extend_schema(
        summary="List populations",
        responses=PopulationListSerializer,
        operation_id="populations_list",
        parameters=[CURSOR],
    )
    def get(self, request: Request) -> Response:
        rows = list(populations_list(before=_cursor(request))[: PAGE_SIZE + 1])
        results = [standing_document(standing) for standing in standings_of(rows[:PAGE_SIZE])]
        return Response({"next": _next(request, rows), "results": results})


class PopulationView(APIView):
    """One population with its book."""

    @extend_schema(
        summary="Fetch one population and what was spent",
        responses=PopulationDetailSerializer,
        operation_id="population",
        parameters=[CURSOR],
    )
    def get(self, request: Request, name: str) -> Response:
        population = Population.objects.filter(name=name).first()
        if population is None:
            raise Http404
        standing = standing_of(population)
        rows = list(spendings_list(population, before=_cursor(request))[: PAGE_SIZE + 1])
        lines = lines_of(standing, rows[:PAGE_SIZE])
        return Response(
            {
                **standing_document(standing),
                "next": _next(request, rows),
                "spendings": [line_document(line, standing.delta) for line in lines],
            }
        )


def _cursor(request: Request) -> int | None:
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise exceptions.ValidationError({"cursor": "must be taken from the `next` of the page before."})
    return int(cursor)


def _next(request: Request, rows: list[Any]) -> str | None:
    if len(rows) <= PAGE_SIZE:
        return None
    query = request.query_params.copy()
    query["cursor"] = str(rows[PAGE_SIZE - 1].pk)
    return f"{request.path}?{query.urlencode()}"
