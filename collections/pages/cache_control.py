"""Keep out of caches what signed-in users see."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers


class SignedInPagesMiddleware:
    """`Cache-Control: no-store, private` for what is answered to signed-in users, and for API tokens.

    Such pages and files hold names, reasons and counts that others may not see, and the browser may be
    shared. Answers that do not depend on the account (public addresses of the API, static files) keep their
    own caching.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Reading the account here, if nothing else did, would make every answer vary with it.
        looked = request.session.accessed or hasattr(request, "api_token")
        if looked and request.user.is_authenticated:
            add_never_cache_headers(response)
        return response
