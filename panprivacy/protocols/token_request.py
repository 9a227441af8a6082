"""The request that a device seals to the issuer for a token of a recipe (RFC 9578, section 5).

The attester, which carries it, learns neither the recipe nor the request.
"""

import re

from panprivacy.protocols.oblivious_http.binary_http import Request

REQUEST_MEDIA_TYPE = "application/private-token-request"
RESPONSE_MEDIA_TYPE = "application/private-token-response"

_PATH = re.compile(rb"/recipes/([0-9a-f]{64})/token")


class OtherRequestError(ValueError):
    """A request for something else than a token."""


class OtherContentError(ValueError):
    """A token request of another content type."""


def token_request(issuer_name: str, identifier: str, content: bytes) -> Request:
    """The request in the capsule.

    Args:
        issuer_name: host of the issuer, with its port if it is not the usual one.
        identifier: of the recipe, 64 hexadecimal digits.
        content: an encoded `privacy_pass.tokens.TokenRequest`.
    """
    fields = ((b"content-type", REQUEST_MEDIA_TYPE.encode()),)
    path = f"/recipes/{identifier}/token".encode()
    return Request(b"POST", b"https", issuer_name.encode(), path, fields, content)


def recipe_asked(request: Request) -> str:
    """The identifier of the recipe that the token is for.

    Raises:
        OtherRequestError: there is nothing at this address, or not for this method.
        OtherContentError: the content type is not `REQUEST_MEDIA_TYPE`.
    """
    path = _PATH.fullmatch(request.path)
    if path is None or request.method != b"POST":
        raise OtherRequestError("nothing has this address")
    if REQUEST_MEDIA_TYPE.encode() not in [
        value for name, value in request.headers if name == b"content-type"
    ]:
        raise OtherContentError(f"Content-Type must be {REQUEST_MEDIA_TYPE}")
    return path[1].decode()
