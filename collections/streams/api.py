"""Announced intrusions for programs of administrators: announce one, and fetch what was seen."""

from typing import Any, ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from streams.errors import IntrusionRefusedError, StreamClosedError, StreamLostError
from streams.models import AnnouncedIntrusion
from streams.operations import REASON_LENGTH, intrusion_announce
from streams.scopes import INTRUSIONS_ANNOUNCE
from streams.selectors import intrusions_of, is_stream, seen_bytes
from web.negotiation import OneFormat
from web.openapi import example, problem_response
from web.problems import not_found
from web.refusals import as_problems
from web.scopes import Scopes
from web.serializers import ExactSerializer

STATE_TYPE = "application/octet-stream"
EXAMPLE = {"number": 1, "reason": "court order 4711"}


class NewIntrusionSerializer(ExactSerializer):
    number = serializers.IntegerField(
        min_value=1, help_text="Which one it will be: one more than there are. So a repeat is refused."
    )
    reason = serializers.CharField(
        max_length=REASON_LENGTH, help_text="For the audit log, with your name; not public."
    )


class IntrusionSerializer(serializers.Serializer[AnnouncedIntrusion]):
    number = serializers.IntegerField(help_text="1, 2, … within the recipe.")
    at = serializers.DateTimeField()


class IntrusionListSerializer(serializers.Serializer[dict[str, Any]]):
    results = IntrusionSerializer(many=True)


class IntrusionsView(APIView):
    """The announced intrusions of a recipe."""

    scopes: ClassVar[Scopes] = {"GET": INTRUSIONS_ANNOUNCE, "POST": INTRUSIONS_ANNOUNCE}

    @extend_schema(
        summary="List announced intrusions",
        description="First to last. They stay when the recipe has ended.",
        operation_id="intrusions_list",
        responses=IntrusionListSerializer,
    )
    def get(self, request: Request, identifier: str) -> Response:
        return Response(IntrusionListSerializer({"results": _intrusions(identifier)}).data)

    @extend_schema(
        summary="Announce an intrusion",
        description="Reads the state on purpose and randomizes it anew. It costs privacy, cannot be taken "
        "back, and only administrators may. After a lost answer, list them before asking again.",
        operation_id="intrusion_announce",
        request=NewIntrusionSerializer,
        responses={
            201: OpenApiResponse(IntrusionSerializer, "`state/` below it has what was seen."),
            400: problem_response("A field is missing, unknown or out of range; `field` names it."),
            409: problem_response("The recipe is closed, allows no more, or another number is the next."),
        },
        examples=example(EXAMPLE, request_only=True),
    )
    def post(self, request: Request, identifier: str) -> Response:
        _intrusions(identifier)
        actor, asked = signed_in_user(request._request), NewIntrusionSerializer.read(request)
        with as_problems(conflicts=(IntrusionRefusedError, StreamClosedError, StreamLostError)):
            announced = intrusion_announce(identifier=identifier, actor=actor, now=timezone.now(), **asked)
        return Response(IntrusionSerializer(announced).data, status=201)


class SeenView(APIView):
    """What was seen at one."""

    scopes: ClassVar[Scopes] = {"GET": INTRUSIONS_ANNOUNCE}
    content_negotiation_class = OneFormat

    @extend_schema(
        summary="Fetch what was seen",
        description="The state as it was read, every array in full: bytes that `StreamState.from_bytes` of "
        "the Python library `panprivacy` reads.",
        operation_id="intrusion_state",
        responses={
            (200, STATE_TYPE): OpenApiTypes.BINARY,
            404: problem_response("There is no such intrusion, or the server stopped before storing it."),
        },
    )
    def get(self, request: Request, identifier: str, intrusion: int) -> HttpResponse:
        found = next((each for each in _intrusions(identifier) if each.number == intrusion), None)
        seen = None if found is None else seen_bytes(found)
        if seen is None:
            raise not_found("No intrusion has this number, or the server stopped before storing it.")
        return HttpResponse(seen, content_type=STATE_TYPE)


def _intrusions(identifier: str) -> list[AnnouncedIntrusion]:
    found = list(intrusions_of(identifier))
    if not found and not is_stream(identifier):
        raise not_found("No stream has this identifier.")
    return found
