"""OpenAPI descriptions of the two authentication methods."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class TokenScheme(OpenApiAuthenticationExtension):
    """An API token."""

    target_class = "accounts.api_tokens.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As OpenAPI has it."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token. It needs the scope that `x-scope` of the operation names.",
        }


class SessionScheme(OpenApiAuthenticationExtension):
    """A signed-in browser."""

    target_class = "accounts.api_tokens.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As OpenAPI has it."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of the pages. What changes something needs `X-CSRFToken`, too.",
        }
