"""Recipes in rounds for programs: their signed documents, public inputs, and evidence of both in the log."""

import json
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit.access import signed_in_user
from audit.registry import Action
from panprivacy import base64_text
from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed
from panprivacy.rounds.public_input import MOST_BYTES
from panprivacy.transparency.proof import MEDIA_TYPE
from public_log.selectors import proof_of_action
from recipes.drafts_api import REFUSED
from recipes.scopes import RECIPES_WRITE
from series.actions import INPUT_PUBLISHED, ROUNDS_PUBLISHED
from series.errors import SeriesStateError
from series.in_order import input_publish
from series.models import PublicInput, RoundsDocument, Series
from web.json_requests import read_object
from web.openapi import example, problem_response
from web.problems import Problem, not_found
from web.refusing import as_problems
from web.scopes import PUBLIC, Scopes

INPUT = {"round": 1, "input": {"weights": [0.0, 0.25]}}
_PROOF = {
    (200, "text/plain"): OpenApiTypes.STR,
    404: problem_response("There is no such document, or it is not in the log yet."),
}


class SignedDocumentSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.CharField(help_text="SHA-256 of the canonical document.")
    document = serializers.DictField(help_text="What is signed.")
    signature = serializers.CharField(help_text="Ed25519 signature in base64.")


class NewInputSerializer(serializers.Serializer[dict[str, Any]]):
    round = serializers.IntegerField(help_text="Its number, from 1.")
    input = serializers.DictField(help_text="Any JSON object: everybody may read it.")


class RoundsDocumentView(APIView):
    """What all rounds of a recipe ask and guarantee: devices check each round against it."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Fetch the document of a recipe in rounds",
        operation_id="rounds_document",
        responses=SignedDocumentSerializer,
    )
    def get(self, request: Request, identifier: str) -> Response:
        return Response(_served(_found(RoundsDocument, identifier)))


class PublicInputView(APIView):
    """What everybody may read before a round, e.g. a model."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Fetch the public input of a round",
        operation_id="round_input",
        responses=SignedDocumentSerializer,
    )
    def get(self, request: Request, identifier: str) -> Response:
        return Response(_served(_found(PublicInput, identifier)))


class RoundsProofView(APIView):
    """That the document of a recipe in rounds stands in the public log."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Prove that a recipe in rounds is in the public log",
        operation_id="rounds_proof",
        responses=_PROOF,
    )
    def get(self, request: Request, identifier: str) -> HttpResponse:
        return _proof(_found(RoundsDocument, identifier), ROUNDS_PUBLISHED)


class InputProofView(APIView):
    """That a public input stands in the public log."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    @extend_schema(
        summary="Prove that a public input is in the public log",
        operation_id="round_input_proof",
        responses=_PROOF,
    )
    def get(self, request: Request, identifier: str) -> HttpResponse:
        return _proof(_found(PublicInput, identifier), INPUT_PUBLISHED)


class SeriesInputView(APIView):
    """Publish the public input of the next round."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Publish the public input of a round",
        description="The round opens as soon as the one before has ended. An input cannot be changed: sent "
        "again, the same is the one that is there, and another one is refused.",
        operation_id="series_input",
        request=NewInputSerializer,
        responses={
            200: SignedDocumentSerializer,
            400: REFUSED,
            409: problem_response("Its rounds have no public input, are stopped, or this one has another."),
        },
        examples=example(INPUT, request_only=True),
    )
    def post(self, request: Request, series: str) -> Response:
        found = Series.objects.filter(identifier=series).first()
        if found is None:
            raise not_found("No series has this identifier.")
        # Twice as much: escapes and spaces make an input longer than its canonical form.
        members = read_object(request._request, 2 * MOST_BYTES, names=tuple(INPUT))
        with as_problems(conflicts=SeriesStateError):
            number = members.get("round")
            if not isinstance(number, int) or isinstance(number, bool):
                raise FieldError("round", f"must be a whole number, not {as_typed(number)}")
            made = input_publish(
                series=found,
                number=number,
                content=members.get("input"),
                actor=signed_in_user(request._request),
            )
        return Response(_served(made))


def _found(kind: type[RoundsDocument] | type[PublicInput], identifier: str) -> RoundsDocument | PublicInput:
    found: RoundsDocument | PublicInput | None = kind.objects.filter(identifier=identifier).first()
    if found is None:
        raise not_found("No document has this identifier.")
    return found


def _served(signed: RoundsDocument | PublicInput) -> dict[str, Any]:
    return {
        "id": signed.identifier,
        "document": json.loads(signed.document),
        "signature": base64_text.encode(bytes(signed.signature)),
    }


def _proof(signed: RoundsDocument | PublicInput, action: Action) -> HttpResponse:
    proof = proof_of_action((action,), signed.identifier)
    if proof is None:
        raise Problem("not-logged-yet", "This is not in the log yet", 404, "Ask again in some seconds.")
    return HttpResponse(proof.encode(), content_type=MEDIA_TYPE)
