"""Comparisons for programs: how far results lie apart."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from releases.api_shapes import ChangeSerializer
from releases.comparing import MOST, Obstacle, recipes_to_compare, results_compare, segment_to_compare
from releases.comparison_exports import comparison_document
from releases.models import Release
from web.refusing import as_problems
from web.scopes import PUBLIC, Scopes


class ComparedSerializer(serializers.Serializer[dict[str, Any]]):
    recipe = serializers.CharField(help_text="Identifier.")
    name = serializers.CharField()
    outcome = serializers.ChoiceField(Release.Outcome.choices, allow_null=True, help_text="null until then.")
    unit = serializers.CharField(help_text="Of the estimates.")
    labels = serializers.ListField(child=serializers.CharField(), help_text="One for each estimate.")
    estimate = serializers.ListField(child=serializers.FloatField(), help_text="Empty without a result.")
    obstacles = serializers.ListField(
        child=serializers.ChoiceField([one.value for one in Obstacle]),
        help_text="Why it cannot be compared with the first one; empty where it can, and of the first one.",
    )
    change = ChangeSerializer(allow_null=True, help_text="From the first result to this one.")


class ComparisonSerializer(serializers.Serializer[dict[str, Any]]):
    first = serializers.CharField(help_text="Identifier of the recipe with which all others are compared.")
    segment = serializers.CharField(allow_null=True, help_text="The one compared; null for everybody.")
    level = serializers.FloatField(
        allow_null=True,
        help_text="With which all differences hold together, also those between any other two of the results "
        "without obstacles; null where there are none.",
    )
    results = ComparedSerializer(many=True, help_text="In the order in which they were asked for.")


class ComparisonView(APIView):
    """Results beside the first one."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Compare results",
        description="Each result with the first one. Where two cannot be compared, `obstacles` says why.",
        operation_id="comparison",
        parameters=[
            OpenApiParameter(
                "recipe",
                {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": MOST},
                required=True,
                description=f"Identifier of a recipe; 2 to {MOST} different ones.",
            ),
            OpenApiParameter(
                "segment",
                str,
                description="Label of the segment that is compared; everybody where it is left out.",
            ),
        ],
        responses=ComparisonSerializer,
    )
    def get(self, request: Request) -> Response:
        with as_problems():
            recipes = recipes_to_compare(request.query_params.getlist("recipe"))
            segment = segment_to_compare(recipes, request.query_params.get("segment", ""))
        return Response(comparison_document(results_compare(recipes, segment), segment))
