"""Recipes in rounds for programs: their signed documents, public inputs, and evidence of both in the log."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from log.audit.registry import Action
from log.public_log.selectors import proof_of_action
from panprivacy.protocols.transparency.proof import MEDIA_TYPE
from panprivacy.recipe.rounds.public_input import MOST_BYTES
from recipes.drafts_api import REFUSED
from recipes.scopes import RECIPES_WRITE
from series.actions import INPUT_PUBLISHED, ROUNDS_PUBLISHED
from series.errors import SeriesStateError
from series.models import PublicInput, RoundsDocument, Series
from series.rounds import input_publish
from web.negotiation import OneFormat
from web.openapi import example, problem_response
from web.problems import Problem, row_found
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes
from web.serializers import ExactSerializer, ObjectField, SignatureField

INPUT = {"round": 1, "input": {"weights": [0.0, 0.25]}}


class SignedDocumentSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="identifier", help_text="SHA-256 of the canonical document.")
    document = ObjectField(source="stated", help_text="What is signed.")
    signature = SignatureField(help_text="Ed25519 signature in base64.")


class NewInputSerializer(ExactSerializer):
    most_bytes = 2 * MOST_BYTES
    """Escapes and spaces make an input longer than its canonical form."""

    round = serializers.IntegerField(help_text="Its number, from 1.")
    input = serializers.DictField(help_text="Any JSON object. It is public.")


class SignedDocumentView(APIView):
    """A document that devices check."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}
    kind: ClassVar[type[RoundsDocument] | type[PublicInput]]

    @extend_schema(responses=SignedDocumentSerializer)
    def get(self, request: Request, identifier: str) -> HttpResponse:
        return Response(SignedDocumentSerializer(self.found(identifier)).data)

    def found(self, identifier: str) -> RoundsDocument | PublicInput:
        """The document of this identifier. Raises Problem if there is none."""
        rows: QuerySet[Any] = self.kind.objects.all()
        missing = "No document has this identifier."
        found: RoundsDocument | PublicInput = row_found(rows, missing, identifier=identifier)
        return found


class DocumentProofView(SignedDocumentView):
    """Evidence that it is in the public log."""

    content_negotiation_class = OneFormat
    logged: ClassVar[Action]

    @extend_schema(
        responses={
            (200, "text/plain"): OpenApiTypes.STR,
            404: problem_response("There is no such document, or it is not in the log yet."),
        }
    )
    def get(self, request: Request, identifier: str) -> HttpResponse:
        proof = proof_of_action((self.logged,), self.found(identifier).identifier)
        if proof is None:
            raise Problem("not-logged-yet", "This is not in the log yet", 404, "Ask again in some seconds.")
        return HttpResponse(proof.encode(), content_type=MEDIA_TYPE)


@extend_schema_view(
    get=extend_schema(summary="Fetch the document of a recipe in rounds", operation_id="rounds_document")
)
class RoundsDocumentView(SignedDocumentView):
    """What all rounds of a recipe ask and guarantee: devices check each round against it."""

    kind = RoundsDocument


@extend_schema_view(
    get=extend_schema(summary="Fetch the public input of a round", operation_id="round_input")
)
class PublicInputView(SignedDocumentView):
    """What the public may read before a round, e.g. a model."""

    kind = PublicInput


@extend_schema_view(
    get=extend_schema(
        summary="Prove that a recipe in rounds is in the public log", operation_id="rounds_proof"
    )
)
class RoundsProofView(DocumentProofView):
    """Evidence that the document of a recipe in rounds is in the public log."""

    kind, logged = RoundsDocument, ROUNDS_PUBLISHED


@extend_schema_view(
    get=extend_schema(
        summary="Prove that a public input is in the public log", operation_id="round_input_proof"
    )
)
class InputProofView(DocumentProofView):
    """Evidence that a public input is in the public log."""

    kind, logged = PublicInput, INPUT_PUBLISHED


class SeriesInputView(APIView):
    """Publish the public input of the next round."""

    scopes: ClassVar[Scopes] = {"POST": RECIPES_WRITE}

    @extend_schema(
        summary="Publish the public input of a round",
        description="The round opens as soon as the one before has ended. An input cannot be changed: sent "
        "again, the same is the one that is there, and another one is refused.",
        operation_id="series_input_publish",
        request=NewInputSerializer,
        responses={
            200: SignedDocumentSerializer,
            400: REFUSED,
            409: problem_response("Its rounds have no public input, are stopped, or this one has another."),
        },
        examples=example(INPUT, request_only=True),
    )
    def post(self, request: Request, series: str) -> Response:
        found = row_found(Series.objects.all(), "No series has this identifier.", identifier=series)
        actor, asked = signed_in_user(request._request), NewInputSerializer.read(request)
        with as_problems(conflicts=SeriesStateError):
            made = input_publish(series=found, number=asked["round"], content=asked["input"], actor=actor)
        return Response(SignedDocumentSerializer(made).data)
