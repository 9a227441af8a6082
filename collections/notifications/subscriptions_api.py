"""What the APIs of webhooks and of e-mail have in common: one's own subscriptions, and their deliveries."""

from datetime import datetime
from functools import partial
from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from notifications.models import Attempt, Delivery, Subscription
from notifications.operations import NotificationStateError, TooOftenError, subscription_delete, trial_send
from notifications.selectors import deliveries_of
from web.openapi import CURSOR, problem_response
from web.paging import api_results
from web.refusals import as_problems
from web.serializers import paged

refusals = partial(as_problems, conflicts=NotificationStateError, often=TooOftenError)
"""What the operations here refuse, as problem documents."""

OFTEN = problem_response("It was asked too often within an hour; the words say how often it may be.")
CONFLICT = problem_response("The state does not allow this; the words say why.")


class AttemptSerializer(serializers.Serializer[Attempt]):
    at = serializers.DateTimeField()
    status = serializers.IntegerField(allow_null=True, help_text="HTTP status; null without an answer.")
    problem = serializers.CharField(help_text="Why it failed; empty if it arrived.")


class DeliverySerializer(serializers.Serializer[Delivery]):
    id = serializers.UUIDField(
        source="message", help_text="With msg_ before its digits, it is the header webhook-id."
    )
    type = serializers.SerializerMethodField(help_text="Kind of event, or test.")
    state = serializers.ChoiceField(Delivery.State.choices)
    created_at = serializers.DateTimeField()
    next_attempt_at = serializers.SerializerMethodField(help_text="null: there is none.")
    attempts = AttemptSerializer(many=True)

    def get_type(self, row: Delivery) -> str:
        return row.event.kind if row.event else row.purpose

    def get_next_attempt_at(self, row: Delivery) -> datetime | None:
        waits = row.state == Delivery.State.WAITING and not row.queued
        return row.next_attempt_at if waits else None


class SubscriptionSerializer(serializers.Serializer[Subscription]):
    id = serializers.CharField(source="identifier", help_text="16 hexadecimal digits.")
    events = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="First failure since the last success."
    )
    disabled_at = serializers.DateTimeField(
        allow_null=True, help_text="Since when it is sent nothing; a test that arrives ends this."
    )


class OwnView(APIView):
    """About one of an account's own subscriptions, which the address names."""

    def own(self) -> Subscription:
        """The one that the address names; raises Http404 if the account has no such one, so that it learns
        nothing about those of others."""
        raise NotImplementedError


class OneView(OwnView):
    """Shows it and deletes it."""

    shown: ClassVar[type[SubscriptionSerializer]]

    def get(self, request: Request, **_: str) -> Response:
        return Response(self.shown(self.own()).data)

    @extend_schema(responses={204: OpenApiResponse(description="It is gone, with its log.")})
    def delete(self, request: Request, **_: str) -> HttpResponse:
        subscription_delete(subscription=self.own(), actor=signed_in_user(request._request))
        return HttpResponse(status=204)


class TrialView(OwnView):
    """Sends a test to it, and shows the delivery."""

    @extend_schema(request=None, responses={202: DeliverySerializer, 409: CONFLICT, 429: OFTEN})
    def post(self, request: Request, **_: str) -> Response:
        own = self.own()
        with refusals():
            return Response(DeliverySerializer(trial_send(subscription=own)).data, status=202)


class OwnDeliveriesView(OwnView):
    """The log of its deliveries."""

    @extend_schema(parameters=[CURSOR], responses=paged(DeliverySerializer))
    def get(self, request: Request, **_: str) -> Response:
        return Response(api_results(deliveries_of(self.own()), request, DeliverySerializer))
