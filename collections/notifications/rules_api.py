"""Rules for programs: each account sees and changes its own."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from notifications.models import Check, Rule
from notifications.rules import (
    USUAL_ROUNDS,
    false_alarm_rate,
    firings_of,
    rule_create,
    rule_delete,
    rule_sentence,
    rules_of,
    subject_of,
)
from notifications.scopes import RULES_READ, RULES_WRITE
from notifications.subscriptions_api import CONFLICT, refusals
from panprivacy.recipe.series import MOST_ROUNDS
from web.openapi import CURSOR, example, problem_response
from web.paging import API_PAGE_SIZE, api_page
from web.scopes import Scopes
from web.serializers import ExactSerializer, SecondsField, paged

MOST_FIRINGS = 100
"""The newest of a rule, in an answer."""

EXAMPLE = {"series": "5f0c9a1172d3b846", "when": "above", "value": 0.03, "over_rounds": 20}


class NewRuleSerializer(ExactSerializer):
    series = serializers.CharField(
        required=False, help_text="Identifier of the series that it watches; or `recipe`."
    )
    recipe = serializers.CharField(
        required=False, help_text="Identifier of the recipe that it watches, before its result."
    )
    segment = serializers.CharField(
        required=False, help_text="Label of a segment. If left out, all devices and each segment are watched."
    )
    when = serializers.ChoiceField(Rule.When.choices, help_text="`changed` is for a series.")
    value = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="A share from 0 to 1; or an estimate, if results have no shares with intervals. Without "
        "it, `below` fires if too few devices reported. `changed` has none.",
    )
    over_rounds = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_ROUNDS,
        help_text=f"For which the false alarm rate holds; {USUAL_ROUNDS} if left out, and 1 for a recipe.",
    )


class FiringSerializer(serializers.Serializer[Check]):
    recipe = serializers.CharField(source="recipe.identifier", help_text="Whose result it was.")
    round = serializers.SerializerMethodField(help_text="Its number in the series; null for a recipe.")
    at = SecondsField(help_text="When the result was released or withheld.")
    simulation = serializers.BooleanField(
        source="recipe.simulation", help_text="Whether devices were simulated; then no message was sent."
    )
    segments = serializers.ListField(
        child=serializers.CharField(allow_blank=True),
        help_text="In which it fired; an empty label for all devices.",
    )

    def get_round(self, check: Check) -> int | None:
        return None if check.rule.series_id is None else check.recipe.round.number


class RuleSerializer(serializers.Serializer[Rule]):
    id = serializers.CharField(source="identifier", help_text="32 hexadecimal digits.")
    series = serializers.CharField(source="series.identifier", default=None, allow_null=True)
    recipe = serializers.CharField(source="recipe.identifier", default=None, allow_null=True)
    segment = serializers.CharField(
        allow_null=True, help_text="The one that it watches; null for all devices and each segment."
    )
    when = serializers.ChoiceField(Rule.When.choices)
    value = serializers.FloatField(allow_null=True)
    unit = serializers.CharField(allow_blank=True, help_text="Of the value; empty for a share.")
    over_rounds = serializers.IntegerField()
    false_alarm_rate = serializers.SerializerMethodField(
        help_text="It fires by mistake in `over_rounds` rounds with at most this probability; 0 if it "
        "compares no estimate."
    )
    sentence = serializers.SerializerMethodField(help_text="When it fires, and how often by mistake.")
    created_at = serializers.DateTimeField()
    firings = serializers.SerializerMethodField(help_text=f"Newest first, at most {MOST_FIRINGS}.")

    def get_false_alarm_rate(self, rule: Rule) -> float:
        return false_alarm_rate(rule)

    def get_sentence(self, rule: Rule) -> str:
        return rule_sentence(rule)

    @extend_schema_field(FiringSerializer(many=True))
    def get_firings(self, rule: Rule) -> Any:
        return FiringSerializer(self.context["firings"][rule.pk], many=True).data


def _shown(rules: Sequence[Rule]) -> list[Any]:
    context = {"firings": firings_of(rules, MOST_FIRINGS)}
    return [RuleSerializer(rule, context=context).data for rule in rules]


class RulesView(APIView):
    """One's own rules."""

    scopes: ClassVar[Scopes] = {"GET": RULES_READ, "POST": RULES_WRITE}

    @extend_schema(
        operation_id="rules_list",
        summary="List your rules",
        description="With the results at which they fired.",
        parameters=[CURSOR],
        responses=paged(RuleSerializer),
    )
    def get(self, request: Request) -> Response:
        rows, following = api_page(rules_of(signed_in_user(request._request)), request, API_PAGE_SIZE)
        return Response({"next": following, "results": _shown(rows)})

    @extend_schema(
        operation_id="rule_create",
        summary="Add a rule",
        description="Compares every result that comes later. When it fires, your webhooks and e-mail with "
        "the event `rule_fired` are notified, but of simulations. The same rule sent twice is one.",
        request=NewRuleSerializer,
        responses={
            201: RuleSerializer,
            400: problem_response("A field is refused; the words say what is allowed."),
            409: CONFLICT,
        },
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request) -> Response:
        user, asked = signed_in_user(request._request), NewRuleSerializer.read(request)
        with refusals():
            subject = subject_of(series=asked.pop("series", None), recipe=asked.pop("recipe", None))
            made = rule_create(user=user, subject=subject, **asked)
        location = reverse("api-rule", args=[made.identifier])
        return Response(_shown([made])[0], status=201, headers={"Location": location})


class RuleView(APIView):
    """One rule."""

    scopes: ClassVar[Scopes] = {"GET": RULES_READ, "DELETE": RULES_WRITE}

    @extend_schema(operation_id="rule", summary="Show a rule", responses=RuleSerializer)
    def get(self, request: Request, rule: str) -> Response:
        return Response(_shown([self._own(request, rule)])[0])

    @extend_schema(
        operation_id="rule_delete",
        summary="Delete a rule",
        responses={204: OpenApiResponse(description="It is gone, with its firings.")},
    )
    def delete(self, request: Request, rule: str) -> HttpResponse:
        rule_delete(rule=self._own(request, rule))
        return HttpResponse(status=204)

    def _own(self, request: Request, identifier: str) -> Rule:
        return get_object_or_404(rules_of(signed_in_user(request._request)), identifier=identifier)
