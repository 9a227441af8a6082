"""The API of recipes: public for devices and for all who check on the server; drafts are in `drafts_api`."""

from typing import ClassVar

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.urls import reverse
from django.utils.functional import lazy
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.recipe.parts import PARTS
from recipes.converters import published_recipe
from recipes.drafts_api import DraftSerializer, draft_saved, saves_draft
from recipes.models import Recipe
from recipes.scopes import RECIPES_WRITE
from recipes.selectors import recipes_search
from storage.signing_key import verification_key
from web.dataclass_serializers import serializer_of
from web.openapi import CURSOR
from web.paging import api_results
from web.problems import invalid_parameter
from web.scopes import PUBLIC, Scopes
from web.serializers import ListedField, ObjectField, SignatureField, paged

STATUSES = ("open", "closed", "all")


class VerificationKeySerializer(serializers.Serializer[dict[str, str | bytes]]):
    algorithm = serializers.CharField(help_text="Always ed25519.")
    public_key = SignatureField(help_text="32 bytes in base64.")


class RecipeSummarySerializer(serializers.ModelSerializer[Recipe]):
    id = serializers.CharField(source="identifier", help_text="SHA-256 of the canonical document.")
    status = serializers.CharField(source="open_or_closed", help_text="open or closed.")
    event = serializers.SerializerMethodField(
        help_text="Name of the event that is counted, or null. Of several, their names with commas between."
    )
    events = ListedField(
        source="event_names", child=serializers.CharField(), help_text="Names of the events; empty if none."
    )

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
            "events",
            "statistic",
            "status",
            "simulation",
            "opens_at",
            "closes_at",
            "readable",
        )

    def get_readable(self, recipe: Recipe) -> bool:
        return not recipe.unreadable

    def get_event(self, recipe: Recipe) -> str | None:
        return recipe.event or None


GuaranteeSerializer = serializer_of(Guarantee)


def _document_help() -> str:
    parts = " ".join(f"`{field.name}`: {field.meaning}" for part in PARTS.values() for field in part.fields)
    return f"Every public parameter. These are absent if the recipe does not have them. {parts}"


class ServedRecipeSerializer(serializers.Serializer[Recipe]):
    """A published recipe, as devices fetch it."""

    id = serializers.CharField(source="identifier", help_text="SHA-256 of the canonical document.")
    document = ObjectField(
        source="stated_document",
        help_text=lazy(_document_help, str)(),
    )
    signature = SignatureField(help_text="Ed25519 signature in base64.")
    helper_signature = SignatureField(
        source="signatures_of_partners.helper",
        allow_null=True,
        help_text="The helper's, over the same bytes; null if none takes part.",
    )
    shuffler_signature = SignatureField(
        source="signatures_of_partners.shuffler",
        allow_null=True,
        help_text="The shuffler's, over the same bytes; null if none takes part.",
    )
    issuer_signature = SignatureField(
        source="signatures_of_partners.issuer",
        allow_null=True,
        help_text="The issuer's, over the same bytes; null if any device may report.",
    )
    status = serializers.CharField(source="open_or_closed", help_text="open or closed.")


class RecipeSerializer(ServedRecipeSerializer):
    guarantees = GuaranteeSerializer(
        source="guarantees.stated",
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
        return Response(VerificationKeySerializer({"algorithm": "ed25519", "public_key": raw}).data)


class RecipeListView(APIView):
    """Published recipes, newest first, closed ones included."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "POST": RECIPES_WRITE}

    @extend_schema(
        summary="List recipes",
        responses=paged(RecipeSummarySerializer),
        operation_id="recipes_list",
        parameters=[
            OpenApiParameter("status", enum=STATUSES, default="all"),
            OpenApiParameter(
                "search",
                description="Words of name or question, the name of one of its events, or the start of an "
                "identifier.",
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
        found = recipes_search(user=request.user, text=search, status=status)
        return Response(api_results(found, request, RecipeSummarySerializer))

    @saves_draft
    def post(self, request: Request) -> Response:
        draft = draft_saved(request, None)
        address = reverse("api-draft", args=[draft.pk])
        return Response(DraftSerializer(draft).data, status=201, headers={"Location": address})


class RecipeView(APIView):
    """One recipe as published: the document, its identifier and its signature."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(summary="Fetch one recipe", responses=RecipeSerializer, operation_id="recipe")
    def get(self, request: Request, identifier: str) -> Response:
        return Response(RecipeSerializer(published_recipe(request._request, identifier)).data)
