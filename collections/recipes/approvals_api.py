"""Four eyes for programs, by the operations that the pages call."""

from collections.abc import Callable
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from panprivacy.times import format_time
from recipes.approvals import (
    approval_decide,
    approval_expires,
    approval_of_content,
    approvals_list,
    draft_approval_ask,
)
from recipes.drafts_api import numbered_recipe
from recipes.errors import RecipeStateError
from recipes.item_lists import UNIVERSE_BYTES, listed_universe
from recipes.models import NOTE_LENGTH, Approval
from recipes.scopes import RECIPES_APPROVE, RECIPES_READ, RECIPES_WRITE
from web.json_requests import read_object, text_member
from web.openapi import CURSOR, PagedSerializer, example, problem_response
from web.paging import api_results
from web.problems import invalid_parameter, not_found
from web.refusing import as_problems
from web.scopes import Scopes

BODY_BYTES = 8 * 1024
PAGE_SIZE = 100
STATES = tuple(state.value for state in Approval.State if state != Approval.State.VOID)


class ReviewedSerializer(serializers.Serializer[dict[str, Any]]):
    reviewed = serializers.CharField(help_text="SHA-256 of what was read, as of the draft or of its review.")


class AskSerializer(ReviewedSerializer):
    universe = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The items that publishing will list, none twice: only this list is approved. Not kept.",
    )


class DecisionSerializer(ReviewedSerializer):
    universe_hash = serializers.CharField(
        required=False, help_text="As of the request; needed where it is about a list of items."
    )
    note = serializers.CharField(
        required=False, max_length=NOTE_LENGTH, help_text="One line for who asked; needed to decline."
    )


class ApprovalSerializer(serializers.Serializer[dict[str, Any]]):
    number = serializers.IntegerField(help_text="Of the request.")
    draft = serializers.IntegerField(allow_null=True, help_text="Number of the draft; null of a series.")
    state = serializers.ChoiceField(choices=[state.value for state in Approval.State])
    reviewed = serializers.CharField(help_text="SHA-256 of the content that it is about.")
    universe_hash = serializers.CharField(
        allow_blank=True,
        help_text="SHA-256 of the JSON array of the listed items, sorted, as Python writes it; empty without "
        "such a list.",
    )
    asked_by = serializers.CharField(help_text="Username.")
    decided_by = serializers.CharField(allow_null=True, help_text="Username; null while nobody decided.")
    note = serializers.CharField(help_text="Of who decided; may be empty.")
    expires_at = serializers.DateTimeField(
        allow_null=True, help_text="Until when it can be published; null unless it is approved."
    )
    document = serializers.DictField(help_text="What it is about: a recipe file, or a series file.")


def approval_document(approval: Approval) -> dict[str, Any]:
    """A request for approval as plain JSON values."""
    expires = approval_expires(approval)
    return {
        "number": approval.pk,
        "draft": approval.recipe_id,
        "state": approval.state,
        "reviewed": approval.content,
        "universe_hash": approval.universe,
        "asked_by": approval.asked_by.get_username(),
        "decided_by": None if approval.decided_by is None else approval.decided_by.get_username(),
        "note": approval.note,
        "expires_at": None if expires is None else format_time(expires),
        "document": approval.document,
    }


RESPONSES = {
    200: ApprovalSerializer,
    400: problem_response("A member is missing, unknown or out of range; `field` names it."),
    409: problem_response(
        "It was changed after it was read, nobody is asked, or this account may not decide."
    ),
}
DECISION = ("reviewed", "universe_hash", "note")
EXAMPLE = {"reviewed": "9c" * 32}


class AskApprovalView(APIView):
    """An analyst asks for the approval of a draft."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Ask for the approval of a draft",
        description="Where its population needs four eyes, another analyst must approve of it before it is "
        "published. Sent twice, it is one request. An edit of the draft voids it.",
        operation_id="approval_ask",
        request=AskSerializer,
        responses=RESPONSES,
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request, number: int) -> Response:
        recipe = numbered_recipe(number)
        members = read_object(request._request, UNIVERSE_BYTES, names=("reviewed", "universe"))
        with as_problems(conflicts=RecipeStateError):
            approval = draft_approval_ask(
                recipe=recipe,
                reviewed=text_member(members, "reviewed"),
                universe=listed_universe(members.get("universe")),
                actor=signed_in_user(request._request),
            )
        return Response(approval_document(approval))


class ApproveView(APIView):
    """Another analyst approves."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_APPROVE}

    @extend_schema(
        summary="Approve a draft",
        description="Only accounts that wrote nothing of it and did not ask may. It can be published for "
        "7 days, once, and as it is now. Sent twice, it is one approval.",
        operation_id="recipe_approve",
        request=DecisionSerializer,
        responses=RESPONSES,
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request, number: int) -> Response:
        return _decided(request, _of_draft(number), approve=True)


