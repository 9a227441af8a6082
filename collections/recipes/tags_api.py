"""Tags of recipes and drafts for programs."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from recipes.converters import published_recipe
from recipes.drafts_api import REFUSED, numbered_recipe
from recipes.models import MOST_TAGS, TAG_LENGTH, Recipe
from recipes.operations import recipe_tag
from recipes.scopes import RECIPES_READ, RECIPES_WRITE
from web.openapi import example
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer


class TagSetSerializer(ExactSerializer):
    tags = serializers.ListField(
        child=serializers.CharField(max_length=TAG_LENGTH),
        max_length=MOST_TAGS,
        help_text="Words without commas. Only signed-in accounts see them.",
    )


class _TagsView(APIView):
    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ, "PUT": RECIPES_WRITE}

    def tagged(self) -> Recipe:
        """The recipe or draft of the address. Raises Problem if there is none."""
        raise NotImplementedError

    def get(self, request: Request, **_: Any) -> Response:
        return Response({"tags": list(self.tagged().tags.values_list("name", flat=True))})

    def put(self, request: Request, **_: Any) -> Response:
        recipe, asked = self.tagged(), TagSetSerializer.read(request)
        with as_problems():
            return Response({"tags": recipe_tag(recipe=recipe, tags=asked["tags"])})


_EXAMPLE = example({"tags": ["android", "release 2.1"]})
_ANSWERS = {200: TagSetSerializer, 400: REFUSED}


@extend_schema_view(
    get=extend_schema(
        operation_id="recipe_tags", summary="List the tags of a recipe", responses=TagSetSerializer
    ),
    put=extend_schema(
        operation_id="recipe_tags_replace",
        summary="Replace the tags of a recipe",
        request=TagSetSerializer,
        responses=_ANSWERS,
        examples=_EXAMPLE,
    ),
)
class RecipeTagsView(_TagsView):
    """Of a published recipe."""

    def tagged(self) -> Recipe:
        return published_recipe(self.request._request, self.kwargs["identifier"])


@extend_schema_view(
    get=extend_schema(
        operation_id="draft_tags", summary="List the tags of a draft", responses=TagSetSerializer
    ),
    put=extend_schema(
        operation_id="draft_tags_replace",
        summary="Replace the tags of a draft",
        request=TagSetSerializer,
        responses=_ANSWERS,
        examples=_EXAMPLE,
    ),
)
class DraftTagsView(_TagsView):
    """Of a draft."""

    def tagged(self) -> Recipe:
        return numbered_recipe(self.kwargs["number"])
