"""The bundle with which a result of a recipe with a joint key is recomputed."""

from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from recipes.converters import published_recipe
from results.bundles import BundleNotReadyError, NoBundleError, bundle_tar, may_have_bundle
from web.negotiation import OneFormat
from web.openapi import problem_response
from web.problems import Problem, not_found
from web.scopes import PUBLIC, Scopes

MEDIA_TYPE = "application/x-tar"


class BundleView(APIView):
    """The bundle of a result."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}
    content_negotiation_class = OneFormat

    @extend_schema(
        summary="Fetch what a result is recomputed from",
        description="A tar file: unpack it into a folder, and check it offline with `python -m "
        "panprivacy.recompute FOLDER`. Some recipes give it to signed-in auditors and analysts only.",
        operation_id="bundle",
        responses={
            (200, MEDIA_TYPE): OpenApiTypes.BINARY,
            403: problem_response("The recipe gives its bundle to auditors and analysts only."),
            404: problem_response("There is no such recipe, or it has no bundle, or none yet."),
        },
    )
    def get(self, request: Request, identifier: str) -> StreamingHttpResponse:
        recipe = published_recipe(request._request, identifier)
        if not may_have_bundle(request._request.user, recipe):
            detail = "This recipe gives its bundle to auditors and analysts of this site only. Sign in first."
            raise Problem("bundle-for-auditors", "The bundle is for auditors", 403, detail)
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
