"""With which API token a request came, for its entries. Apart from accounts, which partners' servers lack."""

from contextvars import ContextVar

used_token: ContextVar[str] = ContextVar("used_token", default="")
"""The token's public name; empty if there is none. `ActorMiddleware` empties it around each request."""
