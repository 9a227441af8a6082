"""Results for programs: reading is public, and analysts may give one up."""

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from recipes.converters import published_recipe
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from recipes.scopes import RECIPES_WRITE
from results.api_shapes import EndsSerializer, StatedReasonSerializer
from results.exports import release_document, release_json
from results.models import Release, SimulatedTruth
from results.operations import result_withhold
from web.openapi import example, problem_response
from web.problems import Problem
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes
from web.serializers import ListedField, ObjectField, OpenSerializer, SecondsField, SignatureField


class ResultSerializer(OpenSerializer):
    """What the site signed of a result (docs/protocol.md, Results). It has further fields."""

    id = serializers.CharField(help_text="Identifier of the recipe.")
    recipe = ObjectField(help_text="Its document.")
    outcome = serializers.ChoiceField(Release.Outcome.choices)
    released_at = SecondsField()
    simulation = serializers.BooleanField(help_text="Whether devices were simulated.")
    signature = SignatureField(help_text="Ed25519 signature in base64.")
    cause = serializers.ChoiceField(Release.Cause.choices, required=False, help_text="If withheld.")
    reason = serializers.CharField(required=False, help_text="Why, if withheld.")
    reports = serializers.IntegerField(
        required=False, help_text="Valid reports. This and what follows is there if the outcome is released."
    )
    unit = serializers.CharField(required=False, help_text="Of the estimates.")
    labels = ListedField(required=False, child=serializers.CharField(), help_text="One for each estimate.")
    estimate = ListedField(required=False, child=serializers.FloatField())
    standard_error = ListedField(required=False, allow_null=True, child=serializers.FloatField())
    interval = EndsSerializer(
        required=False,
        allow_null=True,
        help_text="At 95%, of all estimates together; null if none is stated.",
    )


RESULT = OpenApiResponse(
    ResultSerializer, "The result: the same object as `result.json` of the recipe's page."
)


class ResultView(APIView):
    """The result of a recipe."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Fetch a result",
        operation_id="result",
        responses={
            200: RESULT,
            404: problem_response(
                "There is no such recipe, or no result yet.",
                Problem("no-result-yet", "There is no result yet", 404, "The recipe is open."),
            ),
        },
    )
    def get(self, request: Request, identifier: str) -> StreamingHttpResponse:
        recipe = published_recipe(request._request, identifier)
        release = Release.objects.filter(recipe=recipe).first()
        if release is None:
            detail = f"The recipe is {'open' if recipe.status == Recipe.Status.PUBLISHED else 'closed'}."
            raise Problem("no-result-yet", "There is no result yet", 404, f"{detail} Ask again later.")
        return _answer(recipe, release)


class WithholdView(APIView):
    """Closed → withheld."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Give up the result of a closed recipe",
        description="For good, if, say, its helper is gone. Reports and keys are deleted, and what it "
        "spent stays spent. Sent again with the same reason, it does nothing more.",
        operation_id="result_withhold",
        request=StatedReasonSerializer,
        responses={
            200: RESULT,
            400: problem_response("The reason is missing or too long."),
            409: problem_response("The recipe is not closed, or its result is there."),
        },
        examples=example({"reason": "the helper is gone"}, request_only=True),
    )
    def post(self, request: Request, identifier: str) -> StreamingHttpResponse:
        recipe = published_recipe(request._request, identifier)
        reason = StatedReasonSerializer.read(request)["reason"].strip()
        with as_problems(conflicts=RecipeStateError):
            try:
                release = result_withhold(
                    recipe=recipe, reason=reason, actor=signed_in_user(request._request)
                )
            except RecipeStateError:
                made = Release.objects.filter(recipe=recipe, cause=Release.Cause.GIVEN_UP, reason=reason)
                if (found := made.first()) is None:
                    raise
                release = found
        return _answer(published_recipe(request._request, identifier), release)


def _answer(recipe: Recipe, release: Release) -> StreamingHttpResponse:
    truth = SimulatedTruth.objects.filter(recipe=recipe).first()
    document: dict[str, Any] = release_document(release, truth)
    # In pieces, because one of its fields may be megabytes.
    return StreamingHttpResponse(release_json(document), content_type="application/json")
