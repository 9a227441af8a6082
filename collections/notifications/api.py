"""Webhooks for programs: each account sees and changes its own."""

import uuid
from typing import Any, ClassVar

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
from notifications.operations import delivery_again, secret_rotate, webhook_create
from notifications.scopes import WEBHOOKS_READ, WEBHOOKS_WRITE
from notifications.selectors import deliveries_of, webhooks_of
from notifications.subscriptions_api import (
    CONFLICT,
    OFTEN,
    DeliverySerializer,
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


class NewWebhookSerializer(ExactSerializer):
    url = serializers.CharField(help_text="The address to which messages are posted: https, a public host.")
    events = serializers.ListField(
        child=serializers.ChoiceField(list(KINDS)), help_text="Types of events to notify about, at least one."
    )


class WebhookSerializer(SubscriptionSerializer):
    url = serializers.CharField(source="target")


class NewSecretSerializer(serializers.Serializer[dict[str, Any]]):
    secret = serializers.CharField(help_text="Begins with whsec_. It is not shown again.")


class WebhookWithSecretSerializer(WebhookSerializer, NewSecretSerializer):
    pass


class WebhooksView(APIView):
    """One's own webhooks."""

    scopes: ClassVar[Scopes] = {"GET": WEBHOOKS_READ, "POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhooks_list",
        summary="List your webhooks",
        parameters=[CURSOR],
        responses=paged(WebhookSerializer),
    )
    def get(self, request: Request) -> Response:
        webhooks = webhooks_of(signed_in_user(request._request))
        return Response(api_results(webhooks, request, WebhookSerializer))

    @extend_schema(
        operation_id="webhook_create",
        summary="Add a webhook",
        description="Messages are signed with the secret of the answer, as Standard Webhooks has it.",
        request=NewWebhookSerializer,
        responses={
            201: WebhookWithSecretSerializer,
            400: problem_response("The address or the events are refused."),
            409: CONFLICT,
            429: OFTEN,
        },
        examples=example(
            {"url": "https://receiver.example/hook", "events": ["result.released"]}, request_only=True
        ),
    )
    def post(self, request: Request) -> Response:
        user, asked = signed_in_user(request._request), NewWebhookSerializer.read(request)
        with refusals():
            made, secret = webhook_create(user=user, **asked)
        location = reverse("api-webhook", args=[made.identifier])
        shown = {**WebhookSerializer(made).data, "secret": secret}
        return Response(shown, status=201, headers={"Location": location})


class _OwnWebhookView(OwnView):
    def own(self) -> Subscription:
        rows = webhooks_of(signed_in_user(self.request._request))
        return get_object_or_404(rows, identifier=self.kwargs["webhook"])


@extend_schema_view(
    get=extend_schema(operation_id="webhook", summary="Show a webhook", responses=WebhookSerializer),
    delete=extend_schema(operation_id="webhook_delete", summary="Delete a webhook"),
)
class WebhookView(_OwnWebhookView, OneView):
    """One webhook."""

    scopes: ClassVar[Scopes] = {"GET": WEBHOOKS_READ, "DELETE": WEBHOOKS_WRITE}
    shown = WebhookSerializer


class RotateView(_OwnWebhookView):
    """A new secret."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_rotate",
        summary="Rotate the secret of a webhook",
        description="For a day, messages are also signed with the previous secret.",
        request=None,
        responses={200: NewSecretSerializer, 429: OFTEN},
    )
    def post(self, request: Request, **_: str) -> Response:
        actor, own = signed_in_user(request._request), self.own()
        with refusals():
            return Response({"secret": secret_rotate(subscription=own, actor=actor)})


@extend_schema_view(post=extend_schema(operation_id="webhook_test", summary="Send a test"))
class TestView(_OwnWebhookView, TrialView):
    """A test."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}


@extend_schema_view(
    get=extend_schema(operation_id="webhook_deliveries", summary="List deliveries of a webhook")
)
class DeliveriesView(_OwnWebhookView, OwnDeliveriesView):
    """The log of a webhook's deliveries."""

    scopes: ClassVar[Scopes] = {"GET": WEBHOOKS_READ}


class AgainView(_OwnWebhookView):
    """A message once more."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_deliver_again",
        summary="Send a message again",
        description="Under the identifier that it has, so that a receiver can drop it.",
        request=None,
        responses={202: DeliverySerializer, 409: CONFLICT, 429: OFTEN},
    )
    def post(self, request: Request, *, message: uuid.UUID, **_: str) -> Response:
        row = get_object_or_404(deliveries_of(self.own()), message=message)
        with refusals():
            delivery_again(delivery=row)
        row.refresh_from_db()
        return Response(DeliverySerializer(row).data, status=202)
