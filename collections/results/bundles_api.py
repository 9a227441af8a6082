"""The bundle with which a result of a recipe with a joint key is recomputed, and what others found."""

from typing import Any, ClassVar

from django.http import HttpRequest, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from log.audit.access import signed_in_user
from log.audit.scopes import LOG_READ
from recipes.converters import published_recipe
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from results.api_shapes import StatedVerdictSerializer, VerdictSerializer
from results.bundles import BundleNotReadyError, NoBundleError, bundle_tar, is_bundle_public
from results.scopes import VERDICTS_WRITE
from results.verdicts import MOST_OF_AN_ACCOUNT, verdict_file
from web.negotiation import OneFormat
from web.openapi import example, problem_response
from web.problems import Problem, not_found
from web.refusals import as_problems
from web.scopes import PUBLIC, Scopes

# The type of tar files is not registered, and generators of clients do not know it as bytes.
MEDIA_TYPE = "application/octet-stream"


_OF_ALL: Scopes = {"GET": PUBLIC}
_OF_AUDITORS: Scopes = {"GET": LOG_READ}


class BundleView(APIView):
    """The bundle of a result: public, or for those who may read the log, as the recipe states."""

    scopes: Scopes = _OF_ALL
    content_negotiation_class = OneFormat

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        recipe = Recipe.objects.filter(identifier=kwargs["identifier"]).first()
        if recipe is not None and not is_bundle_public(recipe):
            self.scopes = _OF_AUDITORS

    @extend_schema(
        summary="Fetch what a result is recomputed from",
        description="A tar file: unpack it into a folder, and check it offline with `python -m "
        "panprivacy.recompute FOLDER`. Some recipes give it only to accounts that may read the log.",
        operation_id="bundle",
        responses={
            (200, MEDIA_TYPE): OpenApiTypes.BINARY,
            401: problem_response("The recipe gives its bundle to auditors and analysts only."),
            403: problem_response("The account or the token may not read the log."),
            404: problem_response("There is no such recipe, or it has no bundle, or none yet."),
        },
    )
    def get(self, request: Request, identifier: str) -> StreamingHttpResponse:
        recipe = published_recipe(request._request, identifier)
        try:
            pieces, length = bundle_tar(recipe)
        except BundleNotReadyError as error:
            raise Problem("not-logged-yet", "This is not in the log yet", 404, str(error)) from None
        except NoBundleError as error:
            raise not_found(str(error)) from None
        response = StreamingHttpResponse(pieces, content_type=MEDIA_TYPE)
        response["Content-Length"] = str(length)
        response["Content-Disposition"] = f'attachment; filename="bundle-{identifier[:12]}.tar"'
        return response


class VerdictView(APIView):
    """What an auditor found who recomputed a result."""

    scopes: ClassVar[Scopes] = {"POST": VERDICTS_WRITE}

    @extend_schema(
        summary="File a verdict on a recomputed result",
        description="It becomes an entry of the public log, and is shown on the recipe's page Verify. An "
        f"account files at most {MOST_OF_AN_ACCOUNT} on a result: a mistake can be corrected once.",
        operation_id="verdict_file",
        request=StatedVerdictSerializer,
        responses={
            201: VerdictSerializer,
            400: problem_response("A text is missing or too long."),
            404: problem_response("There is no such recipe."),
            409: problem_response(
                "The recipe has no bundle, or has the most verdicts that a result or an account may have."
            ),
        },
        examples=example({"by": "Audit Ltd.", "failed": ""}, request_only=True),
    )
    def post(self, request: Request, identifier: str) -> Response:
        recipe = published_recipe(request._request, identifier)
        stated = StatedVerdictSerializer.read(request)
        with as_problems(conflicts=RecipeStateError):
            verdict = verdict_file(
                recipe=recipe,
                by=stated["by"],
                failed=stated["failed"],
                actor=signed_in_user(request._request),
            )
        return Response(VerdictSerializer(verdict).data, status=201)
