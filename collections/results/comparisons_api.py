"""Comparisons for programs: the differences between results."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from results.api_shapes import ChangeSerializer
from results.comparison_exports import level_of, values_of
from results.comparisons import (
    MOST,
    Compared,
    Obstacle,
    recipes_to_compare,
    results_compare,
    segment_to_compare,
)
from results.models import Release
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes
from web.serializers import ListedField


class ComparedSerializer(serializers.Serializer[Compared]):
    recipe = serializers.CharField(source="recipe.identifier", help_text="Identifier.")
    name = serializers.CharField(source="recipe.name")
    outcome = serializers.ChoiceField(
        Release.Outcome.choices, source="release.outcome", allow_null=True, help_text="null until then."
    )
    unit = serializers.CharField(
        source="recipe.published.calibrated_statistic.unit", help_text="Of the estimates."
    )
    labels = ListedField(
        source="recipe.published.calibrated_statistic.labels",
        child=serializers.CharField(),
        help_text="One for each estimate.",
    )
    estimate = serializers.SerializerMethodField(help_text="Empty without a result.")
    obstacles = ListedField(
        child=serializers.ChoiceField([one.value for one in Obstacle]),
        help_text="Why it cannot be compared with the first one; empty if it can, and for the first one.",
    )
    change = ChangeSerializer(allow_null=True, help_text="From the first result to this one.")

    def get_estimate(self, one: Compared) -> list[float]:
        return values_of(one, self.context["segment"])


class ComparisonSerializer(serializers.Serializer[dict[str, Any]]):
    first = serializers.CharField(help_text="Identifier of the recipe with which all others are compared.")
    segment = serializers.CharField(allow_null=True, help_text="The one compared; null for all devices.")
    level = serializers.FloatField(
        allow_null=True,
        help_text="With which all differences hold together, also those between any other two of the results "
        "without obstacles; null if there are none.",
    )
    results = ComparedSerializer(many=True, help_text="In the order in which they were asked for.")


class ComparisonView(APIView):
    """Results compared with the first one."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Compare results",
        description="Each result with the first one. If two cannot be compared, `obstacles` says why.",
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
                description="Label of the segment that is compared; default: all devices.",
            ),
        ],
        responses=ComparisonSerializer,
    )
    def get(self, request: Request) -> Response:
        with as_problems():
            recipes = recipes_to_compare(request.user, request.query_params.getlist("recipe"))
            segment = segment_to_compare(recipes, request.query_params.get("segment", ""))
        compared = results_compare(recipes, segment)
        shown = {
            "first": recipes[0].identifier,
            "segment": segment or None,
            "level": level_of(compared),
            "results": compared,
        }
        return Response(ComparisonSerializer(shown, context={"segment": segment}).data)
