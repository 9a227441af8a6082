"""E-mail for programs: each account sees and changes its own subscription.

The link in the mail confirms it.
"""

from typing import ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from notifications.kinds import KINDS
from notifications.models import Subscription
from notifications.operations import mail_subscribe
from notifications.scopes import MAIL_READ, MAIL_WRITE
from notifications.selectors import mails_of
from notifications.subscriptions_api import (
    CONFLICT,
    OFTEN,
    OneView,
    OwnDeliveriesView,
    OwnView,
    SubscriptionSerializer,
    TrialView,
    refusals,
)
from web.openapi import CURSOR, example, problem_response
from web.paging import api_results
from web.scopes import Scopes
from web.serializers import ExactSerializer, paged

EXAMPLE = {"address": "ana@example.org", "events": ["result.released"]}


class NewMailSerializer(ExactSerializer):
    address = serializers.CharField(help_text="The address, to which a link goes that confirms it.")
    events = serializers.ListField(
        child=serializers.ChoiceField(list(KINDS)), help_text="Types of events to notify about, at least one."
    )


class MailSerializer(SubscriptionSerializer):
    address = serializers.CharField(source="target")
    confirmed_at = serializers.DateTimeField(
        allow_null=True, help_text="null until the link is used; nothing else is sent before."
    )


class MailsView(APIView):
    """One's own subscription by e-mail."""

    scopes: ClassVar[Scopes] = {"GET": MAIL_READ, "POST": MAIL_WRITE}

    @extend_schema(
        operation_id="mail_subscriptions_list",
        summary="List your subscription by e-mail",
        parameters=[CURSOR],
        responses=paged(MailSerializer),
    )
    def get(self, request: Request) -> Response:
        return Response(api_results(mails_of(signed_in_user(request._request)), request, MailSerializer))

    @extend_schema(
        operation_id="mail_subscribe",
        summary="Subscribe by e-mail",
        description="A link goes to the address; opening it confirms the address. Takes the place of the "
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
        user, asked = signed_in_user(request._request), NewMailSerializer.read(request)
        with refusals():
            made = mail_subscribe(user=user, **asked)
        location = reverse("api-mail", args=[made.identifier])
        return Response(MailSerializer(made).data, status=201, headers={"Location": location})


class _OwnMailView(OwnView):
    def own(self) -> Subscription:
        rows = mails_of(signed_in_user(self.request._request))
        return get_object_or_404(rows, identifier=self.kwargs["mail"])


@extend_schema_view(
    get=extend_schema(
        operation_id="mail_subscription", summary="Show a subscription by e-mail", responses=MailSerializer
    ),
    delete=extend_schema(operation_id="mail_unsubscribe", summary="Unsubscribe"),
)
class MailView(_OwnMailView, OneView):
    """One subscription."""

    scopes: ClassVar[Scopes] = {"GET": MAIL_READ, "DELETE": MAIL_WRITE}
    shown = MailSerializer


@extend_schema_view(post=extend_schema(operation_id="mail_test", summary="Send a test by e-mail"))
class MailTestView(_OwnMailView, TrialView):
    """A test."""

    scopes: ClassVar[Scopes] = {"POST": MAIL_WRITE}


@extend_schema_view(get=extend_schema(operation_id="mail_deliveries", summary="List deliveries by e-mail"))
class MailDeliveriesView(_OwnMailView, OwnDeliveriesView):
    """The log of what was sent."""

    scopes: ClassVar[Scopes] = {"GET": MAIL_READ}
