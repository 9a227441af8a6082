"""Errors outside any view: problem documents under /api/, pages elsewhere."""

from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware as DjangoCommonMiddleware
from django.template import TemplateDoesNotExist
from django.template.loader import render_to_string

from recipes import problems
from recipes.problems import Problem, is_api_request


class CommonMiddleware(DjangoCommonMiddleware):
    """Django's, but an API path without its last slash is an error, not a redirect.

    A redirect would turn a device's POST into a GET and lose the report.
    """

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return not is_api_request(request) and super().should_redirect_with_slash(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: e.g. a Host that is not ours. What exactly is wrong is not echoed."""
    return _answer(
        request,
        Problem(
            "bad-request",
            "The request was refused",
            400,
            "The request or one of its headers is not acceptable.",
        ),
    )


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403."""
    return _answer(request, Problem("forbidden", "This is not allowed", 403, "You may not do this."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token: usually a page left open over a sign-in."""
    return _answer(
        request,
        Problem(
            "forbidden",
            "The form has expired",
            403,
            "Go back, load the page again, and send the form once more.",
        ),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    detail = "Nothing has this address. Addresses of the API end in a slash."
    return _answer(
        request, problems.not_found(detail if is_api_request(request) else "Nothing has this address.")
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500; the log has the exception."""
    return _answer(
        request, Problem("internal-error", "Something went wrong here", 500, "The fault is on our side.")
    )


def _answer(request: HttpRequest, problem: Problem) -> HttpResponse:
    if is_api_request(request):
        return problem.response()
    try:
        page = render_to_string(f"errors/{problem.status}.html", {"problem": problem}, request)
    except TemplateDoesNotExist:
        return HttpResponse(
            f"{problem.title}. {problem.detail}\n",
            status=problem.status,
            content_type="text/plain; charset=utf-8",
        )
    return HttpResponse(page, status=problem.status)
