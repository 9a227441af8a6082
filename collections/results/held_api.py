"""Held results for programs: the public sees that one is held, and administrators may let it pass."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from recipes.converters import published_recipe
from recipes.errors import RecipeStateError
from results.api_shapes import StatedReasonSerializer
from results.models import HeldResult
from results.rates import held_of, result_allow
from results.scopes import RESULTS_ALLOW
from web.openapi import example, problem_response
from web.problems import Problem
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes

NOT_HELD = "It waits for no decision: there is a result, or none yet."


class HeldSerializer(serializers.Serializer[HeldResult]):
    issued = serializers.IntegerField(help_text="Tokens of the recipe, as its issuer signed.")
    expected = serializers.FloatField(help_text="Expected number of reports.")
    most = serializers.IntegerField(
        help_text="More come with a probability below one millionth if every device follows the protocol."
    )
    held_at = serializers.DateTimeField()
    allowed_at = serializers.DateTimeField(allow_null=True, help_text="null while it waits.")
    allowed_reason = serializers.CharField(help_text="Empty while it waits.")


class HeldView(APIView):
    """A result that is held for its number of reports."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC, "POST": RESULTS_ALLOW}

    @extend_schema(
        summary="See why a result is held",
        description="The number of reports is not shown before the release.",
        operation_id="result_held",
        responses={
            200: HeldSerializer,
            404: problem_response(
                "There is no such recipe, or its result is not held.",
                Problem("not-held", "The result is not held", 404, NOT_HELD),
            ),
        },
    )
    def get(self, request: Request, identifier: str) -> Response:
        held = held_of(published_recipe(request._request, identifier))
        if held is None:
            raise Problem("not-held", "The result is not held", 404, NOT_HELD)
        return Response(HeldSerializer(held).data)

    @extend_schema(
        summary="Let a held result pass",
        description="It is released soon, with the reason. To give it up instead, withhold it. Sent again "
        "with the same reason, it does nothing more.",
        operation_id="result_allow",
        request=StatedReasonSerializer,
        responses={
            200: HeldSerializer,
            400: problem_response("The reason is missing or too long."),
            409: problem_response("The result is not held, or was let pass for another reason."),
        },
        examples=example({"reason": "two sites share an attester"}, request_only=True),
    )
    def post(self, request: Request, identifier: str) -> Response:
        recipe = published_recipe(request._request, identifier)
        reason = StatedReasonSerializer.read(request)["reason"].strip()
        with as_problems(conflicts=RecipeStateError):
            held = result_allow(recipe=recipe, reason=reason, actor=signed_in_user(request._request))
        return Response(HeldSerializer(held).data)
