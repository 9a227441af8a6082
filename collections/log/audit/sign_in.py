"""Entries for sign-ins, failed ones and locks, made from the signals of Django and axes.

A lock is of a name and an address, and a successful sign-in resets the count of failures: so it alone does
not bound the log. Within the time of a lock no more than `MOST` entries are appended.

The number of entries of the log is public. So a failure has its entry or has none whether or not there is
such an account: if accounts had entries of their own left, one try would reveal that a name has one.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from axes.signals import user_locked_out
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from log.audit.actions import SIGN_IN_FAILED, SIGN_IN_LOCKED, SIGNED_IN
from log.audit.operations import entry_append, entry_append_bounded
from log.audit.registry import Action

MOST = 200
"""Failures of all names together that have an entry, within the time of a lock."""

UNKNOWN_ACCOUNT = "(unknown account)"
"""Stands for a name that no account has: people type passwords into the wrong box."""


ORGANIZATION = "organization"
"""Value of the detail `with`: signed in at the organization's provider."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@receiver(user_logged_in)
def record_sign_in(
    sender: object, user: AbstractBaseUser, request: HttpRequest | None = None, **_: object
) -> None:
    """An entry for each session that was opened, without address or user agent. A page that opens one in
    another way than with a password sets `request.sign_in_details`."""
    details = getattr(request, "sign_in_details", {})
    entry_append(action=SIGNED_IN, subject=user.get_username(), actor=user, details=details)


@receiver(user_login_failed)
def record_failed_sign_in(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: object
) -> None:
    """An entry for a failed attempt, without address or user agent."""
    if getattr(request, "axes_locked_out", False):
        # Refused unread: the lock itself has an entry, and a flood must not fill the log.
        return
    _record(SIGN_IN_FAILED, credentials.get("username"))


def record_refused_sign_in(*, account: str, reason: str) -> None:
    """An entry for a sign-in at the organization's provider that opened no session.

    Args:
        account: its name; empty if it is not known.
        reason: words of ours, nothing that came from outside.
    """
    _record(SIGN_IN_FAILED, account, {"with": ORGANIZATION, "reason": reason})


@receiver(user_locked_out)
def record_lock(
    sender: object, request: HttpRequest | None = None, username: str | None = None, **_: object
) -> None:
    """An entry when an account is locked for a while; the signal comes at every attempt from then on."""
    if getattr(request, "axes_failures_since_start", None) == settings.AXES_FAILURE_LIMIT:
        _record(SIGN_IN_LOCKED, username)


def _record(action: Action, username: str | None, details: Mapping[str, Any] = NOTHING) -> None:
    entry_append_bounded(
        action=action,
        subject=_account(username),
        actor=None,
        details=details,
        most=MOST,
        whatever_subject=True,
        # A flood through the provider's answers hides no failed passwords, and the reverse.
        alike="with",
        within=timedelta(hours=settings.AXES_COOLOFF_TIME),
    )


def _account(username: str | None) -> str:
    exists = username is not None and get_user_model().objects.filter(username=username).exists()
    return str(username) if exists else UNKNOWN_ACCOUNT
