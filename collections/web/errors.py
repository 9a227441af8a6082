"""Errors outside any view: problem documents for programs, Django's pages (templates/*.html) for browsers."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.multipartparser import MultiPartParserError
from django.middleware.common import CommonMiddleware as DjangoCommonMiddleware
from django.template import loader
from django.views import csrf, defaults

from web import problems
from web.busy import BusyError
from web.failures import silent_service
from web.not_found import MissingError
from web.problems import Problem, is_api_request


class CommonMiddleware(DjangoCommonMiddleware):
    """Django's, but an API path without its last slash is an error, not a redirect.

    A redirect would turn a device's POST into a GET and lose what it sent.
    """

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return not is_api_request(request) and super().should_redirect_with_slash(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """503 if a view had no turn to compute."""
        if not isinstance(error, BusyError):
            return None
        if not is_api_request(request):
            return _unavailable_page("The site is busy")
        undone = "Too many requests compute at this moment. Nothing was changed. Ask again."
        return problems.unavailable(undone).response()


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: e.g. a Host that is not ours. What exactly is wrong is not echoed."""
    if is_api_request(request):
        detail = "The request or one of its headers is not acceptable."
        return Problem("bad-request", "The request was refused", 400, detail).response()
    return _bad_request_page()


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403."""
    if is_api_request(request):
        return Problem("forbidden", "This is not allowed", 403, "You may not do this.").response()
    return _page(defaults.permission_denied, request, exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token: usually a page left open over a sign-in."""
    if is_api_request(request):
        return Problem("forbidden", "This is not allowed", 403, "The form's token is missing.").response()
    return _page(csrf.csrf_failure, request, reason)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    if is_api_request(request):
        return problems.not_found("Nothing has this address. Addresses of the API end in a slash.").response()
    template = exception.template if isinstance(exception, MissingError) else "404.html"
    return _page(defaults.page_not_found, request, exception, template)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500, and 503 if the database or the key service does not answer; the log has the exception."""
    if silent := silent_service():
        reason = f"{silent} does not answer"
        if not is_api_request(request):
            return _unavailable_page(reason)
        return problems.unavailable(f"{reason}. Nothing was changed. Ask again.").response()
    if is_api_request(request):
        detail = "The fault is on our side."
        return Problem("internal-error", "Something went wrong here", 500, detail).response()
    return _page(defaults.server_error, request)


def _unavailable_page(reason: str) -> HttpResponse:
    response = HttpResponse(loader.get_template("503.html").render({"reason": reason}), status=503)
    response["Retry-After"] = str(problems.RETRY_SECONDS)
    return response


def _page(view: Callable[..., HttpResponse], request: HttpRequest, *arguments: Any) -> HttpResponse:
    """Django's page, or 400: its pages search for a form's token, in a body that may be no form at all."""
    try:
        return view(request, *arguments)
    except (BadRequest, MultiPartParserError, SuspiciousOperation):
        return _bad_request_page()


def _bad_request_page() -> HttpResponse:
    # Not Django's, which reads the body once more.
    return HttpResponseBadRequest(loader.get_template("400.html").render())
