"""Who may read and change dashboards."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from ledger.access import may_change_populations
from pages.dashboards.models import Dashboard
from recipes.access import may_publish


def may_read(user: AbstractBaseUser | AnonymousUser, dashboard: Dashboard | None = None) -> bool:
    """Whether the account may read this dashboard, or those that are not public."""
    return user.is_authenticated or (dashboard is not None and dashboard.public)


def may_change(user: AbstractBaseUser | AnonymousUser, dashboard: Dashboard) -> bool:
    """Whether the account may change and delete this dashboard: its owner and administrators."""
    return (may_publish(user) and user == dashboard.owner) or may_change_populations(user)