class DeclineView(APIView):
    """Another analyst declines, or takes an approval back."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_APPROVE}

    @extend_schema(
        summary="Decline a draft",
        description="With a note that says why. Also takes an approval back, until it is published.",
        operation_id="recipe_decline",
        request=DecisionSerializer,
        responses=RESPONSES,
        examples=example({**EXAMPLE, "note": "the cohort is too small"}, request_only=True),
    )
    def post(self, request: Request, number: int) -> Response:
        return _decided(request, _of_draft(number), approve=False)


class ApprovalListSerializer(PagedSerializer):
    results = ApprovalSerializer(many=True)


class ApprovalsView(APIView):
    """What was asked: drafts and series."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ}

    @extend_schema(
        summary="List requests for approval",
        description="Of drafts and series, newest first.",
        operation_id="approvals",
        parameters=[
            OpenApiParameter("state", description=f"One of {', '.join(STATES)}; all where left out."),
            CURSOR,
        ],
        responses=ApprovalListSerializer,
    )
    def get(self, request: Request) -> Response:
        state = request.query_params.get("state")
        if state is not None and state not in STATES:
            raise invalid_parameter("state", f"state must be one of {', '.join(STATES)}.")
        return Response(api_results(approvals_list(state), request, PAGE_SIZE, approval_document))


class ApprovalView(APIView):
    """One request."""

    scopes: ClassVar[Scopes] = {"GET": RECIPES_READ}

    @extend_schema(
        summary="Fetch one request for approval",
        operation_id="approval",
        responses=ApprovalSerializer,
    )
    def get(self, request: Request, approval: int) -> Response:
        return Response(approval_document(_approval(approval)))


class ApprovalApproveView(APIView):
    """Another analyst approves of what was asked: a draft or a series."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_APPROVE}

    @extend_schema(
        summary="Approve a draft or a series",
        description="As `recipe_approve`. Who asked for a series publishes it then, all rounds at once.",
        operation_id="approval_approve",
        request=DecisionSerializer,
        responses=RESPONSES,
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request, approval: int) -> Response:
        return _decided(request, _numbered(approval), approve=True)


class ApprovalDeclineView(APIView):
    """Another analyst declines it, or takes an approval back."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_APPROVE}

    @extend_schema(
        summary="Decline a draft or a series",
        description="As `recipe_decline`.",
        operation_id="approval_decline",
        request=DecisionSerializer,
        responses=RESPONSES,
        examples=example({**EXAMPLE, "note": "the cohort is too small"}, request_only=True),
    )
    def post(self, request: Request, approval: int) -> Response:
        return _decided(request, _numbered(approval), approve=False)


def _decided(request: Request, approval_of: Callable[[str], Approval], *, approve: bool) -> Response:
    """Decide on the request for approval that is found by the hash of what was read."""
    members = read_object(request._request, BODY_BYTES, names=DECISION)
    with as_problems(conflicts=RecipeStateError):
        reviewed = text_member(members, "reviewed")
        decided = approval_decide(
            approval=approval_of(reviewed),
            reviewed=reviewed,
            approve=approve,
            universe=text_member(members, "universe_hash") if "universe_hash" in members else "",
            note=text_member(members, "note") if "note" in members else "",
            actor=signed_in_user(request._request),
        )
    return Response(approval_document(decided))


def _of_draft(number: int) -> Callable[[str], Approval]:
    """Of the draft of this number, which must be there."""
    recipe = numbered_recipe(number)

    def asked(reviewed: str) -> Approval:
        approval = approval_of_content(recipe, reviewed)
        if approval is None:
            raise RecipeStateError("nobody asked for the approval of this content")
        return approval

    return asked


def _numbered(number: int) -> Callable[[str], Approval]:
    approval = _approval(number)
    return lambda _: approval


def _approval(number: int) -> Approval:
    approval = approvals_list().filter(pk=number).first()
    if approval is None:
        raise not_found("No request for approval has this number.")
    return approval
