"""Requests for a part of a page."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


def htmx_of(request: HttpRequest) -> HtmxDetails:
    """Whether the page's script sent the request; false if the browser itself sent it."""
    details: HtmxDetails = vars(request)["htmx"]  # HtmxMiddleware puts it there
    return details
