"""Which keys this installation takes as those of its partners: the public sees which, and since when.

Settings name them, and only the operator knows when these change. So they are compared with the log: by a
periodic task at a site, by the daily upkeep at a partner. Our own key signs every checkpoint: `own_keys`.
"""

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.db import transaction

from log.audit.models import Entry, Head
from log.audit.operations import entry_append_bounded
from log.audit.registry import Action
from log.public_log.actions import PARTNER_KEY_INTRODUCED, PARTNER_KEY_RETIRED
from panprivacy.formats import base64_text

MOST_A_DAY = 20
"""Entries of each action: processes that were started with different settings would fill the log for good."""


def partner_keys_enter() -> None:
    """Enter what the settings name and the log does not, and the other way round.

    Safe to run at any time, even twice.
    """
    configured = {name: base64_text.encode(key) for name, key in settings.PARTNER_KEYS.items()}
    if partner_keys_entered() != configured:
        _enter(configured)


def partner_keys_entered() -> dict[str, str]:
    """Partner → key in base64, from the log."""
    actions = (PARTNER_KEY_INTRODUCED.name, PARTNER_KEY_RETIRED.name)
    known: dict[str, str] = {}
    for action, subject, details in (
        Entry.objects.filter(action__in=actions).order_by("index").values_list("action", "subject", "details")
    ):
        if action == PARTNER_KEY_INTRODUCED.name:
            known[subject] = details["key"]
        else:
            known.pop(subject, None)
    return known


@transaction.atomic
def _enter(configured: Mapping[str, str]) -> None:
    # Checked again under the lock of all entries: another process may have been faster.
    Head.objects.select_for_update().get()
    entered = partner_keys_entered()
    for name in sorted(entered.keys() | configured.keys()):
        if entered.get(name) != configured.get(name):
            if name in entered:
                _append(PARTNER_KEY_RETIRED, name, entered[name])
            if name in configured:
                _append(PARTNER_KEY_INTRODUCED, name, configured[name])


def _append(action: Action, name: str, key: str) -> None:
    entry_append_bounded(
        action=action,
        subject=name,
        actor=None,
        details={"key": key},
        most=MOST_A_DAY,
        within=timedelta(days=1),
    )
