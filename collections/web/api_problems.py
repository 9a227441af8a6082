"""What REST framework raises, as problem documents.

Apart from `problems`, which workers and the servers of partners load, too: they need no REST framework.
"""

from typing import Any, cast

from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from web.problems import (
    CONTENT_TYPE,
    RETRY_SECONDS,
    Problem,
    invalid_parameter,
    malformed_body,
    method_not_allowed,
    not_found,
    unsupported_media_type,
)


def from_exception(error: Exception) -> Problem | None:
    """The problem that stands for an exception of Django or DRF; None for an unexpected one."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Http404):
        return not_found("Nothing has this address.")
    if isinstance(error, exceptions.MethodNotAllowed):
        return method_not_allowed("see the API documentation")
    if isinstance(error, exceptions.ValidationError) and isinstance(error.detail, dict):
        # Our serializers nest no others: every field has a list of messages.
        field, messages = next(iter(cast("dict[str, list[str]]", error.detail).items()))
        return invalid_parameter(field, f"{field} {messages[0]}")
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        return Problem("not-authenticated", "It is not known who asks", 401, str(error.detail))
    if isinstance(error, exceptions.ParseError):
        return malformed_body(str(error.detail))
    if isinstance(error, exceptions.NotAcceptable):
        return Problem("not-acceptable", "The media type asked for is not served", 406, str(error.detail))
    if isinstance(error, exceptions.UnsupportedMediaType):
        return unsupported_media_type(str(error.detail))
    if isinstance(error, exceptions.APIException):
        return Problem("request-refused", "The request was refused", error.status_code, str(error.detail))
    return None


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook: the same problem documents as everywhere."""
    problem = from_exception(error)
    if problem is None:
        return None
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if problem.status == 503:
        headers["Retry-After"] = str(RETRY_SECONDS)
    return Response(problem.document(), status=problem.status, content_type=CONTENT_TYPE, headers=headers)
