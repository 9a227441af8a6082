"""The API of recipes: public for devices and for all who check on the server; drafts are in `drafts_api`."""

from typing import Any, ClassVar

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panprivacy import base64_text
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.trust import FIRST
from panprivacy.trust_models import TRUST_MODELS
from recipes.drafts_api import draft_document, draft_saved, saves_draft
from recipes.models import Recipe
from recipes.scopes import RECIPES_WRITE
from recipes.selectors import guarantees_of, open_or_closed, recipes_search, served_recipe
from storage.signing_key import verification_key
from web.openapi import CURSOR, PagedSerializer
from web.paging import api_results
from web.problems import invalid_parameter, not_found
from web.scopes import PUBLIC, Scopes

PAGE_SIZE = 100
STATUSES = ("open", "closed", "all")


class VerificationKeySerializer(serializers.Serializer[dict[str, str]]):
    algorithm = serializers.CharField(help_text="Always ed25519.")
    public_key = serializers.CharField(help_text="32 bytes in base64.")


class RecipeSummarySerializer(serializers.ModelSerializer[Recipe]):
    id = serializers.CharField(source="identifier", help_text="SHA-256 of the canonical document.")
    status = serializers.SerializerMethodField(help_text="open or closed.")
    event = serializers.SerializerMethodField(help_text="Name of the event that is counted, or null.")

    readable = serializers.SerializerMethodField(
        help_text="Whether this site’s version understands its document. If not, all that can be done is to "
        "close it and to withhold its result."
    )

    class Meta:
        model = Recipe
        fields = (
            "id",
            "name",
            "question",
            "event",
            "statistic",
            "status",
            "simulation",
            "opens_at",
            "closes_at",
            "readable",
        )

    def get_status(self, recipe: Recipe) -> str:
        return open_or_closed(recipe)

    def get_readable(self, recipe: Recipe) -> bool:
        return not recipe.unreadable

    def get_event(self, recipe: Recipe) -> str | None:
        return recipe.event or None


class RecipeListSerializer(PagedSerializer):
    results = RecipeSummarySerializer(many=True)


class GuaranteeSerializer(serializers.Serializer[dict[str, Any]]):
    model = serializers.ChoiceField([model.value for model in Model], help_text="Who is kept from learning.")
    relation = serializers.ChoiceField(
        [relation.value for relation in Relation], help_text="Which two inputs are hard to tell apart."
    )
    epsilon = serializers.FloatField(allow_null=True, help_text="Proved; null where not computed.")
    delta = serializers.FloatField(allow_null=True)
    found_epsilon = serializers.FloatField(
        allow_null=True, help_text="Worst case found numerically; null where epsilon is exact."
    )
    dishonest_fraction = serializers.FloatField(help_text="Part of the cohort that may collude.")
    trust = serializers.ChoiceField(
        list(TRUST_MODELS),
        default=FIRST.value,
        help_text="Trust model of the recipe: it decides who the observers of `model` are.",
    )
    intrusions = serializers.IntegerField(
        allow_null=True,
        default=None,
        help_text="How often a curator's state may be read by surprise; null where that is not the question.",
    )
    announced_intrusions = serializers.IntegerField(
        default=0,
        help_text="How often it may be read before, each time announced and randomized anew after it.",
    )
    source = serializers.CharField()  # type: ignore[assignment]  # a member; DRF keeps its own `source` apart
    assumption = serializers.CharField(allow_blank=True)


class RecipeSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.CharField(help_text="SHA-256 of the canonical document.")
    document = serializers.DictField(
        help_text="Every public parameter. `event` (1 to 60 of a-z, 0-9, dot, _ and -), `event_definition`, "
        "`labels` (a name for each value of the answer), `segments` (1 to 20 labels, of which a device "
        "knows its own), `hidden_count` (how dummies hide the number of reports), `admission` (who issues "
        "its tokens), `relay` (the only way to its servers), `target` (whom of the population it asks, "
        "with the results that show how many they are) and `smallest_target` are absent where it has none."
    )
    signature = serializers.CharField(help_text="Ed25519 signature in base64.")
    helper_signature = serializers.CharField(
        allow_null=True, help_text="The helper's, over the same bytes; null where none takes part."
    )
    shuffler_signature = serializers.CharField(
        allow_null=True, help_text="The shuffler's, over the same bytes; null where none takes part."
    )
    issuer_signature = serializers.CharField(
        allow_null=True, help_text="The issuer's, over the same bytes; null where anybody may report."
    )
    status = serializers.CharField(help_text="open or closed.")
    guarantees = GuaranteeSerializer(
        many=True,
        help_text="What the document guarantees: computed by the server when it published it, not signed.",
    )


class VerificationKeyView(APIView):
    """The key that signs every recipe of this server."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Fetch the verification key",
        responses=VerificationKeySerializer,
        operation_id="verification_key",
    )
    def get(self, request: Request) -> Response:
        raw = verification_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return Response({"algorithm": "ed25519", "public_key": base64_text.encode(raw)})


class RecipeListView(APIView):
    """Published recipes, newest first, closed ones included."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "POST": RECIPES_WRITE}

    @extend_schema(
        summary="List recipes",
        responses=RecipeListSerializer,
        operation_id="recipes_list",
        parameters=[
            OpenApiParameter("status", enum=STATUSES, default="all"),
            OpenApiParameter(
                "search",
                description="Words of name or question, the event’s name, or the start of an identifier.",
            ),
            CURSOR,
        ],
    )
    def get(self, request: Request) -> Response:
        status = request.query_params.get("status", "all")
        if status not in STATUSES:
            raise invalid_parameter("status", f"status must be one of {', '.join(STATUSES)}.")
        search = request.query_params.get("search", "")
        if "\x00" in search or len(search) > 200:
            raise invalid_parameter("search", "search must be at most 200 characters, none of them NUL.")
        found = recipes_search(text=search, status=status)
        return Response(api_results(found, request, PAGE_SIZE, recipe_summary))

    @saves_draft
    def post(self, request: Request) -> Response:
        draft = draft_saved(request, None)
        address = reverse("api-draft", args=[draft.pk])
        return Response(draft_document(draft), status=201, headers={"Location": address})


class RecipeView(APIView):
    """One recipe as published: the document, its identifier and its signature."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(summary="Fetch one recipe", responses=RecipeSerializer, operation_id="recipe")
    def get(self, request: Request, identifier: str) -> Response:
        return Response(recipe_document(published_recipe(identifier)))


def recipe_summary(recipe: Recipe) -> dict[str, Any]:
    """A published recipe as lists show it, as plain JSON values."""
    return dict(RecipeSummarySerializer(recipe).data)


def recipe_document(recipe: Recipe) -> dict[str, Any]:
    """A published recipe as plain JSON values."""
    return {**served_recipe(recipe), "guarantees": guarantees_of(recipe)}


def published_recipe(identifier: str) -> Recipe:
    """The recipe of this identifier. Raises Problem where there is none."""
    recipe = Recipe.objects.filter(identifier=identifier).first()
    if recipe is None:
        raise not_found("No recipe has this identifier.")
    return recipe
