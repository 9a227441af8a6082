"""Errors outside any view of a helper or a shuffler: problem documents (RFC 9457) whoever asks."""

from http import HTTPStatus

from django.http import HttpRequest, JsonResponse


def _problem(status: HTTPStatus) -> JsonResponse:
    """A problem that says no more than its status does; the type is then `about:blank`, unsaid."""
    return JsonResponse(
        {"title": status.phrase, "status": status}, status=status, content_type="application/problem+json"
    )


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """handler400: e.g. a Host that is not ours. What exactly is wrong is not echoed."""
    return _problem(HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> JsonResponse:
    """handler403."""
    return _problem(HTTPStatus.FORBIDDEN)


def csrf_failure(request: HttpRequest, reason: str = "") -> JsonResponse:
    """Neither has forms: whoever posts one is in the wrong place."""
    return _problem(HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """handler404."""
    return _problem(HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> JsonResponse:
    """handler500; the log has the exception."""
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR)
