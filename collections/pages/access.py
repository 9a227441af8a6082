"""Pages for some accounts only: checked on the server, and refusals of signed-in people are recorded."""

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views import View

from ledger.access import may_change_populations
from log.audit.access import may_read_log
from log.audit.actions import ACCESS_DENIED
from log.audit.operations import entry_append_bounded
from recipes.access import may_publish
from streams.access import may_announce
from web.htmx import htmx_of

REFUSALS_EVERY = timedelta(hours=1)
"""After which a refusal of the same account at the same page is recorded again."""


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
            if htmx_of(request):
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
                # By the page's name and not by the path, because there is no limit to different paths.
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


class PublishersOnly(AccessCheckedView):
    """A page for those who may publish."""

    refusal = "Only analysts may draft, publish and close recipes."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_publish(user)


class AdministratorsOnly(AccessCheckedView):
    """A page for those who set budgets."""

    refusal = "Only administrators may make populations and set their budgets."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_change_populations(user)


class AnnouncersOnly(AccessCheckedView):
    """A page for those who may announce intrusions. Only these accounts may see what was seen, because it is
    the state.
    """

    refusal = "Only administrators may announce an intrusion, and see what was seen."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_announce(user)
