"""Signing in: the password or the organization's provider, then a code if the account has a second factor or
must set one up.

The person is not signed in between the two: the session only remembers, for ten minutes, who passed the first
step.
"""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.second_factor.operations import FactorStateError, SecondFactorError
from accounts.second_factor.selectors import factor_of, factor_required
from log.audit.sign_in import NOTHING
from pages.account.enrolment import (
    enrolment_begin,
    enrolment_confirm,
    enrolment_context,
    enrolment_secret,
)
from pages.account.proofs import authentication_remember, code_field, code_proved

PENDING = "second_factor_pending"
PENDING_SECONDS = 600


def first_step_passed(
    request: HttpRequest,
    user: User,
    *,
    backend: str,
    onward: str,
    details: Mapping[str, Any] = NOTHING,
    authenticated_at: float | None = None,
    has_second_factor: bool = False,
) -> HttpResponse:
    """Open the session and lead onward, or lead to the second step if the account has one.

    Args:
        backend: from which the session loads the account.
        onward: the address that the person asked for.
        details: of the entry in the audit log.
        authenticated_at: when the provider asked for credentials, in seconds since 1970; None if it did not.
        has_second_factor: whether the provider states that it asked for one.
    """
    passed = {
        "backend": backend,
        "details": dict(details),
        "authenticated_at": authenticated_at,
        "next": onward,
    }
    factor = factor_of(user)
    if has_second_factor or (factor is None and not factor_required(user)):
        return redirect(_session_open(request, user, passed))
    request.session[PENDING] = {
        **passed,
        "user": user.pk,
        "mark": user.get_session_auth_hash(),
        "at": time.time(),
    }
    request.session.cycle_key()
    return redirect("sign-in-enrol" if factor is None else "sign-in-code")


def _session_open(request: HttpRequest, user: User, passed: Mapping[str, Any]) -> str:
    """Returns the address that the person asked for."""
    request.sign_in_details = passed["details"]  # type: ignore[attr-defined]  # log.audit reads it
    login(request, user, backend=passed["backend"])
    authentication_remember(request, passed["authenticated_at"])
    return str(passed["next"])


class SignInView(LoginView):
    """Name and password."""

    redirect_authenticated_user = True

    def get_context_data(self, **given: Any) -> dict[str, Any]:
        provider = None if settings.OIDC is None else urlsplit(settings.OIDC.issuer).hostname
        return super().get_context_data(**given, provider=provider)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user: Any = form.get_user()
        return first_step_passed(self.request, user, backend=user.backend, onward=self.get_success_url())


@method_decorator([never_cache, sensitive_post_parameters("code")], name="dispatch")
class _SecondStepView(View):
    """A page for those who passed the first step a moment ago."""

    has_factor: bool

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user = _pending_user(request)
        if user is None:
            request.session.pop(PENDING, None)
            return redirect("sign-in")
        if (factor_of(user) is not None) is not self.has_factor:
            return redirect("sign-in-enrol" if self.has_factor else "sign-in-code")
        self.user = user
        return super().dispatch(request, *args, **kwargs)

    def signed_in(self) -> str:
        """Open the session; returns the address that the person asked for."""
        return _session_open(self.request, self.user, self.request.session.pop(PENDING))


class CodeView(_SecondStepView):
    """The code of the app, or a recovery code."""

    has_factor = True

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page()

    def post(self, request: HttpRequest) -> HttpResponse:
        if code_proved(request, self.user, request.POST.get("code", "")[:40]):
            return redirect(self.signed_in())
        return self._page("This code is wrong, or was used already.", status=422)

    def _page(self, problem: str = "", status: int = 200) -> HttpResponse:
        return render(self.request, "registration/code.html", {"problem": problem, **_field()}, status=status)


class EnrolView(_SecondStepView):
    """Set up a second factor, if sign-in requires one."""

    has_factor = False

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page()

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            codes = enrolment_confirm(request, self.user, request.POST.get("code", "")[:40])
        except SecondFactorError:
            return self._page("This code is wrong. Does the clock of the phone go right?", status=422)
        except FactorStateError:
            messages.info(request, "That took too long. Here is a new secret.")
            return self._page(status=422)
        context = {"codes": codes, "onward": self.signed_in()}
        return render(request, "registration/recovery_codes.html", context)

    def _page(self, problem: str = "", status: int = 200) -> HttpResponse:
        secret = enrolment_secret(self.request, self.user) or enrolment_begin(self.request, self.user)
        context = {"problem": problem, **enrolment_context(self.user, secret), **_field()}
        return render(self.request, "registration/enrol.html", context, status=status)


def _field() -> dict[str, Any]:
    return {"help": code_field().help_text}


def _pending_user(request: HttpRequest) -> User | None:
    """Who passed the first step, if that was lately and the account is still the same."""
    pending = request.session.get(PENDING)
    if pending is None or not 0 <= time.time() - pending["at"] < PENDING_SECONDS:
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), pending["mark"]):
        return None
    return user
