"""Accounts for programs of administrators."""

from typing import ClassVar

from django.contrib.auth.models import User
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.operations import AccountStateError, account_change, account_create
from accounts.scopes import ACCOUNTS_READ, ACCOUNTS_WRITE
from web.openapi import CURSOR, example, problem_response
from web.paging import api_results
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer, paged

NEW = {"username": "ana", "password": "a long password that is hard to guess", "groups": ["Analysts"]}
CHANGE = {"active": False, "groups": []}
REFUSED = problem_response("A field is missing, unknown or refused; `field` names it.")


class AccountChangeSerializer(ExactSerializer):
    active = serializers.BooleanField(help_text="Whether it can sign in, and its tokens work.")
    groups = serializers.ListField(child=serializers.CharField(), help_text="Names of its groups.")


class NewAccountSerializer(ExactSerializer):
    username = serializers.CharField(
        max_length=150, help_text="Letters of one script, digits and @ . + - _; like no other account."
    )
    password = serializers.CharField(help_text="To sign in with; the site's rules for passwords hold.")
    groups = serializers.ListField(child=serializers.CharField(), help_text="Names of its groups.")


class AccountSerializer(serializers.Serializer[User]):
    username = serializers.CharField()
    active = serializers.BooleanField(source="is_active")
    administrator = serializers.SerializerMethodField(help_text="Changed on pages only.")
    groups = serializers.SerializerMethodField()

    def get_administrator(self, user: User) -> bool:
        return user.is_superuser or user.is_staff

    def get_groups(self, user: User) -> list[str]:
        return sorted(group.name for group in user.groups.all())


class AccountsView(APIView):
    """Every account, newest first."""

    scopes: ClassVar[Scopes] = {"GET": ACCOUNTS_READ, "POST": ACCOUNTS_WRITE}

    @extend_schema(
        operation_id="accounts_list",
        summary="List accounts",
        parameters=[CURSOR],
        responses=paged(AccountSerializer),
    )
    def get(self, request: Request) -> Response:
        rows = User.objects.prefetch_related("groups").order_by("-pk")
        return Response(api_results(rows, request, AccountSerializer))

    @extend_schema(
        operation_id="account_create",
        summary="Make an account",
        description="It is no administrator. Sent twice, the second is refused: the name is taken.",
        request=NewAccountSerializer,
        responses={201: AccountSerializer, 400: REFUSED},
        examples=example(NEW, request_only=True),
    )
    def post(self, request: Request) -> Response:
        asked = NewAccountSerializer.read(request)
        with as_problems():
            made = account_create(**asked)
        location = reverse("api-account", args=[made.get_username()])
        return Response(AccountSerializer(made).data, status=201, headers={"Location": location})


class AccountView(APIView):
    """One account."""

    scopes: ClassVar[Scopes] = {"GET": ACCOUNTS_READ, "PUT": ACCOUNTS_WRITE}

    @extend_schema(operation_id="account", summary="Show an account", responses=AccountSerializer)
    def get(self, request: Request, username: str) -> Response:
        return Response(AccountSerializer(_account(username)).data)

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
        asked = AccountChangeSerializer.read(request)
        with as_problems(conflicts=AccountStateError):
            changed = account_change(user=user, **asked)
        return Response(AccountSerializer(changed).data)


def _account(username: str) -> User:
    return get_object_or_404(User, username=username)
