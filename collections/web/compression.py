"""Pages are compressed if the size of an answer cannot reveal a secret."""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PagesGZipMiddleware(GZipMiddleware):
    """Compress pages, and nothing else: static files are stored compressed.

    An attacker who makes a browser send requests, and sees the length of answers, can learn the content of a
    page that also repeats what was sent (BREACH: Gluck, Harris, Prado 2013). So a page for a signed-in person
    is compressed only if its address has no query: then another site has chosen nothing in it. Tokens against
    forged requests are masked anew in every answer, and Django adds up to 100 random bytes to each.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.get("Content-Type", "").partition(";")[0]
        is_page = kind == "text/html" and request.method == "GET" and response.status_code == 200
        if not is_page or (
            settings.SESSION_COOKIE_NAME in request.COOKIES and request.META.get("QUERY_STRING")
        ):
            return response
        return super().process_response(request, response)
