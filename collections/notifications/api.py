"""Webhooks for programs: each account sees and changes its own."""

import uuid
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from notifications.kinds import KINDS
from notifications.models import Delivery, Subscription
from notifications.operations import (
    NotificationStateError,
    delivery_again,
    secret_rotate,
    subscription_delete,
    trial_send,
    webhook_create,
)
from notifications.scopes import WEBHOOKS_READ, WEBHOOKS_WRITE
from notifications.selectors import deliveries_of, webhooks_of
from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed
from web.json_requests import read_object
from web.openapi import CURSOR, ExactSerializer, example, problem_response
from web.paging import api_page
from web.problems import conflict, invalid_field
from web.scopes import Scopes

PAGE_SIZE = 100
BODY_BYTES = 8 * 1024

CONFLICT = problem_response("The state does not allow this; the words say why.")


class WebhookRequestSerializer(ExactSerializer):
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


class NewWebhookSerializer(WebhookSerializer, SecretSerializer):
    pass


class AttemptSerializer(serializers.Serializer[dict[str, Any]]):
    at = serializers.DateTimeField()
    status = serializers.IntegerField(allow_null=True, help_text="HTTP status; null without an answer.")
    problem = serializers.CharField(help_text="Why it failed; empty where it arrived.")


class DeliverySerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.UUIDField(help_text="With msg_ before its digits, it is the header webhook-id.")
    type = serializers.CharField(help_text="Kind of event, or test.")
    state = serializers.ChoiceField(Delivery.State.choices)
    created_at = serializers.DateTimeField()
    next_attempt_at = serializers.DateTimeField(allow_null=True, help_text="null: there is none.")
    attempts = AttemptSerializer(many=True)


class WebhookListSerializer(serializers.Serializer[dict[str, Any]]):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")
    results = WebhookSerializer(many=True)


class DeliveryListSerializer(serializers.Serializer[dict[str, Any]]):
    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")
    results = DeliverySerializer(many=True)


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
        page, following = api_page(webhooks_of(signed_in_user(request._request)), request, PAGE_SIZE)
        return Response({"next": following, "results": [_shown(webhook) for webhook in page]})

    @extend_schema(
        operation_id="webhook_create",
        summary="Add a webhook",
        description="Messages are signed with the secret of the answer, as Standard Webhooks has it.",
        request=WebhookRequestSerializer,
        responses={
            201: NewWebhookSerializer,
            400: problem_response("The address or the events are refused."),
            409: CONFLICT,
        },
        examples=example(
            {"url": "https://receiver.example/hook", "events": ["result.released"]}, request_only=True
        ),
    )
    def post(self, request: Request) -> Response:
        members = read_object(request._request, BODY_BYTES, names=("url", "events"))
        url = members.get("url")
        try:
            if not isinstance(url, str):
                raise FieldError("url", f"must be text, not {as_typed(url)}")
            made, secret = webhook_create(
                user=signed_in_user(request._request), url=url, events=members.get("events")
            )
        except FieldError as error:
            raise invalid_field(error) from None
        except NotificationStateError as error:
            raise conflict(error) from None
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
        responses={204: OpenApiResponse(description="It is gone, with its log.")},
    )
    def delete(self, request: Request, webhook: str) -> HttpResponse:
        actor = signed_in_user(request._request)
        subscription_delete(subscription=_own(request, webhook), actor=actor)
        return HttpResponse(status=204)


class RotateView(APIView):
    """A new secret."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_rotate",
        summary="Rotate the secret of a webhook",
        description="For a day, messages are signed with the secret before, too.",
        request=None,
        responses=SecretSerializer,
    )
    def post(self, request: Request, webhook: str) -> Response:
        actor = signed_in_user(request._request)
        return Response({"secret": secret_rotate(subscription=_own(request, webhook), actor=actor)})


class TestView(APIView):
    """A test."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_test",
        summary="Send a test",
        request=None,
        responses={202: DeliverySerializer, 409: CONFLICT},
    )
    def post(self, request: Request, webhook: str) -> Response:
        try:
            made = trial_send(subscription=_own(request, webhook))
        except NotificationStateError as error:
            raise conflict(error) from None
        return Response(_delivery_shown(made), status=202)


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
        page, following = api_page(deliveries_of(_own(request, webhook)), request, PAGE_SIZE)
        return Response({"next": following, "results": [_delivery_shown(row) for row in page]})


class AgainView(APIView):
    """A message once more."""

    scopes: ClassVar[Scopes] = {"POST": WEBHOOKS_WRITE}

    @extend_schema(
        operation_id="webhook_deliver_again",
        summary="Send a message again",
        description="Under the identifier that it has, so that a receiver can drop it.",
        request=None,
        responses={202: DeliverySerializer, 409: CONFLICT},
    )
    def post(self, request: Request, webhook: str, message: uuid.UUID) -> Response:
        row = get_object_or_404(deliveries_of(_own(request, webhook)), message=message)
        try:
            delivery_again(delivery=row)
        except NotificationStateError as error:
            raise conflict(error) from None
        row.refresh_from_db()
        return Response(_delivery_shown(row), status=202)


def _own(request: Request, webhook: str) -> Subscription:
    return get_object_or_404(webhooks_of(signed_in_user(request._request)), identifier=webhook)


def _shown(webhook: Subscription) -> dict[str, Any]:
    return {
        "id": webhook.identifier,
        "url": webhook.target,
        "events": webhook.events,
        "created_at": webhook.created_at,
        "failing_since": webhook.failing_since,
        "disabled_at": webhook.disabled_at,
    }


def _delivery_shown(row: Delivery) -> dict[str, Any]:
    waits = row.state == Delivery.State.WAITING and not row.queued
    attempts = row.attempts.all()
    return {
        "id": row.message,
        "type": row.event.kind if row.event else row.purpose,
        "state": row.state,
        "created_at": row.created_at,
        "next_attempt_at": row.next_attempt_at if waits else None,
        "attempts": [{"at": one.at, "status": one.status, "problem": one.problem} for one in attempts],
    }
