"""Bodies of requests, as far as the server that reads them is concerned."""

from io import BytesIO

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse

from web.bodies import SMALL_BYTES, BodiesMiddleware


@pytest.mark.parametrize(("length", "read"), [(7, 7), (SMALL_BYTES, SMALL_BYTES), (SMALL_BYTES + 1, 0)])
def test_small_body_is_read_even_if_the_request_is_refused(length: int, read: int) -> None:
    unread = BytesIO(b"x" * length + b"the next request")
    environ = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(length), "wsgi.input": unread}
    BodiesMiddleware(lambda request: HttpResponse(status=415))(WSGIRequest(environ))
    assert unread.tell() == read
