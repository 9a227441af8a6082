"""The public read API of recipes, for devices and for whoever checks on the server."""

from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panprivacy import base64_text
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.trust import FIRST
from panprivacy.trust_models import TRUST_MODELS
from recipes.models import Recipe
from recipes.selectors import guarantees_of, helper_signature_of, recipes_search, shuffler_signature_of
from storage.signing_key import verification_key
from web.openapi import CURSOR
from web.paging import api_page
from web.problems import invalid_parameter, not_found

PAGE_SIZE = 100
STATUSES = ("open", "closed", "all")


class VerificationKeySerializer(serializers.Serializer[dict[str, str]]):
    algorithm = serializers.CharField(help_text="Always ed25519.")
    public_key = serializers.CharField(help_text="32 bytes in base64.")


class RecipeSummarySerializer(serializers.ModelSerializer[Recipe]):
    id = serializers.CharField(source="identifier", help_text="SHA-256 of the canonical document.")
    status = serializers.SerializerMethodField(help_text="open or closed.")

    class Meta:
        model = Recipe
        fields = ("id", "name", "question", "statistic", "status", "simulation", "opens_at", "closes_at")

    def get_status(self, recipe: Recipe) -> str:
        return "open" if recipe.status == Recipe.Status.PUBLISHED else "closed"


class RecipeListSerializer(serializers.Serializer[dict[str, Any]]):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")
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
    document = serializers.DictField(help_text="Every public parameter.")
    signature = serializers.CharField(help_text="Ed25519 signature in base64.")
    helper_signature = serializers.CharField(
        allow_null=True, help_text="The helper's, over the same bytes; null where none takes part."
    )
    shuffler_signature = serializers.CharField(
        allow_null=True, help_text="The shuffler's, over the same bytes; null where none takes part."
    )
    status = serializers.CharField(help_text="open or closed.")
    guarantees = GuaranteeSerializer(
        many=True,
        help_text="What the document guarantees: computed by the server when it published it, not signed.",
    )


class VerificationKeyView(APIView):
    """The key that signs every recipe of this server."""

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

    @extend_schema(
        summary="List recipes",
        responses=RecipeListSerializer,
        operation_id="recipes_list",
        parameters=[
            OpenApiParameter("status", enum=STATUSES, default="all"),
            OpenApiParameter(
                "search", description="Words of name or question, or the start of an identifier."
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
        page, following = api_page(recipes_search(text=search, status=status), request, PAGE_SIZE)
        results = RecipeSummarySerializer(page, many=True).data
        return Response({"next": following, "results": results})


class RecipeView(APIView):
    """One recipe as published: the document, its identifier and its signature."""

    @extend_schema(summary="Fetch one recipe", responses=RecipeSerializer, operation_id="recipe")
    def get(self, request: Request, identifier: str) -> Response:
        recipe = Recipe.objects.filter(identifier=identifier).first()
        if recipe is None:
            raise not_found("No recipe has this identifier.")
        return Response(
            {
                "id": recipe.identifier,
                "document": recipe.published.document,
                "signature": base64_text.encode(bytes(recipe.signature)),
                "helper_signature": _in_base64(helper_signature_of(recipe)),
                "shuffler_signature": _in_base64(shuffler_signature_of(recipe)),
                "status": RecipeSummarySerializer().get_status(recipe),
                "guarantees": guarantees_of(recipe),
            }
        )


def _in_base64(signature: bytes | None) -> str | None:
    return None if signature is None else base64_text.encode(signature)
