"""Pages are compressed where the size of an answer cannot tell a secret."""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PagesGZipMiddleware(GZipMiddleware):
    """Compress pages, and nothing else: static files lie there compressed.

    Somebody who makes a browser ask, and sees how long answers are, can find out what stands in a page where
    it also repeats what was asked (BREACH: Gluck, Harris, Prado 2013). So a page for somebody who is signed
    in is compressed where its address has no query: nothing in it was chosen by another site then. Tokens
    against forged requests are masked anew in every answer, and Django adds up to 100 random bytes to each.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.get("Content-Type", "").partition(";")[0]
        is_page = kind == "text/html" and request.method == "GET" and response.status_code == 200
        if not is_page or (
            settings.SESSION_COOKIE_NAME in request.COOKIES and request.META.get("QUERY_STRING")
        ):
            return response
        return super().process_response(request, response)
