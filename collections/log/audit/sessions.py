"""Ending every session of an account, with an entry in the log."""

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from log.audit.actions import SIGNED_OUT_EVERYWHERE
from log.audit.operations import entry_append


class PasswordChangedError(ValueError):
    """Another request changed the password, which ended every session already."""


def sessions_end(*, user: User, password: str | None) -> None:
    """End every session of the account. Its password stays.

    Do not call it in a transaction: hashing would hold its connection, and the account's row.

    A session carries a hash of what is stored of the password. That is made anew, under a new salt.

    Args:
        user: as it was read when the password was checked.
        password: the account's own, checked; None if it has none.

    Raises:
        PasswordChangedError: it is not the account's any more.
        BusyError: too many passwords wait to be hashed; nothing was stored.
    """
    # Not `set_password`, which would log a new password.
    hashed = make_password(password)
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if locked.password != user.password:
            raise PasswordChangedError("the password was changed")
        locked.password = hashed
        locked.save(update_fields=["password"])
        entry_append(action=SIGNED_OUT_EVERYWHERE, subject=user.get_username(), actor=user, details={})


def other_sessions_end(*, user: User, but: str) -> None:
    """End every session of the account but the one of this key. Passwords and API tokens stay as they are.

    Sessions do not name their accounts outside of what they hold, so all that are not over are read.
    """
    for session in Session.objects.filter(expire_date__gt=timezone.now()).exclude(session_key=but):
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            session.delete()
