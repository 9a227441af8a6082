"""Accounts for programs of administrators."""

from typing import Any, ClassVar

from django.contrib.auth.models import Group, User
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.operations import AccountStateError, account_change, account_create
from accounts.scopes import ACCOUNTS_READ, ACCOUNTS_WRITE
from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed
from web.json_requests import read_object, text_member
from web.openapi import CURSOR, ExactSerializer, PagedSerializer, example, problem_response
from web.paging import api_results
from web.refusing import as_problems
from web.scopes import Scopes

PAGE_SIZE = 100
BODY_BYTES = 8 * 1024

NEW = {"username": "ana", "password": "a long one that nobody guesses", "groups": ["Analysts"]}
CHANGE = {"active": False, "groups": []}
REFUSED = problem_response("A member is missing, unknown or refused; `field` names it.")


class AccountChangeSerializer(ExactSerializer):
    active = serializers.BooleanField(help_text="Whether it can sign in, and its tokens work.")
    groups = serializers.ListField(child=serializers.CharField(), help_text="Names of its groups.")


class NewAccountSerializer(ExactSerializer):
    username = serializers.CharField(
        max_length=150, help_text="Letters of one script, digits and @ . + - _; like no other account."
    )
    password = serializers.CharField(help_text="To sign in with; the site's rules for passwords hold.")
    groups = serializers.ListField(child=serializers.CharField(), help_text="Names of its groups.")


class AccountSerializer(serializers.Serializer[dict[str, Any]]):
    username = serializers.CharField()
    active = serializers.BooleanField()
    administrator = serializers.BooleanField(help_text="Changed on pages only.")
    groups = serializers.ListField(child=serializers.CharField())


class AccountListSerializer(PagedSerializer):
    results = AccountSerializer(many=True)


class AccountsView(APIView):
    """Every account, newest first."""

    scopes: ClassVar[Scopes] = {"GET": ACCOUNTS_READ, "POST": ACCOUNTS_WRITE}

    @extend_schema(
        operation_id="accounts",
        summary="List accounts",
        parameters=[CURSOR],
        responses=AccountListSerializer,
    )
    def get(self, request: Request) -> Response:
        rows = User.objects.prefetch_related("groups").order_by("-pk")
        return Response(api_results(rows, request, PAGE_SIZE, _shown))

    @extend_schema(
        operation_id="account_create",
        summary="Make an account",
        description="It is no administrator. Sent twice, the second is refused: the name is taken.",
        request=NewAccountSerializer,
        responses={201: AccountSerializer, 400: REFUSED},
        examples=example(NEW, request_only=True),
    )
    def post(self, request: Request) -> Response:
        members = read_object(request._request, BODY_BYTES, names=tuple(NEW))
        with as_problems():
            made = account_create(
                username=text_member(members, "username"),
                password=text_member(members, "password"),
                groups=_groups(members),
            )
        location = reverse("api-account", args=[made.get_username()])
        return Response(_shown(made), status=201, headers={"Location": location})


class AccountView(APIView):
    """One account."""

    scopes: ClassVar[Scopes] = {"GET": ACCOUNTS_READ, "PUT": ACCOUNTS_WRITE}

    @extend_schema(operation_id="account", summary="Show an account", responses=AccountSerializer)
    def get(self, request: Request, username: str) -> Response:
        return Response(_shown(_account(username)))

    @extend_schema(
        operation_id="account_change",
        summary="Switch an account on or off, and set its groups",
        request=AccountChangeSerializer,
        responses={
            200: AccountSerializer,
            400: REFUSED,
            409: problem_response("It is an administrator, who is changed on pages only."),
        },
        examples=example(CHANGE, request_only=True),
    )
    def put(self, request: Request, username: str) -> Response:
        user = _account(username)
        members = read_object(request._request, BODY_BYTES, names=tuple(CHANGE))
        with as_problems(conflicts=AccountStateError):
            changed = account_change(user=user, active=_active(members), groups=_groups(members))
        return Response(_shown(changed))


def _account(username: str) -> User:
    return get_object_or_404(User, username=username)


def _active(members: dict[str, Any]) -> bool:
    value = members.get("active")
    if not isinstance(value, bool):
        raise FieldError("active", f"must be true or false, not {as_typed(value)}")
    return value


def _groups(members: dict[str, Any]) -> list[str]:
    value = members.get("groups")
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise FieldError("groups", f"must be a list of names, not {as_typed(value)}")
    if len(value) > Group.objects.count():
        raise FieldError("groups", "must name each group once at most")
    return value


def _shown(user: User) -> dict[str, Any]:
    return {
        "username": user.get_username(),
        "active": user.is_active,
        "administrator": user.is_superuser or user.is_staff,
        "groups": sorted(group.name for group in user.groups.all()),
    }
