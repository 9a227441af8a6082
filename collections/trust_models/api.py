"""Reviewing, publishing and closing recipes for programs, by the operations that the pages call."""

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from planner.guarantees import NotComputedError
from recipes.api import GuaranteeSerializer, RecipeSerializer, published_recipe, recipe_document
from recipes.approvals import approval_missing, approval_of_draft
from recipes.approvals_api import ApprovalSerializer, approval_document
from recipes.drafts_api import (
    ABOUT_WARNING,
    BODY_BYTES,
    RECIPE_FILE,
    REFUSED,
    RecipeFileSerializer,
    numbered_recipe,
)
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.item_lists import UNIVERSE_BYTES, listed_universe
from recipes.models import Recipe
from recipes.scopes import RECIPES_READ, RECIPES_WRITE
from trust_models.publishing import recipe_close, recipe_publish
from trust_models.review import Review, review_of
from web.json_requests import read_object, text_member
from web.openapi import example, problem_response
from web.problems import invalid_field
from web.refusing import as_problems
from web.scopes import Scopes


class RefusalSerializer(serializers.Serializer[dict[str, str]]):
    field = serializers.CharField()
    detail = serializers.CharField()


class EffectSerializer(serializers.Serializer[dict[str, Any]]):
    population = serializers.CharField()
    budget = serializers.FloatField(allow_null=True, help_text="ε; null where there is no budget.")
    rule = serializers.CharField(allow_null=True)
    delta = serializers.FloatField(help_text="δ of every ε here.")
    spent = serializers.FloatField(allow_null=True, help_text="ε of all recipes so far; null if unknown.")
    spent_with_it = serializers.FloatField(allow_null=True, help_text="ε with this recipe; null if unknown.")
    used_with_it = serializers.FloatField(
        allow_null=True, help_text="Part of the budget that is used with it; above 1 it is exceeded."
    )
    exceeds = serializers.BooleanField(help_text="Whether the budget does not suffice.")
    reason = serializers.CharField(help_text="Why no ε is promised with it, and what would fit; else empty.")
    condition = serializers.CharField(help_text="What the numbers also rely on; empty where on nothing.")


class ExpectedSerializer(serializers.Serializer[dict[str, Any]]):
    parameters = serializers.DictField(help_text="With those that are computed.")
    guarantees = GuaranteeSerializer(many=True)
    opens_at = serializers.DateTimeField(help_text="If it is published now.")
    closes_at = serializers.DateTimeField(help_text="If it is published now.")
    needs_universe = serializers.BooleanField(help_text="Whether publishing asks for the list of items.")
    budget = EffectSerializer()


class ReviewSerializer(serializers.Serializer[dict[str, Any]]):
    publishable = serializers.BooleanField(help_text="Whether nothing is known that stands against it.")
    problem = RefusalSerializer(allow_null=True, help_text="Why it cannot be published; null where it can.")
    warning = serializers.CharField(help_text=ABOUT_WARNING)
    recipe = serializers.DictField(
        allow_null=True, help_text="With every default; null where it cannot be read."
    )
    expected = ExpectedSerializer(allow_null=True, help_text="Null where it cannot be computed.")


class DraftReviewSerializer(ReviewSerializer):
    needs_approval = serializers.BooleanField(
        help_text="Whether another analyst must approve before this account may publish it."
    )
    approval = ApprovalSerializer(allow_null=True, help_text="Of this content; null where nobody asked.")
    reviewed = serializers.CharField(help_text="SHA-256 of what was reviewed; publishing asks for it.")


class PublishSerializer(serializers.Serializer[dict[str, Any]]):
    reviewed = serializers.CharField(help_text="As of the draft, or of its review.")
    universe = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The items of a recipe with `items = listed`, none twice. They are not kept.",
    )


NOT_COMPUTED = problem_response("The guarantees are not computed yet.")


class ReviewView(APIView):
    """What publishing would do, without a draft."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_READ}

    @extend_schema(
        summary="Review a recipe that is not stored",
        operation_id="recipe_review",
        request=RecipeFileSerializer,
        responses={200: ReviewSerializer, 400: REFUSED, 503: NOT_COMPUTED},
        examples=example(RECIPE_FILE, request_only=True),
    )
    def post(self, request: Request) -> Response:
        return Response(_reviewed(read_object(request._request, BODY_BYTES)).document())


class DraftReviewView(APIView):
    """What publishing a draft would do: what its page shows."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ}

    @extend_schema(
        summary="Review a draft",
        responses={200: DraftReviewSerializer, 503: NOT_COMPUTED},
        operation_id="draft_review",
    )
    def get(self, request: Request, number: int) -> Response:
        recipe, user = numbered_recipe(number), signed_in_user(request._request)
        review, asked = _reviewed(recipe.draft), approval_of_draft(recipe)
        missing = approval_missing(recipe, user)
        return Response(
            {
                **review.document(),
                "publishable": review.publishable and not missing,
                "needs_approval": bool(missing),
                "approval": None if asked is None else approval_document(asked),
                "reviewed": recipe.draft_hash,
            }
        )


class PublishView(APIView):
    """Draft → published."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Publish a draft",
        description="For good. Sent again after a lost answer, it publishes nothing twice: the answer is "
        "the recipe that was published.",
        operation_id="recipe_publish",
        request=PublishSerializer,
        responses={
            200: RecipeSerializer,
            400: problem_response("It cannot be published as it stands; `field` names what is wrong."),
            409: problem_response("It was changed after it was read, or is no draft any more."),
            503: problem_response(
                "Nothing was changed: another server did not answer, or the guarantees are not computed yet."
            ),
        },
        examples=example({"reviewed": "9c" * 32}, request_only=True),
    )
    def post(self, request: Request, number: int) -> Response:
        recipe = numbered_recipe(number)
        members = read_object(request._request, UNIVERSE_BYTES, names=("reviewed", "universe"))
        with as_problems(conflicts=RecipeStateError, busy=(PartnerUnavailableError, NotComputedError)):
            reviewed = text_member(members, "reviewed")
            if _was_published(recipe, reviewed):
                return Response(recipe_document(recipe))
            try:
                recipe = recipe_publish(
                    recipe=recipe,
                    reviewed=reviewed,
                    universe=listed_universe(members.get("universe")),
                    actor=signed_in_user(request._request),
                )
            except RecipeStateError:
                # Perhaps the same request came twice, and the other was faster.
                recipe = numbered_recipe(number)
                if not _was_published(recipe, reviewed):
                    raise
        return Response(recipe_document(recipe))


class CloseView(APIView):
    """Published → closed."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Close a recipe",
        description="No report is taken in any more, and the result follows. A recipe that is closed stays "
        "so: sent twice, this does nothing the second time.",
        operation_id="recipe_close",
        request=None,
        responses=RecipeSerializer,
    )
    def post(self, request: Request, identifier: str) -> Response:
        recipe = published_recipe(identifier)
        read_object(request._request, BODY_BYTES, names=())
        try:
            recipe = recipe_close(recipe=recipe, actor=signed_in_user(request._request))
        except RecipeStateError:
            # A published recipe is refused for one reason only: it is closed already.
            recipe = published_recipe(identifier)
        return Response(recipe_document(recipe))


def _reviewed(members: dict[str, Any]) -> Review:
    with as_problems(busy=NotComputedError):
        review = review_of(members, now=timezone.now())
    if review.draft is None and review.refusal is not None:
        raise invalid_field(review.refusal)
    return review


def _was_published(recipe: Recipe, reviewed: str) -> bool:
    return recipe.status != Recipe.Status.DRAFT and recipe.draft_hash == reviewed
