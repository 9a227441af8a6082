"""Who may see and do what: checked on the server, and refusals of signed-in people are recorded."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views import View

from audit.actions import ACCESS_DENIED
from audit.operations import entry_append_bounded

READ_LOG = "audit.view_entry"

REFUSALS_EVERY = timedelta(hours=1)
"""After which a refusal of the same account at the same page is recorded again."""


def may_read_log(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may read the whole log: staff, and who has the permission, as both groups have."""
    if not isinstance(user, PermissionsMixin | AnonymousUser):
        return False
    return bool(getattr(user, "is_staff", False)) or user.has_perm(READ_LOG)


def log_access(request: HttpRequest) -> dict[str, Callable[[], bool]]:
    """Context processor: `may_read_log`, which asks for the account's permissions only where it is used."""
    return {"may_read_log": lambda: may_read_log(getattr(request, "user", AnonymousUser()))}


class AccessCheckedView(ABC, View):
    """A page for some accounts only. Others sign in first, or are refused on the record.

    The record has one entry per account, page and hour.
    """

    refusal = ""
    """What the refused reads: who may see the page."""

    @abstractmethod
    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Whether this account may use the page."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            if request.htmx:  # type: ignore[attr-defined]  # HtmxMiddleware
                # A part of a page: a sign-in form must not be swapped into it, nor what was typed be lost.
                return HttpResponse("Sign in again.", status=401)
            # Only a page can be returned to after signing in; a refused form is not sent again.
            target = request.get_full_path() if request.method in {"GET", "HEAD"} else "/"
            return redirect_to_login(target)
        if not self.may_access(request.user):
            entry_append_bounded(
                action=ACCESS_DENIED,
                subject=request.user.get_username(),
                actor=request.user,
                # By the page's name and not by the path, of which there is no end of different ones.
                details={
                    "method": str(request.method)[:20],
                    "path": request.path[:200],
                    "page": request.resolver_match.view_name if request.resolver_match else "",
                },
                most=1,
                within=REFUSALS_EVERY,
                alike="page",
            )
            raise PermissionDenied(self.refusal)
        return super().dispatch(request, *args, **kwargs)


class LogReadersOnly(AccessCheckedView):
    """A page for those who may read the whole log."""

    refusal = "Only analysts, auditors and staff may read the audit log."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_read_log(user)
