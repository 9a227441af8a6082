"""Drafts for programs, by the operations that the pages call."""

from typing import Any, ClassVar

from django.contrib.auth.models import User
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.interface import PartField
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from recipes.operations import recipe_draft_delete, recipe_draft_save
from recipes.planner.guarantees import draft_warning
from recipes.scopes import RECIPES_READ, RECIPES_WRITE
from recipes.selectors import drafts_list
from web.json_requests import read_object
from web.openapi import CURSOR, example, problem_response
from web.paging import api_results
from web.problems import row_found
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ObjectField, OpenSerializer, paged

BODY_BYTES = 1024 * 1024
"""As large as a recipe file may be."""

RECIPE_FILE = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 7,
    "epsilon": 1.0,
    "delta": 1e-6,
    "cohort_size": 1000,
}


ABOUT_WARNING = "Why a result is unlikely, though it can be published; empty if one is likely."


def part_field(described: PartField) -> serializers.Field[Any, Any, Any, Any]:
    """A field of an optional part, as the API describes it."""
    stated: dict[str, Any] = {"required": False, "allow_null": True, "help_text": described.meaning}
    if described.number is not None:
        low, high = described.number
        return serializers.IntegerField(min_value=low, max_value=high, **stated)
    if described.lines:
        line = serializers.CharField(max_length=described.length)
        return serializers.ListField(child=line, min_length=1, max_length=described.lines, **stated)
    if described.choices and isinstance(described.choices[0][0], bool):
        return serializers.BooleanField(**stated)
    if described.choices:
        return serializers.ChoiceField(
            choices=[value for value, _ in described.choices if value != ""], **stated
        )
    if described.length:
        return serializers.CharField(max_length=described.length, **stated)
    return ObjectField(**stated)


class RecipeFileSerializer(OpenSerializer):
    """The fields of a recipe file (docs/recipes.md). It also has those of its statistic."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": "must be an object: the content of a recipe file"
    }

    name = serializers.CharField(max_length=120)
    question = serializers.CharField(max_length=500)
    statistic = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        parts = (field for part in PARTS.values() if part.in_files for field in part.fields)
        return super().get_fields() | {field.name: part_field(field) for field in parts}


class DraftSerializer(serializers.Serializer[Recipe]):
    number = serializers.IntegerField(
        source="pk", help_text="Of the draft; it is published under its identifier."
    )
    status = serializers.ChoiceField(choices=[status.value for status in Recipe.Status])
    id = serializers.CharField(
        source="identifier", allow_null=True, help_text="Identifier once it is published; else null."
    )
    reviewed = serializers.CharField(
        source="draft_hash",
        help_text="SHA-256 of the content. Publishing asks for it, so that only what was read is published.",
    )
    created_by = serializers.CharField(
        source="created_by.username", allow_null=True, help_text="Username; null for the command line."
    )
    recipe = RecipeFileSerializer(source="draft")
    warning = serializers.SerializerMethodField(
        help_text=f"{ABOUT_WARNING} Null if it is not computed: fetch the draft, alone."
    )

    def get_warning(self, recipe: Recipe) -> str | None:
        return draft_warning(recipe=recipe, asks=self.parent is None)


REFUSED = problem_response("A field is missing, unknown or out of range; `field` names it.")
CONFLICT = problem_response("It is not a draft.")


def numbered_recipe(number: int) -> Recipe:
    """The recipe that is or was the draft of this number. Raises Problem if there is none."""
    return row_found(Recipe.objects.select_related("created_by"), "No draft has this number.", pk=number)


def draft_saved(request: Request, recipe: Recipe | None) -> Recipe:
    """The draft with what the body holds. Raises Problem."""
    members = read_object(request._request, BODY_BYTES)
    actor: User = signed_in_user(request._request)
    with as_problems(conflicts=RecipeStateError):
        return recipe_draft_save(members=members, actor=actor, recipe=recipe)


saves_draft = extend_schema(
    summary="Draft a recipe",
    description="A draft costs nothing, and only analysts see it. Sent twice, it is two drafts.",
    operation_id="draft_create",
    request=RecipeFileSerializer,
    responses={
        201: OpenApiResponse(DraftSerializer, "The draft; `Location` is its address."),
        400: REFUSED,
    },
    examples=example(RECIPE_FILE, request_only=True),
)
"""Describes `POST recipes/`, whose view also lists recipes."""


class DraftListView(APIView):
    """Drafts, newest first."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ}

    @extend_schema(
        summary="List drafts",
        responses=paged(DraftSerializer),
        operation_id="drafts_list",
        parameters=[CURSOR],
    )
    def get(self, request: Request) -> Response:
        drafts = drafts_list().select_related("created_by")
        return Response(api_results(drafts, request, DraftSerializer))


class DraftView(APIView):
    """One draft."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ, "PUT": RECIPES_WRITE, "DELETE": RECIPES_WRITE}

    @extend_schema(
        summary="Fetch one draft",
        description="Also after it was published: then `id` is its identifier.",
        responses=DraftSerializer,
        operation_id="draft",
    )
    def get(self, request: Request, number: int) -> Response:
        return Response(DraftSerializer(numbered_recipe(number)).data)

    @extend_schema(
        summary="Replace a draft",
        operation_id="draft_replace",
        request=RecipeFileSerializer,
        responses={200: DraftSerializer, 400: REFUSED, 409: CONFLICT},
        examples=example(RECIPE_FILE, request_only=True),
    )
    def put(self, request: Request, number: int) -> Response:
        return Response(DraftSerializer(draft_saved(request, numbered_recipe(number))).data)

    @extend_schema(
        summary="Delete a draft",
        operation_id="draft_delete",
        responses={204: OpenApiResponse(description="It is deleted."), 409: CONFLICT},
    )
    def delete(self, request: Request, number: int) -> Response:
        with as_problems(conflicts=RecipeStateError):
            recipe_draft_delete(recipe=numbered_recipe(number), actor=signed_in_user(request._request))
        return Response(status=204)
