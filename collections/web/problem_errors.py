"""Errors outside any view of a site without pages: problem documents (RFC 9457) for all who ask."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

from web.failures import silent_service
from web.problems import CONTENT_TYPE, RETRY_SECONDS


def _handler(status: HTTPStatus) -> Callable[..., JsonResponse]:
    """A problem that states no more than its status does; the type is then `about:blank`, and left out."""

    def answer(request: HttpRequest, *_: Any, **__: Any) -> JsonResponse:
        document = {"title": status.phrase, "status": status}
        return JsonResponse(document, status=status, content_type=CONTENT_TYPE)

    return answer


handler400 = _handler(HTTPStatus.BAD_REQUEST)
handler403 = _handler(HTTPStatus.FORBIDDEN)
handler404 = _handler(HTTPStatus.NOT_FOUND)
_server_error = _handler(HTTPStatus.INTERNAL_SERVER_ERROR)
_unavailable = _handler(HTTPStatus.SERVICE_UNAVAILABLE)


def handler500(request: HttpRequest) -> JsonResponse:
    """A fault of ours, or of a database or a key service that does not answer."""
    if silent_service() is None:
        return _server_error(request)
    response = _unavailable(request)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


# Neither has forms: a form that is posted there is in the wrong place.
csrf_failure = handler403
