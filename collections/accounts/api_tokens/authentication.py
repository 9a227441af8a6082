"""Identifies the client: a program with a token, or a browser with a session. Public addresses
ask neither."""

from datetime import timedelta
from typing import NoReturn

from axes.helpers import get_client_ip_address
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.api_tokens.actions import TOKEN_REFUSED
from accounts.api_tokens.models import ApiToken
from accounts.api_tokens.operations import token_hash, token_note_use, token_prefix
from accounts.api_tokens.selectors import tokens_list
from log.audit.actor import actor_known
from log.audit.operations import entry_append_bounded
from log.audit.used_token import used_token
from web.problems import Problem
from web.request_counts import times_asked
from web.scopes import Public, scope_needed

CHALLENGE = 'Bearer realm="api"'

REFUSALS_EVERY = timedelta(hours=1)
"""After which a refusal of the same token is recorded again."""


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer …`. A token that is refused is never passed over for a session."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        if _is_public(request):
            return None
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        text = text.strip()
        token = tokens_list().filter(prefix=token_prefix(text)).first()
        # Hashes are compared, so that the time reveals nothing about the token.
        if token is None or not constant_time_compare(token.secret_hash, token_hash(text)):
            _refuse(request, None, "there is no such token")
        if reason := token.ended(timezone.now()):
            _refuse(request, token, reason)
        token_note_use(token=token)
        used_token.set(token.prefix)
        actor_known(token.user)
        # What is answered to an account is kept by no cache (pages.cache_control).
        request._request.api_token = token  # type: ignore[attr-defined]  # ours
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class SessionAuthentication(authentication.SessionAuthentication):
    """The session of the pages, with their CSRF token (header `X-CSRFToken`)."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, None] | None:
        if _is_public(request):
            return None
        found: tuple[AbstractBaseUser, None] | None = super().authenticate(request)
        return found


def _is_public(request: Request) -> bool:
    return isinstance(scope_needed(request.parser_context["view"], request.method), Public)


def _refuse(request: Request, token: ApiToken | None, reason: str) -> NoReturn:
    """401, or 429 after as many failures from one address as lock a sign-in.

    A valid token is never locked out: 256 bits cannot be guessed, and other clients may share the address.
    """
    address, seconds = str(get_client_ip_address(request._request)), int(settings.AXES_COOLOFF_TIME * 3600)
    failures = times_asked("api-token-failures", address, seconds=seconds, now=timezone.now())
    if failures > settings.AXES_FAILURE_LIMIT:
        raise Problem(
            "too-many-failures",
            "Too many tokens were refused",
            429,
            f"Too many tokens from this address were refused. Wait {seconds // 60} minutes.",
        )
    if token is not None:
        entry_append_bounded(
            action=TOKEN_REFUSED,
            subject=token.user.get_username(),
            actor=None,
            details={"name": token.name, "prefix": token.prefix, "reason": reason},
            most=1,
            within=REFUSALS_EVERY,
            alike="prefix",
        )
    raise AuthenticationFailed(f"The token is refused: {reason}.")
