"""The actor of this request, for entries that are made from signals."""

from collections.abc import Callable
from contextvars import ContextVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse

from log.audit.used_token import used_token

_actor: ContextVar[AbstractBaseUser | AnonymousUser | None] = ContextVar("actor", default=None)


def current_actor() -> AbstractBaseUser | AnonymousUser | None:
    """The signed-in account behind the current request, if any."""
    return _actor.get()


def actor_known(actor: AbstractBaseUser) -> None:
    """Set the actor that an API token names, until the end of the current request."""
    _actor.set(actor)


class ActorMiddleware:
    """Remembers the signed-in account, and the API token, for the length of a request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Lazily evaluated: a request that changes nothing does not read the session for it.
        actor = _actor.set(request.user if request.method not in {"GET", "HEAD"} else None)
        token = used_token.set("")
        try:
            return self.get_response(request)
        finally:
            used_token.reset(token)
            _actor.reset(actor)
