"""Entries for changes of accounts, groups and permissions, made from Django's own signals.

A save has its entry before it is written, so none is ever without one. In a transaction, such as the admin's,
both are committed or rolled back together; outside of one, the entry stays even if the save then fails
(docs/adr/0007). Relations and deletions have their entry after them: Django opens a transaction for these.

Changes that send no signal leave no entry: SQL, `QuerySet.update`, `bulk_create`, fixtures.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.hashers import is_password_usable
from django.contrib.auth.models import AbstractBaseUser, Group, Permission, User
from django.db import transaction
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, pre_delete, pre_save
from django.dispatch import receiver

from log.audit.actions import ACCOUNT_CHANGED, PERMISSION_CHANGED
from log.audit.actor import current_actor
from log.audit.operations import entry_append
from log.audit.registry import Action

FLAGS = ("is_active", "is_staff", "is_superuser")
WATCHED = {User: ("username", "password", *FLAGS), Group: ("name",)}
"""Fields whose changes are recorded; of a password only that it changed."""

HOLDINGS = {
    User.groups.through: ("user", "group"),
    User.user_permissions.through: ("user", "permission"),
    Group.permissions.through: ("group", "permission"),
}
"""Memberships and permissions, by the table that stores them."""


@receiver(pre_save, sender=User)
@receiver(pre_save, sender=Group)
@transaction.atomic
def record_save(
    sender: type[Model], instance: User | Group, raw: bool, update_fields: Iterable[str] | None, **_: object
) -> None:
    """Append the entries of what a save is about to write; a fixture (`raw`) leaves none."""
    written = (
        set(WATCHED[sender]) if update_fields is None else set(WATCHED[sender]).intersection(update_fields)
    )
    # A save that touches no watched field, such as each sign-in, reads nothing.
    if raw or not written:
        return
    # Not FOR UPDATE: that would wait for others that are adding the account to a group.
    rows = sender._default_manager.select_for_update(no_key=True).filter(pk=instance.pk)
    before = rows.values(*written).first() if instance.pk else None
    changed = {field for field in written if before and before[field] != getattr(instance, field)}
    if isinstance(instance, User):
        _append_account(instance, before, changed, update_fields)
    elif before and changed:
        details = {"change": "group renamed", "from": before["name"], "to": instance.name}
        _append(PERMISSION_CHANGED, _subject(instance), details)


def _append_account(
    account: User,
    before: Mapping[str, Any] | None,
    changed: set[str],
    update_fields: Iterable[str] | None,
) -> None:
    """One entry for a new account; for an existing one, one each for its name, password and flags."""
    name = account.get_username()
    if before is None:
        if update_fields is None:  # otherwise the row is deleted, and the save will fail
            flags = {flag: getattr(account, flag) for flag in FLAGS}
            _append(ACCOUNT_CHANGED, name, {"change": "created", "flags": flags})
        return
    if "username" in changed:
        _append(ACCOUNT_CHANGED, name, {"change": "renamed", "from": before["username"], "to": name})
    # Without a password before and after, sessions were ended.
    has_or_had = is_password_usable(account.password) or is_password_usable(before.get("password", ""))
    if "password" in changed and has_or_had and not _is_upgraded_hash(account, update_fields):
        _append(ACCOUNT_CHANGED, name, {"change": "password"})
    changes = {flag: [before[flag], getattr(account, flag)] for flag in FLAGS if flag in changed}
    if changes:
        _append(PERMISSION_CHANGED, name, {"change": "flags", "flags": changes})


@receiver(m2m_changed, sender=User.groups.through)
@receiver(m2m_changed, sender=User.user_permissions.through)
@receiver(m2m_changed, sender=Group.permissions.through)
def record_holding_change(
    sender: type[Model], instance: Model, action: str, reverse: bool, pk_set: set[int] | None, **_: object
) -> None:
    """One entry per account or group that gets or loses permissions, or joins or leaves groups.

    Only real changes are logged: giving what is held, and taking what is not, are no changes.
    """
    if action in {"post_add", "pre_remove", "pre_clear"}:
        holder, held = HOLDINGS[sender]
        own, other = (held, holder) if reverse else (holder, held)
        rows = sender._default_manager.filter(**{own: instance})
        if pk_set is not None:
            rows = rows.filter(**{f"{other}__in": pk_set})
        _remember(instance, sender, list(rows.select_related(holder, held)))
    if action in {"post_add", "post_remove", "post_clear"}:
        _append_holdings(sender, _remembered(instance, sender) or [], given=action == "post_add")


@receiver(pre_delete, sender=User)
@receiver(pre_delete, sender=Group)
def read_before_deletion(sender: type[Model], instance: User | Group, **_: object) -> None:
    """Remember its relations, which are deleted with it: cascades send no signal for them."""
    if isinstance(instance, Group):
        members = User.groups.through.objects.filter(group=instance).select_related("user", "group")
        holds: dict[str, Any] = {"permissions": _names(instance.permissions.select_related("content_type"))}
        _remember(instance, sender, (list(members), holds))
    else:
        holds = {
            "flags": {flag: getattr(instance, flag) for flag in FLAGS},
            "groups": _names(instance.groups.all()),
            "permissions": _names(instance.user_permissions.select_related("content_type")),
        }
        _remember(instance, sender, ([], holds))


@receiver(post_delete, sender=User)
@receiver(post_delete, sender=Group)
def record_deletion(sender: type[Model], instance: User | Group, **_: object) -> None:
    """One entry for what was deleted, with what it held; of a group, one for every member too."""
    memberships, holds = _remembered(instance, sender)
    _append_holdings(User.groups.through, memberships, given=False)
    if isinstance(instance, Group):
        _append(PERMISSION_CHANGED, _subject(instance), {"change": "group deleted", **holds})
    else:
        _append(ACCOUNT_CHANGED, _subject(instance), {"change": "deleted", **holds})


def _append_holdings(through: type[Model], rows: Iterable[Model], *, given: bool) -> None:
    holder, held = HOLDINGS[through]
    by_holder: dict[str, list[Group | Permission]] = {}
    for row in rows:
        by_holder.setdefault(_subject(getattr(row, holder)), []).append(getattr(row, held))
    verb = {"group": ("left", "joined"), "permission": ("taken", "given")}[held][given]
    for subject, things in sorted(by_holder.items()):
        _append(PERMISSION_CHANGED, subject, {"change": verb, f"{held}s": _names(things)})


def _append(action: Action, subject: str, details: Mapping[str, Any]) -> None:
    entry_append(action=action, subject=subject, actor=_acting(), details=details)


def _acting() -> AbstractBaseUser | None:
    actor = current_actor()
    return actor if actor is not None and actor.is_authenticated else None


def _subject(holder: User | Group) -> str:
    # A username holds no space: no account can be taken for a group.
    return f"group {holder.name}" if isinstance(holder, Group) else holder.get_username()


def _names(things: Iterable[Group | Permission]) -> list[str]:
    return sorted(
        f"{thing.content_type.app_label}.{thing.codename}" if isinstance(thing, Permission) else thing.name
        for thing in things
    )


def _is_upgraded_hash(account: User, update_fields: Iterable[str] | None) -> bool:
    """Whether Django hashed the same password anew at a sign-in: then alone `_password` is None."""
    return (
        update_fields is not None
        and set(update_fields) == {"password"}
        and vars(account).get("_password") is None
        and account.has_usable_password()
    )


def _remember(instance: Model, sender: type[Model], found: Any) -> None:
    # On the instance: it is the one thing that the signals before and after a change share.
    instance.__dict__.setdefault("_audit_before", {})[sender] = found


def _remembered(instance: Model, sender: type[Model]) -> Any:
    return instance.__dict__["_audit_before"].pop(sender)
