"""Making and revoking API tokens. Every operation is one transaction with its audit entry."""

import hashlib
import re
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.utils import timezone

from accounts.api_tokens.actions import TOKEN_CREATED, TOKEN_REVOKED
from accounts.api_tokens.models import NAME_LENGTH, ApiToken
from log.audit.operations import entry_append
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from web.scopes import scopes_declared

MARK = "panapp"
"""The prefix of every token, so that people and scanners of source code recognize one."""

SECRET_BYTES = 32

LONGEST_DAYS = 365

LONGEST_DAYS_WITHOUT_PASSWORD = 30
"""For accounts that sign in elsewhere: this site does not learn that a person has left there."""

MOST_TOKENS = 20
"""Tokens that work, of one account."""

_TEXT = re.compile(rf"{MARK}_([0-9a-f]{{8}})_[A-Za-z0-9_-]{{43}}")


@transaction.atomic
def token_create(
    *, user: User, name: str, scopes: Iterable[str], days: int, actor: AbstractBaseUser | None
) -> tuple[ApiToken, str]:
    """Make a token for an account.

    Args:
        name: what it is for, in 1 to 60 printable characters.
        scopes: names of scopes; only what the account may do itself.
        days: for how long it works, 1 to `longest_days`.
        actor: who makes it; None for the command line.

    Returns:
        The token as stored, and the text that a program sends. The text cannot be recovered.

    Raises:
        FieldError: naming `user`, `name`, `scope` or `expires`.
    """
    # The row of the account, so that two requests at once do not make too many.
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not user.is_active:
        raise FieldError("user", "is switched off")
    name = name.strip()
    if not (1 <= len(name) <= NAME_LENGTH and name.isprintable()):
        raise FieldError("name", f"must have 1 to {NAME_LENGTH} printable characters")
    if not 1 <= days <= longest_days(user):
        raise FieldError("expires", f"must be 1 to {longest_days(user)} days")
    now = timezone.now()
    working = [token for token in ApiToken.objects.filter(user=user) if not token.ended(now)]
    if len(working) >= MOST_TOKENS:
        raise FieldError("user", f"has {MOST_TOKENS} tokens that work; revoke one first")
    prefix = secrets.token_hex(4)
    text = f"{MARK}_{prefix}_{base64_text.encode_url(secrets.token_bytes(SECRET_BYTES))}"
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=prefix,
        secret_hash=token_hash(text),
        scopes=_allowed(user, scopes),
        password_mark=user.get_session_auth_hash(),
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    details = {**_named(token), "scopes": token.scopes, "expires_at": token.expires_at.isoformat()}
    entry_append(action=TOKEN_CREATED, subject=user.get_username(), actor=actor, details=details)
    return token, text


def longest_days(user: User) -> int:
    """For how long a token of this account can work."""
    return LONGEST_DAYS if user.has_usable_password() else LONGEST_DAYS_WITHOUT_PASSWORD


@transaction.atomic
def token_revoke(*, token: ApiToken, actor: AbstractBaseUser | None) -> ApiToken:
    """End a token for good; one that is revoked already stays so, with no second entry."""
    token = ApiToken.objects.select_for_update(of=("self",)).select_related("user").get(pk=token.pk)
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        subject = token.user.get_username()
        entry_append(action=TOKEN_REVOKED, subject=subject, actor=actor, details=_named(token))
    return token


def token_note_use(*, token: ApiToken) -> None:
    """Remember the day: one write a day, however often it is used."""
    today = timezone.now().date()
    if token.last_used_on != today:
        ApiToken.objects.filter(pk=token.pk).update(last_used_on=today)


def token_hash(text: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(text.encode()).hexdigest()


def token_prefix(text: str) -> str:
    """The public name of a token; empty if this can be none."""
    found = _TEXT.fullmatch(text)
    return found[1] if found else ""


def _allowed(user: User, names: Iterable[str]) -> list[str]:
    known, wanted = scopes_declared(), sorted(set(names))
    if not wanted:
        raise FieldError("scope", f"is missing; known are {', '.join(known)}")
    for name in wanted:
        if name not in known:
            raise FieldError("scope", f"must be one of {', '.join(known)}, not {as_typed(name)}")
        if not known[name].may(user):
            raise FieldError("scope", f"{name} is more than {user.get_username()} may do")
    return wanted


def _named(token: ApiToken) -> dict[str, str]:
    return {"name": token.name, "prefix": token.prefix}
