"""Entries for failed sign-ins and for changes of permissions, made from Django's own signals."""

from typing import Any

from axes.signals import user_locked_out
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, Group, User
from django.contrib.auth.signals import user_login_failed
from django.db.models.signals import m2m_changed, pre_save
from django.dispatch import receiver
from django.http import HttpRequest

from audit.actor import current_actor
from audit.models import Action
from audit.operations import entry_append

UNKNOWN_ACCOUNT = "(unknown account)"
"""Stands for a name that no account has: people type passwords into the wrong box."""


@receiver(user_login_failed)
def record_failed_sign_in(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: object
) -> None:
    """One entry per failed attempt, without address or user agent."""
    if getattr(request, "axes_locked_out", False):
        # Refused unread: the lock itself has an entry, and a flood must not fill the log.
        return
    entry_append(
        action=Action.SIGN_IN_FAILED, subject=_account(credentials.get("username")), actor=None, details={}
    )


@receiver(user_locked_out)
def record_lock(
    sender: object, request: HttpRequest | None = None, username: str | None = None, **_: object
) -> None:
    """One entry when an account is locked for a while; the signal comes at every attempt from then on."""
    if getattr(request, "axes_failures_since_start", None) == settings.AXES_FAILURE_LIMIT:
        entry_append(action=Action.SIGN_IN_LOCKED, subject=_account(username), actor=None, details={})


@receiver(m2m_changed, sender=User.groups.through)
def record_group_change(
    sender: object, instance: User | Group, action: str, reverse: bool, pk_set: set[int] | None, **_: object
) -> None:
    """One entry per account that joins or leaves a group."""
    verbs = {"post_add": "joined", "post_remove": "left", "pre_clear": "left"}
    if action not in verbs:
        return
    if reverse:
        accounts = instance.user_set.all() if pk_set is None else User.objects.filter(pk__in=pk_set)
        changes = [(account.get_username(), [instance.name]) for account in accounts]
    else:
        groups = instance.groups.all() if pk_set is None else Group.objects.filter(pk__in=pk_set)
        changes = [(instance.get_username(), sorted(group.name for group in groups))]
    for username, names in changes:
        if names:
            entry_append(
                action=Action.PERMISSION_CHANGED,
                subject=username,
                actor=_acting(),
                details={"change": verbs[action], "groups": names},
            )


@receiver(m2m_changed, sender=User.user_permissions.through)
@receiver(m2m_changed, sender=Group.permissions.through)
def record_permission_change(
    sender: object, instance: User | Group, action: str, reverse: bool, pk_set: set[int] | None, **_: object
) -> None:
    """One entry when single permissions are given to or taken from an account or a group."""
    verbs = {"post_add": "given", "post_remove": "taken", "pre_clear": "taken"}
    if action in verbs:
        entry_append(
            action=Action.PERMISSION_CHANGED,
            subject=str(instance)[:200],
            actor=_acting(),
            details={"change": verbs[action], "permissions": sorted(pk_set) if pk_set else "all"},
        )


@receiver(pre_save, sender=User)
def record_flag_change(sender: object, instance: User, raw: bool, **_: object) -> None:
    """One entry when an account is switched on or off, or becomes staff or superuser."""
    if raw:
        return
    flags = ("is_active", "is_staff", "is_superuser")
    before = User.objects.filter(pk=instance.pk).values(*flags).first() if instance.pk else None
    old = before or {"is_active": True, "is_staff": False, "is_superuser": False}
    changed = {
        flag: [old[flag], getattr(instance, flag)] for flag in flags if old[flag] != getattr(instance, flag)
    }
    if changed:
        entry_append(
            action=Action.PERMISSION_CHANGED,
            subject=instance.get_username(),
            actor=_acting(),
            details={"change": "flags", "flags": changed},
        )


def _acting() -> AbstractBaseUser | None:
    actor = current_actor()
    return actor if actor is not None and actor.is_authenticated else None


def _account(username: str | None) -> str:
    exists = username is not None and get_user_model().objects.filter(username=username).exists()
    return str(username) if exists else UNKNOWN_ACCOUNT
