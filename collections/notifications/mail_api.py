"""E-mail for programs: each account sees and changes its own subscription.

The link in the mail confirms it.
"""

from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from notifications.kinds import KINDS
from notifications.models import Subscription
from notifications.operations import mail_subscribe
from notifications.scopes import MAIL_READ, MAIL_WRITE
from notifications.selectors import mails_of
from notifications.subscriptions_api import (
    BODY_BYTES,
    CONFLICT,
    GONE,
    OFTEN,
    PAGE_SIZE,
    DeliveryListSerializer,
    DeliverySerializer,
    deliveries_listed,
    own_of,
    refusals,
    subscription_deleted,
    subscription_document,
    trial_sent,
)
from web.json_requests import read_object, text_member
from web.openapi import CURSOR, ExactSerializer, PagedSerializer, example, problem_response
from web.paging import api_results
from web.scopes import Scopes

EXAMPLE = {"address": "ana@example.org", "events": ["result.released"]}


class NewMailSerializer(ExactSerializer):
    address = serializers.CharField(help_text="Where the link that confirms it goes.")
    events = serializers.ListField(
        child=serializers.ChoiceField(list(KINDS)), help_text="Kinds of events to be told, at least one."
    )


class MailSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.CharField(help_text="16 hexadecimal digits.")
    address = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    confirmed_at = serializers.DateTimeField(
        allow_null=True, help_text="null until the link is used; nothing else is sent before."
    )
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="First failure since the last success."
    )
    disabled_at = serializers.DateTimeField(allow_null=True, help_text="Since when it is sent nothing.")


class MailListSerializer(PagedSerializer):
    results = MailSerializer(many=True)


class MailsView(APIView):
    """One's own subscription by e-mail."""

    scopes: ClassVar[Scopes] = {"GET": MAIL_READ, "POST": MAIL_WRITE}

    @extend_schema(
        operation_id="mail_subscriptions",
        summary="List your subscription by e-mail",
        parameters=[CURSOR],
        responses=MailListSerializer,
    )
    def get(self, request: Request) -> Response:
        return Response(api_results(mails_of(signed_in_user(request._request)), request, PAGE_SIZE, _shown))

    @extend_schema(
        operation_id="mail_subscribe",
        summary="Subscribe by e-mail",
        description="A link goes to the address; who opens it there confirms it. Takes the place of the "
        "subscription before. Sent twice, the second link is the one that works.",
        request=NewMailSerializer,
        responses={
            201: MailSerializer,
            400: problem_response("The address or the events are refused."),
            409: CONFLICT,
            429: OFTEN,
        },
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request) -> Response:
        members = read_object(request._request, BODY_BYTES, names=tuple(EXAMPLE))
        with refusals():
            made = mail_subscribe(
                user=signed_in_user(request._request),
                address=text_member(members, "address"),
                events=members.get("events"),
            )
        location = reverse("api-mail", args=[made.identifier])
        return Response(_shown(made), status=201, headers={"Location": location})


class MailView(APIView):
    """One subscription."""

    scopes: ClassVar[Scopes] = {"GET": MAIL_READ, "DELETE": MAIL_WRITE}

    @extend_schema(
        operation_id="mail_subscription", summary="Show a subscription by e-mail", responses=MailSerializer
    )
    def get(self, request: Request, mail: str) -> Response:
        return Response(_shown(_own(request, mail)))

    @extend_schema(
        operation_id="mail_unsubscribe",
        summary="Unsubscribe",
        responses=GONE,
    )
    def delete(self, request: Request, mail: str) -> HttpResponse:
        return subscription_deleted(request, _own(request, mail))


class MailTestView(APIView):
    """A test."""

    scopes: ClassVar[Scopes] = {"POST": MAIL_WRITE}

    @extend_schema(
        operation_id="mail_test",
        summary="Send a test by e-mail",
        request=None,
        responses={202: DeliverySerializer, 409: CONFLICT, 429: OFTEN},
    )
    def post(self, request: Request, mail: str) -> Response:
        return trial_sent(_own(request, mail))


class MailDeliveriesView(APIView):
    """The log of what was sent."""

    scopes: ClassVar[Scopes] = {"GET": MAIL_READ}

    @extend_schema(
        operation_id="mail_deliveries",
        summary="List deliveries by e-mail",
        parameters=[CURSOR],
        responses=DeliveryListSerializer,
    )
    def get(self, request: Request, mail: str) -> Response:
        return deliveries_listed(request, _own(request, mail))


def _own(request: Request, mail: str) -> Subscription:
    return own_of(mails_of(signed_in_user(request._request)), mail)


def _shown(mail: Subscription) -> dict[str, Any]:
    return {**subscription_document(mail), "address": mail.target, "confirmed_at": mail.confirmed_at}
