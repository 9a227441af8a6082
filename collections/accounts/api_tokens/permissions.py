"""Whether an account, and the token that it is asked with, may do what a view of the API does."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.auth.models import AbstractBaseUser
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.api_tokens.models import ApiToken
from accounts.api_tokens.selectors import token_has
from log.audit.actions import ACCESS_DENIED
from log.audit.operations import entry_append_bounded
from web.problems import Problem
from web.scopes import Public, Scope, scope_needed

if TYPE_CHECKING:  # which loads the permissions that the settings name: these
    from rest_framework.views import APIView

REFUSALS_EVERY = timedelta(hours=1)
"""After which a refusal of the same account at the same address is recorded again."""


class ScopePermission(BasePermission):
    """What `scopes` of the view allows; no client if the view declares none."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True, or the reason as a problem document."""
        needed = scope_needed(view, request.method)
        if isinstance(needed, Public):
            return True
        if needed is None:
            # Methods that the view does not have come here as well.
            view.http_method_not_allowed(request)
        user = request.user
        if not user.is_authenticated:
            raise NotAuthenticated("Send a token as `Authorization: Bearer …`, or sign in.")
        if not isinstance(needed, Scope) or not needed.may(user):
            _record(request, user, needed)
            raise Problem("forbidden", "This is not allowed", 403, "Your account may not do this.")
        if isinstance(request.auth, ApiToken) and not token_has(request.auth, needed):
            _record(request, user, needed)
            detail = f"This needs a token with the scope {needed.name}."
            raise Problem("insufficient-scope", "The token is not for this", 403, detail, scope=needed.name)
        return True


def _record(request: Request, user: AbstractBaseUser, needed: Scope | None) -> None:
    matched = request.resolver_match
    details = {
        "method": str(request.method)[:20],
        "path": request.path[:200],
        "page": matched.view_name if matched else "",
        "scope": needed.name if needed else "",
    }
    entry_append_bounded(
        action=ACCESS_DENIED,
        subject=user.get_username(),
        actor=user,
        details=details,
        most=1,
        within=REFUSALS_EVERY,
        alike="page",
    )
