"""Evidence that a recipe, or a result, is in the public log: to be checked offline."""

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from log.audit.registry import Action
from log.public_log.selectors import proof_of_action
from panprivacy.protocols.transparency.proof import MEDIA_TYPE
from recipes.actions import RECIPE_PUBLISHED
from recipes.converters import published_recipe
from results.actions import RESULT_RELEASED, RESULT_WITHHELD
from web.negotiation import OneFormat
from web.openapi import problem_response
from web.problems import Problem
from web.scopes import PUBLIC, Scopes

_RESPONSES = {
    (200, "text/plain"): OpenApiTypes.STR,
    404: problem_response("There is no such recipe, or what is asked for is not in the log yet."),
}
_DESCRIPTION = (
    "A proof in the format of C2SP, tlog-proof: place in the log, path, checkpoint with its signatures. "
    "`extra` holds the log's entry."
)


class _ProofView(APIView):
    """A proof of the first entry of these actions about a recipe."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}
    content_negotiation_class = OneFormat
    actions: ClassVar[tuple[Action, ...]]

    def answer(self, request: Request, identifier: str) -> HttpResponse:
        published_recipe(request._request, identifier)
        proof = proof_of_action(self.actions, identifier)
        if proof is None:
            raise Problem("not-logged-yet", "This is not in the log yet", 404, "Ask again in some seconds.")
        return HttpResponse(proof.encode(), content_type=MEDIA_TYPE)


class RecipeProofView(_ProofView):
    """Evidence that a recipe is in the public log."""

    actions = (RECIPE_PUBLISHED,)

    @extend_schema(
        summary="Prove that a recipe is in the public log",
        description=_DESCRIPTION,
        operation_id="recipe_proof",
        responses=_RESPONSES,
    )
    def get(self, request: Request, identifier: str) -> HttpResponse:  # nothing is asked
        return self.answer(request, identifier)


class ReleaseProofView(_ProofView):
    """Evidence that a result is in the public log."""

    actions = (RESULT_RELEASED, RESULT_WITHHELD)

    @extend_schema(
        summary="Prove that a result is in the public log",
        description=_DESCRIPTION,
        operation_id="release_proof",
        responses=_RESPONSES,
    )
    def get(self, request: Request, identifier: str) -> HttpResponse:  # nothing is asked
        return self.answer(request, identifier)
