"""What REST framework raises, as problem documents.

Apart from `problems`, which workers and the servers of partners load, too: they need no REST framework.
"""

from collections.abc import Callable, Mapping
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


def _invalid(error: exceptions.ValidationError) -> Problem:
    if not isinstance(error.detail, dict):
        return _refused(error)
    # Our serializers nest no others: every field has a list of messages.
    field, messages = next(iter(cast("dict[str, list[str]]", error.detail).items()))
    return invalid_parameter(field, f"{field} {messages[0]}")


def _not_authenticated(error: exceptions.APIException) -> Problem:
    return Problem("not-authenticated", "It is not known who asks", 401, str(error.detail))


def _not_acceptable(error: exceptions.NotAcceptable) -> Problem:
    return Problem("not-acceptable", "The media type asked for is not served", 406, str(error.detail))


def _refused(error: exceptions.APIException) -> Problem:
    return Problem("request-refused", "The request was refused", error.status_code, str(error.detail))


_PROBLEMS: Mapping[type[Exception], Callable[[Any], Problem]] = {
    Problem: lambda error: error,
    Http404: lambda _: not_found("Nothing has this address."),
    exceptions.MethodNotAllowed: lambda _: method_not_allowed("see the API documentation"),
    exceptions.ValidationError: _invalid,
    exceptions.NotAuthenticated: _not_authenticated,
    exceptions.AuthenticationFailed: _not_authenticated,
    exceptions.ParseError: lambda error: malformed_body(str(error.detail)),
    exceptions.NotAcceptable: _not_acceptable,
    exceptions.UnsupportedMediaType: lambda error: unsupported_media_type(str(error.detail)),
    exceptions.APIException: _refused,
}
"""Exception → the problem for it and for those derived from it."""


def from_exception(error: Exception) -> Problem | None:
    """The problem for an exception of Django or DRF; None for an unexpected one."""
    nearest = next((kind for kind in type(error).__mro__ if kind in _PROBLEMS), None)
    return None if nearest is None else _PROBLEMS[nearest](error)


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
