"""Visits of accounts to the home page."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User

from pages.overview.models import Visit

APART = timedelta(minutes=30)
"""After which the next page is another visit."""

NOTED = timedelta(minutes=1)
"""How precisely the end of a visit is known: not every page writes."""

AT_FIRST = timedelta(days=7)
"""How far back the first visit reaches."""


def visit_note(*, user: User, now: datetime) -> datetime:
    """Note that an account sees the home page. Returns the time since which things are new to it."""
    visit, _ = Visit.objects.get_or_create(user=user, defaults={"seen_at": now, "new_since": now - AT_FIRST})
    unseen = now - visit.seen_at
    if unseen >= APART:
        visit.new_since = visit.seen_at
    if unseen >= NOTED:
        visit.seen_at = now
        visit.save()
    return visit.new_since
