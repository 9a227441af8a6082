"""Four eyes for programs, by the operations that the pages call."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed
from panprivacy.recipe import format_time
from recipes.approvals import approval_decide, approval_expires, draft_approval_ask
from recipes.drafts_api import numbered_recipe
from recipes.errors import RecipeStateError
from recipes.models import NOTE_LENGTH, Approval
from recipes.scopes import RECIPES_APPROVE, RECIPES_WRITE
from web.json_requests import read_object
from web.openapi import example, problem_response
from web.problems import conflict, invalid_field
from web.scopes import Scopes

BODY_BYTES = 8 * 1024


class AskSerializer(serializers.Serializer[dict[str, Any]]):
    reviewed = serializers.CharField(help_text="SHA-256 of what was read, as of the draft or of its review.")


class DecisionSerializer(AskSerializer):
    note = serializers.CharField(
        required=False, max_length=NOTE_LENGTH, help_text="One line for who asked; needed to decline."
    )


class ApprovalSerializer(serializers.Serializer[dict[str, Any]]):
    state = serializers.ChoiceField(choices=[state.value for state in Approval.State])
    reviewed = serializers.CharField(help_text="SHA-256 of the content that it is about.")
    asked_by = serializers.CharField(help_text="Username.")
    decided_by = serializers.CharField(allow_null=True, help_text="Username; null while nobody decided.")
    note = serializers.CharField(help_text="Of who decided; may be empty.")
    expires_at = serializers.DateTimeField(
        allow_null=True, help_text="Until when it can be published; null unless it is approved."
    )


def approval_document(approval: Approval) -> dict[str, Any]:
    """A request for approval as plain JSON values."""
    expires = approval_expires(approval)
    return {
        "state": approval.state,
        "reviewed": approval.content,
        "asked_by": approval.asked_by.get_username(),
        "decided_by": None if approval.decided_by is None else approval.decided_by.get_username(),
        "note": approval.note,
        "expires_at": None if expires is None else format_time(expires),
    }


RESPONSES = {
    200: ApprovalSerializer,
    400: problem_response("A member is missing, unknown or out of range; `field` names it."),
    409: problem_response(
        "It was changed after it was read, nobody is asked, or this account may not decide."
    ),
}
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
        members = read_object(request._request, BODY_BYTES, names=("reviewed",))
        try:
            approval = draft_approval_ask(
                recipe=numbered_recipe(number),
                reviewed=_text(members, "reviewed"),
                actor=signed_in_user(request._request),
            )
        except FieldError as error:
            raise invalid_field(error) from None
        except RecipeStateError as error:
            raise conflict(error) from None
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
        return _decide(request, number, approve=True)


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
        return _decide(request, number, approve=False)


def _decide(request: Request, number: int, *, approve: bool) -> Response:
    recipe = numbered_recipe(number)
    members = read_object(request._request, BODY_BYTES, names=("reviewed", "note"))
    try:
        reviewed = _text(members, "reviewed")
        note = _text(members, "note") if "note" in members else ""
        approval = recipe.approvals.filter(content=reviewed).first()
        if approval is None:
            raise RecipeStateError("nobody asked for the approval of this content")
        approval = approval_decide(
            approval=approval,
            reviewed=reviewed,
            approve=approve,
            note=note,
            actor=signed_in_user(request._request),
        )
    except FieldError as error:
        raise invalid_field(error) from None
    except RecipeStateError as error:
        raise conflict(error) from None
    return Response(approval_document(approval))


def _text(members: dict[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise FieldError(name, f"must be text, not {as_typed(value)}" if name in members else "is missing")
    return value
