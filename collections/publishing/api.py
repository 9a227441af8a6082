"""Reviewing, publishing and closing recipes for programs, by the operations that the pages call."""

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from panprivacy.formats.errors import FieldError
from publishing.approvals import approval_missing, approval_of_draft
from publishing.approvals_api import ApprovalSerializer
from publishing.publication import recipe_close, recipe_publish
from publishing.review import Expected, Review, review_of
from recipes.api import GuaranteeSerializer, RecipeSerializer
from recipes.budget import Effect
from recipes.converters import published_recipe
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
from recipes.planner.guarantees import NotComputedError
from recipes.scopes import RECIPES_READ, RECIPES_WRITE
from web.json_requests import read_object
from web.openapi import example, problem_response
from web.problems import invalid_field
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer, FiniteField, ObjectField, SecondsField


class RefusalSerializer(serializers.Serializer[FieldError]):
    field = serializers.CharField()
    detail = serializers.SerializerMethodField()

    def get_detail(self, error: FieldError) -> str:
        return f"{error}."


class EffectSerializer(serializers.Serializer[Effect]):
    population = serializers.CharField(source="balance.population.name")
    budget = serializers.FloatField(
        source="balance.budget.epsilon", allow_null=True, help_text="ε; null without a budget."
    )
    rule = serializers.CharField(source="balance.budget.rule", allow_null=True)
    delta = serializers.FloatField(source="balance.delta", help_text="δ of every ε here.")
    spent = FiniteField(source="balance.spent", help_text="ε of all recipes so far; null if unknown.")
    spent_with_it = FiniteField(source="composed", help_text="ε with this recipe; null if unknown.")
    used_with_it = FiniteField(
        source="share", help_text="Part of the budget that is used with it; above 1 it is exceeded."
    )
    exceeds = serializers.BooleanField(help_text="Whether the budget does not suffice.")
    reason = serializers.CharField(
        source="delta_reason", help_text="Why no ε is promised with it, and what would fit; else empty."
    )
    condition = serializers.CharField(help_text="What the numbers also rely on; empty if on nothing.")


class ExpectedSerializer(serializers.Serializer[Expected]):
    parameters = ObjectField(source="statistic.parameters.as_dict", help_text="With those that are computed.")
    guarantees = GuaranteeSerializer(many=True)
    opens_at = SecondsField(help_text="If it is published now.")
    closes_at = SecondsField(help_text="If it is published now.")
    needs_universe = serializers.BooleanField(help_text="Whether publishing asks for the list of items.")
    budget = EffectSerializer(source="effect")


class ReviewSerializer(serializers.Serializer[Review]):
    publishable = serializers.BooleanField(help_text="Whether nothing known prevents publication.")
    problem = RefusalSerializer(
        source="refusal", allow_null=True, help_text="Why it cannot be published; null if it can."
    )
    warning = serializers.CharField(help_text=ABOUT_WARNING)
    recipe = ObjectField(
        source="draft.as_dict",
        allow_null=True,
        help_text="With every default; null if it cannot be read.",
    )
    expected = ExpectedSerializer(allow_null=True, help_text="Null if it cannot be computed.")


class DraftReviewSerializer(ReviewSerializer):
    needs_approval = serializers.BooleanField(
        help_text="Whether another analyst must approve before this account may publish it."
    )
    approval = ApprovalSerializer(allow_null=True, help_text="Of this content; null if none was asked for.")
    reviewed = serializers.CharField(help_text="SHA-256 of what was reviewed; publishing asks for it.")


class PublishSerializer(ExactSerializer):
    most_bytes = UNIVERSE_BYTES
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
        return Response(ReviewSerializer(_reviewed(read_object(request._request, BODY_BYTES))).data)


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
                **ReviewSerializer(review).data,
                "publishable": review.publishable and not missing,
                "needs_approval": bool(missing),
                "approval": None if asked is None else ApprovalSerializer(asked).data,
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
            400: problem_response("It cannot be published; `field` names what is wrong."),
            409: problem_response("It was changed after it was read, or is not a draft."),
            503: problem_response(
                "Nothing was changed: another server did not answer, or the guarantees are not computed yet."
            ),
        },
        examples=example({"reviewed": "9c" * 32}, request_only=True),
    )
    def post(self, request: Request, number: int) -> Response:
        recipe = numbered_recipe(number)
        actor, asked = signed_in_user(request._request), PublishSerializer.read(request)
        with as_problems(conflicts=RecipeStateError, busy=(PartnerUnavailableError, NotComputedError)):
            reviewed = asked["reviewed"]
            if _was_published(recipe, reviewed):
                return Response(RecipeSerializer(recipe).data)
            try:
                recipe_publish(
                    recipe=recipe,
                    reviewed=reviewed,
                    universe=listed_universe(asked.get("universe")),
                    actor=actor,
                )
            except RecipeStateError:
                # Perhaps the same request came twice, and the other was faster.
                if not _was_published(numbered_recipe(number), reviewed):
                    raise
        # Read again: PostgreSQL orders the fields of guarantees, and a repeated request gets the same bytes.
        return Response(RecipeSerializer(numbered_recipe(number)).data)


class CloseView(APIView):
    """Published → closed."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Close a recipe",
        description="No report is accepted, and the result follows. A recipe that is closed stays so: "
        " sent twice, this does nothing the second time.",
        operation_id="recipe_close",
        request=None,
        responses=RecipeSerializer,
    )
    def post(self, request: Request, identifier: str) -> Response:
        recipe = published_recipe(request._request, identifier)
        read_object(request._request, BODY_BYTES, names=())
        try:
            recipe = recipe_close(recipe=recipe, actor=signed_in_user(request._request))
        except RecipeStateError:
            # A published recipe is refused for one reason only: it is closed already.
            recipe = published_recipe(request._request, identifier)
        return Response(RecipeSerializer(recipe).data)


def _reviewed(members: dict[str, Any]) -> Review:
    with as_problems(busy=NotComputedError):
        review = review_of(members, now=timezone.now())
    if review.draft is None and review.refusal is not None:
        raise invalid_field(review.refusal)
    return review


def _was_published(recipe: Recipe, reviewed: str) -> bool:
    return recipe.status != Recipe.Status.DRAFT and recipe.draft_hash == reviewed
