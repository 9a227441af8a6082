"""Webhooks for programs: each account sees and changes its own."""

import uuid
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from notifications.kinds import KINDS
from notifications.models import Subscription
from notifications.operations import delivery_again, secret_rotate, webhook_create
from notifications.scopes import WEBHOOKS_READ, WEBHOOKS_WRITE
from notifications.selectors import deliveries_of, webhooks_of
from notifications.subscriptions_api import (
    BODY_BYTES,
    CONFLICT,
    GONE,
    OFTEN,
    PAGE_SIZE,
    DeliveryListSerializer,
    DeliverySerializer,
    deliveries_listed,
    delivery_document,
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


class NewWebhookSerializer(ExactSerializer):
    url = serializers.CharField(help_text="Where messages are posted to: https, a public host.")
    events = serializers.ListField(
        child=serializers.ChoiceField(list(KINDS)), help_text="Kinds of events to be told, at least one."
    )


class WebhookSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.CharField(help_text="16 hexadecimal digits.")
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="First failure since the last success."
    )
    disabled_at = serializers.DateTimeField(
        allow_null=True, help_text="Since when it is sent nothing; a test that arrives ends this."
    )


class SecretSerializer(serializers.Serializer[dict[str, Any]]):
    secret = serializers.CharField(help_text="Begins with whsec_. It is not shown again.")


class WebhookWithSecretSerializer(WebhookSerializer, SecretSerializer):
    pass


class WebhookListSerializer(PagedSerializer):
    results = WebhookSerializer(many=True)


class WebhooksView(APIView):
    """One's own webhooks."""

    scopes: ClassVar[Scopes] = {"GET": WEBHOOKS_READ, "POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhooks",
        summary="List your webhooks",
        parameters=[CURSOR],
        responses=WebhookListSerializer,
    )
    def get(self, request: Request) -> Response:
        webhooks = webhooks_of(signed_in_user(request._request))
        return Response(api_results(webhooks, request, PAGE_SIZE, _shown))

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
        members = read_object(request._request, BODY_BYTES, names=("url", "events"))
        with refusals():
            made, secret = webhook_create(
                user=signed_in_user(request._request),
                url=text_member(members, "url"),
                events=members.get("events"),
            )
        location = reverse("api-webhook", args=[made.identifier])
        return Response({**_shown(made), "secret": secret}, status=201, headers={"Location": location})


class WebhookView(APIView):
    """One webhook."""

    scopes: ClassVar[Scopes] = {"GET": WEBHOOKS_READ, "DELETE": WEBHOOKS_WRITE}

    @extend_schema(operation_id="webhook", summary="Show a webhook", responses=WebhookSerializer)
    def get(self, request: Request, webhook: str) -> Response:
        return Response(_shown(_own(request, webhook)))

    @extend_schema(
        operation_id="webhook_delete",
        summary="Delete a webhook",
        responses=GONE,
    )
    def delete(self, request: Request, webhook: str) -> HttpResponse:
        return subscription_deleted(request, _own(request, webhook))


class RotateView(APIView):
    """A new secret."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_rotate",
        summary="Rotate the secret of a webhook",
        description="For a day, messages are signed with the secret before, too.",
        request=None,
        responses={200: SecretSerializer, 429: OFTEN},
    )
    def post(self, request: Request, webhook: str) -> Response:
        actor, own = signed_in_user(request._request), _own(request, webhook)
        with refusals():
            return Response({"secret": secret_rotate(subscription=own, actor=actor)})


class TestView(APIView):
    """A test."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_test",
        summary="Send a test",
        request=None,
        responses={202: DeliverySerializer, 409: CONFLICT, 429: OFTEN},
    )
    def post(self, request: Request, webhook: str) -> Response:
        return trial_sent(_own(request, webhook))


class DeliveriesView(APIView):
    """The log of a webhook's deliveries."""

    scopes: ClassVar[Scopes] = {"GET": WEBHOOKS_READ}

    @extend_schema(
        operation_id="webhook_deliveries",
        summary="List deliveries of a webhook",
        parameters=[CURSOR],
        responses=DeliveryListSerializer,
    )
    def get(self, request: Request, webhook: str) -> Response:
        return deliveries_listed(request, _own(request, webhook))


class AgainView(APIView):
    """A message once more."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_deliver_again",
        summary="Send a message again",
        description="Under the identifier that it has, so that a receiver can drop it.",
        request=None,
        responses={202: DeliverySerializer, 409: CONFLICT, 429: OFTEN},
    )
    def post(self, request: Request, webhook: str, message: uuid.UUID) -> Response:
        row = get_object_or_404(deliveries_of(_own(request, webhook)), message=message)
        with refusals():
            delivery_again(delivery=row)
        row.refresh_from_db()
        return Response(delivery_document(row), status=202)


def _own(request: Request, webhook: str) -> Subscription:
    return own_of(webhooks_of(signed_in_user(request._request)), webhook)


def _shown(webhook: Subscription) -> dict[str, Any]:
    return {**subscription_document(webhook), "url": webhook.target}
