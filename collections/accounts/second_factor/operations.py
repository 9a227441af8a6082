"""Setting up, asking for and removing second factors. Every operation is one transaction with its entry."""

import re
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.utils import timezone

from accounts.second_factor.actions import (
    FACTOR_DISABLED,
    FACTOR_ENABLED,
    FACTOR_RESET,
    RECOVERY_CODE_USED,
    RECOVERY_CODES_MADE,
)
from accounts.second_factor.codes import (
    RECOVERY_BYTES,
    SECRET_BYTES,
    recovery_hash,
    recovery_text,
    step_of_code,
)
from accounts.second_factor.models import Factor, RecoveryCode
from log.audit.operations import entry_append
from panprivacy.encryption.sealing import seal, unseal

BEGUN_FOR = timedelta(minutes=15)
"""Within which the first code must come: a secret that was shown long ago is never taken up."""

RECOVERY_CODES = 10

FAILURES_AT_ONCE = 8
"""Wrong codes in a row after which the account waits, whatever address they come from: a quarter of an hour,
twice as long after as many more, and a day at most. Three of 10^6 codes are right at a time, so an attacker
who has the password finds one with a probability below 1% in a year."""

SHORTEST_BLOCK, LONGEST_BLOCK = timedelta(minutes=15), timedelta(days=1)


class SecondFactorError(ValueError):
    """The code is wrong, was used already, or the account waits. Nothing reveals which: the page does not
    either.
    """


class FactorStateError(ValueError):
    """The account has a second factor already, or none, or its time to set one up is over."""


@transaction.atomic
def factor_begin(*, user: User) -> bytes:
    """A new secret to show, which replaces an unfinished one. The account has no factor by it yet.

    Raises:
        FactorStateError: it has one.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if Factor.objects.filter(user=user, confirmed_at__isnull=False).exists():
        raise FactorStateError("the account has a second factor already")
    secret = secrets.token_bytes(SECRET_BYTES)
    fresh = {"sealed": _sealed(secret, user), "begun_at": timezone.now(), "failures": 0, "last_step": 0}
    Factor.objects.update_or_create(user=user, defaults=fresh | {"blocked_until": None})
    return secret


def begun_secret(user: User) -> bytes | None:
    """The secret that waits for its first code; None if none does (any more)."""
    factor = Factor.objects.filter(user=user, confirmed_at=None).first()
    if factor is None or factor.begun_at <= timezone.now() - BEGUN_FOR:
        return None
    return _secret(factor)


@transaction.atomic
def factor_confirm(*, user: User, code: str) -> list[str]:
    """Take up what was begun, by its first code.

    Returns:
        The recovery codes. They cannot be recovered.

    Raises:
        FactorStateError: nothing was begun (lately).
        SecondFactorError: the code is wrong.
    """
    factor = Factor.objects.select_for_update().filter(user=user, confirmed_at=None).first()
    now = timezone.now()
    if factor is None or factor.begun_at <= now - BEGUN_FOR:
        raise FactorStateError("begin again: the secret is older than a quarter of an hour")
    step = step_of_code(_secret(factor), _digits(code), now.timestamp())
    if step is None:
        raise SecondFactorError("the code is wrong")
    factor.confirmed_at, factor.last_step = now, step
    factor.save(update_fields=["confirmed_at", "last_step"])
    texts = _make_recovery_codes(factor)
    entry_append(action=FACTOR_ENABLED, subject=user.get_username(), actor=user, details={})
    return texts


def factor_check(*, user: User, code: str) -> None:
    """Whether a code of the app, or a recovery code, is right. It is used up by that.

    Raises:
        SecondFactorError: it is wrong, was used already, or too many were wrong. What failed is counted.
    """
    # The count must be kept although the check fails: so the error is raised outside of the transaction.
    if not _checked(user, code):
        raise SecondFactorError("the code is wrong")


@transaction.atomic
def _checked(user: User, code: str) -> bool:
    factor = Factor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
    now = timezone.now()
    if factor is None or (factor.blocked_until is not None and now < factor.blocked_until):
        return False
    step = step_of_code(_secret(factor), _digits(code), now.timestamp())
    used = step is not None and step > factor.last_step
    recovery = recovery_hash(code)
    recovered = bool(recovery) and bool(factor.recovery_codes.filter(code_hash=recovery).delete()[0])
    if used and step is not None:
        factor.last_step = step
    if used or recovered:
        factor.failures, factor.blocked_until = 0, None
    else:
        factor.failures += 1
        factor.blocked_until = _block_after(factor.failures, now)
    factor.save(update_fields=["last_step", "failures", "blocked_until"])
    if recovered:
        left = {"left": factor.recovery_codes.count()}
        entry_append(action=RECOVERY_CODE_USED, subject=user.get_username(), actor=user, details=left)
    return used or recovered


def _block_after(failures: int, now: datetime) -> datetime | None:
    rounds, rest = divmod(failures, FAILURES_AT_ONCE)
    if rest or not rounds:
        return None
    doubled: int = 2 ** min(rounds - 1, 10)
    return now + min(SHORTEST_BLOCK * doubled, LONGEST_BLOCK)


@transaction.atomic
def recovery_codes_make(*, user: User) -> list[str]:
    """New recovery codes instead of those that are left. The account has proved itself."""
    factor = Factor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
    if factor is None:
        raise FactorStateError("the account has no second factor")
    texts = _make_recovery_codes(factor)
    entry_append(action=RECOVERY_CODES_MADE, subject=user.get_username(), actor=user, details={})
    return texts


@transaction.atomic
def factor_remove(*, user: User, actor: AbstractBaseUser | None) -> bool:
    """Forget the second factor of an account, and whether it had one. By another it is a reset; None is the
    command line."""
    removed = Factor.objects.filter(user=user, confirmed_at__isnull=False).delete()[0] > 0
    if removed:
        own = actor is not None and actor.pk == user.pk
        action = FACTOR_DISABLED if own else FACTOR_RESET
        entry_append(action=action, subject=user.get_username(), actor=actor, details={})
    return removed


def _make_recovery_codes(factor: Factor) -> list[str]:
    texts = [recovery_text(secrets.token_bytes(RECOVERY_BYTES)) for _ in range(RECOVERY_CODES)]
    factor.recovery_codes.all().delete()
    RecoveryCode.objects.bulk_create(
        RecoveryCode(factor=factor, code_hash=recovery_hash(text) or "") for text in texts
    )
    return texts


def _digits(code: str) -> str:
    return re.sub(r"\s", "", code)


def _sealed(secret: bytes, user: User) -> bytes:
    return seal(secret, settings.KEY_ENCRYPTION_KEY, _owner(user.pk), secrets.SystemRandom())


def _secret(factor: Factor) -> bytes:
    return unseal(bytes(factor.sealed), settings.KEY_ENCRYPTION_KEY, _owner(factor.user_id))


def _owner(key: int) -> bytes:
    return f"second factor {key}".encode()
