"""The public read API of the ledger."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.exports import balance_document, line_document
from ledger.models import Population
from ledger.selectors import balance_of, balances_of, lines_of, populations_list, spendings_list
from web.openapi import CURSOR
from web.paging import api_page

PAGE_SIZE = 100

UNKNOWN = (
    "Null where no ε is promised at this δ, where it could not be computed in time (ask again), or where "
    "another version of the server wrote an event."
)


class PopulationSerializer(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField()
    description = serializers.CharField()
    model = serializers.CharField(help_text="Always aggregator: whoever reads only combined results.")
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
        rows, following = api_page(populations_list(), request, PAGE_SIZE)
        results = [balance_document(balance) for balance in balances_of(rows)]
        return Response({"next": following, "results": results})


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
        balance = balance_of(population)
        rows, following = api_page(spendings_list(population), request, PAGE_SIZE)
        lines = lines_of(balance, rows)
        return Response(
            {
                **balance_document(balance),
                "next": following,
                "spendings": [line_document(line, balance.delta) for line in lines],
            }
        )
