"""What the APIs of webhooks and of e-mail have in common: one's own subscriptions, and their deliveries."""

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from audit.access import signed_in_user
from notifications.models import Delivery, Subscription
from notifications.operations import NotificationStateError, TooOftenError, subscription_delete, trial_send
from notifications.selectors import deliveries_of
from web.openapi import PagedSerializer, problem_response
from web.paging import api_results
from web.refusing import as_problems

refusals = partial(as_problems, conflicts=NotificationStateError, often=TooOftenError)
"""What the operations here refuse, as problem documents."""

PAGE_SIZE = 100
BODY_BYTES = 8 * 1024

OFTEN = problem_response("It was asked too often within an hour; the words say how often it may be.")
CONFLICT = problem_response("The state does not allow this; the words say why.")
GONE = {204: OpenApiResponse(description="It is gone, with its log.")}


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


class DeliveryListSerializer(PagedSerializer):
    results = DeliverySerializer(many=True)


def own_of(subscriptions: QuerySet[Subscription], identifier: str) -> Subscription:
    """The one of these; raises Http404 where there is none, so that nobody learns of those of others."""
    return get_object_or_404(subscriptions, identifier=identifier)


def subscription_document(subscription: Subscription) -> dict[str, Any]:
    """What is told of every subscription, as plain JSON values."""
    return {
        "id": subscription.identifier,
        "events": subscription.events,
        "created_at": subscription.created_at,
        "failing_since": subscription.failing_since,
        "disabled_at": subscription.disabled_at,
    }


def subscription_deleted(request: Request, own: Subscription) -> HttpResponse:
    """Delete it, and say so."""
    subscription_delete(subscription=own, actor=signed_in_user(request._request))
    return HttpResponse(status=204)


def trial_sent(own: Subscription) -> Response:
    """Send a test, and show its delivery."""
    with refusals():
        return Response(delivery_document(trial_send(subscription=own)), status=202)


def deliveries_listed(request: Request, own: Subscription) -> Response:
    """Its deliveries."""
    return Response(api_results(deliveries_of(own), request, PAGE_SIZE, delivery_document))


def delivery_document(row: Delivery) -> dict[str, Any]:
    """A delivery as plain JSON values."""
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
