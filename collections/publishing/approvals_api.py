"""Four eyes for programs, by the operations that the pages call."""

from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from publishing.approvals import (
    approval_decide,
    approval_of_content,
    approvals_list,
    draft_approval_ask,
)
from recipes.drafts_api import numbered_recipe
from recipes.errors import RecipeStateError
from recipes.item_lists import UNIVERSE_BYTES, listed_universe
from recipes.models import NOTE_LENGTH, Approval
from recipes.scopes import RECIPES_APPROVE, RECIPES_READ, RECIPES_WRITE
from web.openapi import CURSOR, example, problem_response
from web.paging import api_results
from web.problems import invalid_parameter, row_found
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer, ObjectField, SecondsField, paged

STATES = tuple(state.value for state in Approval.State if state != Approval.State.VOID)


class ReviewedSerializer(ExactSerializer):
    reviewed = serializers.CharField(help_text="SHA-256 of what was read, as of the draft or of its review.")


class AskSerializer(ReviewedSerializer):
    most_bytes = UNIVERSE_BYTES
    universe = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The items that publishing will list, none twice: only this list is approved. Not kept.",
    )


class DecisionSerializer(ReviewedSerializer):
    universe_hash = serializers.CharField(
        required=False, help_text="As of the request; needed if it is about a list of items."
    )
    note = serializers.CharField(
        required=False, max_length=NOTE_LENGTH, help_text="One line for who asked; needed to decline."
    )


class ApprovalSerializer(serializers.Serializer[Approval]):
    number = serializers.IntegerField(source="pk", help_text="Of the request.")
    draft = serializers.IntegerField(
        source="recipe_id", allow_null=True, help_text="Number of the draft; null of a series."
    )
    state = serializers.ChoiceField(choices=[state.value for state in Approval.State])
    reviewed = serializers.CharField(source="content", help_text="SHA-256 of the content that it is about.")
    universe_hash = serializers.CharField(
        source="universe",
        allow_blank=True,
        help_text="SHA-256 of the JSON array of the listed items, sorted, as Python writes it; empty without "
        "such a list.",
    )
    asked_by = serializers.CharField(source="asked_by.username", help_text="Username.")
    decided_by = serializers.CharField(
        source="decided_by.username", allow_null=True, help_text="Username; null until the decision."
    )
    note = serializers.CharField(help_text="Of who decided; may be empty.")
    expires_at = SecondsField(
        allow_null=True, help_text="Until when it can be published; null unless it is approved."
    )
    document = ObjectField(help_text="What it is about: a recipe file, or a series file.")


RESPONSES = {
    200: ApprovalSerializer,
    400: problem_response("A field is missing, unknown or out of range; `field` names it."),
    409: problem_response(
        "It was changed after it was read, no approval is pending, or this account may not decide."
    ),
}
EXAMPLE = {"reviewed": "9c" * 32}
DECLINED = example({**EXAMPLE, "note": "the cohort is too small"}, request_only=True)


class AskApprovalView(APIView):
    """An analyst asks for the approval of a draft."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Ask for the approval of a draft",
        description="If its population needs four eyes, another analyst must approve of it before it is "
        "published. Sent twice, it is one request. An edit of the draft voids it.",
        operation_id="approval_ask",
        request=AskSerializer,
        responses=RESPONSES,
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request, number: int) -> Response:
        recipe = numbered_recipe(number)
        actor, asked = signed_in_user(request._request), AskSerializer.read(request)
        with as_problems(conflicts=RecipeStateError):
            approval = draft_approval_ask(
                recipe=recipe,
                reviewed=asked["reviewed"],
                universe=listed_universe(asked.get("universe")),
                actor=actor,
            )
        return Response(ApprovalSerializer(approval).data)


class DecisionView(APIView):
    """Another analyst approves of a draft, or of any request for approval, or declines."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_APPROVE}
    approve: ClassVar[bool]

    @extend_schema(
        request=DecisionSerializer, responses=RESPONSES, examples=example(EXAMPLE, request_only=True)
    )
    def post(self, request: Request, **named: int) -> Response:
        approval_of = _of_draft(named["number"]) if "number" in named else _numbered(named["approval"])
        asked = DecisionSerializer.read(request)
        with as_problems(conflicts=RecipeStateError):
            decided = approval_decide(
                approval=approval_of(asked["reviewed"]),
                reviewed=asked["reviewed"],
                approve=self.approve,
                universe=asked.get("universe_hash", ""),
                note=asked.get("note", ""),
                actor=signed_in_user(request._request),
            )
        return Response(ApprovalSerializer(decided).data)


@extend_schema_view(
    post=extend_schema(
        summary="Approve a draft",
        description="Only accounts that wrote nothing of it and did not ask may. It can be published for "
        "7 days, once, and as it is now. Sent twice, it is one approval.",
        operation_id="recipe_approve",
    )
)
class ApproveView(DecisionView):
    """Another analyst approves."""

    approve = True


@extend_schema_view(
    post=extend_schema(
        summary="Decline a draft",
        description="With a note that says why. Also takes an approval back, until it is published.",
        operation_id="recipe_decline",
        examples=DECLINED,
    )
)
class DeclineView(DecisionView):
    """Another analyst declines, or takes an approval back."""

    approve = False


class ApprovalsView(APIView):
    """What was asked: drafts and series."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ}

    @extend_schema(
        summary="List requests for approval",
        description="Of drafts and series, newest first.",
        operation_id="approvals_list",
        parameters=[
            OpenApiParameter("state", description=f"One of {', '.join(STATES)}; all if left out."),
            CURSOR,
        ],
        responses=paged(ApprovalSerializer),
    )
    def get(self, request: Request) -> Response:
        state = request.query_params.get("state")
        if state is not None and state not in STATES:
            raise invalid_parameter("state", f"state must be one of {', '.join(STATES)}.")
        return Response(api_results(approvals_list(state), request, ApprovalSerializer))


class ApprovalView(APIView):
    """One request."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ}

    @extend_schema(
        summary="Fetch one request for approval",
        operation_id="approval",
        responses=ApprovalSerializer,
    )
    def get(self, request: Request, approval: int) -> Response:
        return Response(ApprovalSerializer(_approval(approval)).data)


@extend_schema_view(
    post=extend_schema(
        summary="Approve a draft or a series",
        description="As `recipe_approve`. Who asked for a series publishes it then, all rounds at once.",
        operation_id="approval_approve",
    )
)
class ApprovalApproveView(DecisionView):
    """Another analyst approves of what was asked: a draft or a series."""

    approve = True


@extend_schema_view(
    post=extend_schema(
        summary="Decline a draft or a series",
        description="As `recipe_decline`.",
        operation_id="approval_decline",
        examples=DECLINED,
    )
)
class ApprovalDeclineView(DecisionView):
    """Another analyst declines it, or takes an approval back."""

    approve = False


def _of_draft(number: int) -> Callable[[str], Approval]:
    """Of the draft of this number, which must be there."""
    recipe = numbered_recipe(number)

    def asked(reviewed: str) -> Approval:
        approval = approval_of_content(recipe, reviewed)
        if approval is None:
            raise RecipeStateError("no approval of this content is pending")
        return approval

    return asked


def _numbered(number: int) -> Callable[[str], Approval]:
    approval = _approval(number)
    return lambda _: approval


def _approval(number: int) -> Approval:
    return row_found(approvals_list(), "No request for approval has this number.", pk=number)
