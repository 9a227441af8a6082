"""Proof that the person has an account's second factor, or is still known at the organization's provider.

Guesses of codes count as failed sign-ins do, wherever they are made: by account and address, and by account
alone, too.
"""

import time

from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest

from accounts.second_factor.operations import SecondFactorError, factor_check


def code_proved(request: HttpRequest, user: User, code: str) -> bool:
    """Whether this is a code of the account's second factor. While it is locked, none is checked."""
    credentials = {"username": user.get_username()}
    if not AxesProxyHandler.is_allowed(request, credentials):
        request.axes_locked_out = True  # type: ignore[attr-defined]  # axes' middleware answers
        request.axes_credentials = credentials  # type: ignore[attr-defined]  # as above
        return False
    try:
        factor_check(user=user, code=code)
    except SecondFactorError:
        user_login_failed.send(sender=__name__, credentials=credentials, request=request)
        return False
    return True


PROVED_SECONDS = 300
"""For which a proof at the provider lasts: as long as it takes to fill in a form."""

_PROVED_AT = "organization_proved_at"
"""Of a session: when the provider last asked this person for credentials, in seconds since 1970."""


def authentication_remember(request: HttpRequest, authenticated_at: float | None) -> None:
    """Keep that time in the session; None if the provider stated none."""
    request.session[_PROVED_AT] = authenticated_at


def is_recently_authenticated(request: HttpRequest) -> bool:
    """Whether the provider asked this person for credentials a moment ago."""
    at = request.session.get(_PROVED_AT)
    return at is not None and abs(time.time() - at) < PROVED_SECONDS


def code_field() -> forms.CharField:
    """For a code of the app, or a recovery code."""
    return forms.CharField(
        label="Code",
        max_length=40,
        help_text="6 digits that your app shows now, or one of your recovery codes.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false"}),
    )
