"""Making, changing and deleting dashboards. Every operation is one transaction."""

from django.contrib.auth.models import User
from django.db import transaction

from log.audit.operations import entry_append
from pages.dashboards.actions import DASHBOARD_CREATED, DASHBOARD_DELETED, DASHBOARD_SHARED
from pages.dashboards.content import checked_cards, checked_title
from pages.dashboards.models import Dashboard

MOST_DASHBOARDS = 100
"""Of one account."""


class DashboardStateError(Exception):
    """The state does not allow it; the message is a clause."""


@transaction.atomic
def dashboard_create(*, title: object, cards: object, actor: User, public: bool = False) -> Dashboard:
    """A new dashboard of an account.

    Args:
        title: 1 to `TITLE_LENGTH` characters.
        cards: as `checked_cards` takes them.
        public: whether everyone may read it; else accounts of this site.

    Raises:
        FieldError: names what is wrong.
        DashboardStateError: the account has `MOST_DASHBOARDS`.
    """
    # Two requests at once do not make one too many.
    actor = User.objects.select_for_update(no_key=True).get(pk=actor.pk)
    if Dashboard.objects.filter(owner=actor).count() >= MOST_DASHBOARDS:
        raise DashboardStateError(f"an account has at most {MOST_DASHBOARDS} dashboards")
    made = Dashboard.objects.create(
        title=checked_title(title), public=public, cards=checked_cards(cards, actor), owner=actor
    )
    entry_append(action=DASHBOARD_CREATED, subject=made.subject, actor=actor, details={"public": made.public})
    return made


@transaction.atomic
def dashboard_change(
    *,
    dashboard: Dashboard,
    actor: User,
    title: object = None,
    public: bool | None = None,
    cards: object = None,
    version: str = "",
) -> Dashboard:
    """Replace what is given; the rest stays.

    Args:
        version: of the content that the change was made from; empty for any.

    Raises:
        FieldError: names what is wrong.
        DashboardStateError: it was changed since that version, or deleted.
    """
    row = _locked(dashboard)
    if version not in ("", row.version):
        raise DashboardStateError("the dashboard was changed meanwhile")
    was_public = row.public
    row.title = row.title if title is None else checked_title(title)
    row.cards = row.cards if cards is None else checked_cards(cards, actor)
    row.public = row.public if public is None else public
    row.save()
    if row.public != was_public:
        entry_append(
            action=DASHBOARD_SHARED, subject=row.subject, actor=actor, details={"public": row.public}
        )
    return row


@transaction.atomic
def dashboard_add(*, dashboard: Dashboard, card: object, actor: User) -> Dashboard:
    """Add a card at the end. Raises as `dashboard_change`."""
    row = _locked(dashboard)
    return dashboard_change(dashboard=row, actor=actor, cards=[*row.cards, card])


@transaction.atomic
def dashboard_delete(*, dashboard: Dashboard, actor: User) -> None:
    """Delete a dashboard; what it shows stays. Raises DashboardStateError if it is deleted."""
    row = _locked(dashboard)
    row.delete()
    entry_append(action=DASHBOARD_DELETED, subject=row.subject, actor=actor, details={})


def _locked(dashboard: Dashboard) -> Dashboard:
    row = Dashboard.objects.select_for_update().filter(pk=dashboard.pk).first()
    if row is None:
        raise DashboardStateError("the dashboard was deleted")
    return row
