"""What accounts may do with dashboards, and what a dashboard shows to them."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from ledger.access import may_change_populations
from pages.dashboards.models import Dashboard
from recipes.access import may_publish
from recipes.models import Recipe
from recipes.selectors import recipes_search

Reader = AbstractBaseUser | AnonymousUser


def may_read(user: Reader, dashboard: Dashboard | None = None) -> bool:
    """Whether the account may read this dashboard, or those that are not public."""
    return user.is_authenticated or (dashboard is not None and dashboard.public)


def may_change(user: Reader, dashboard: Dashboard) -> bool:
    """Whether the account may change and delete this dashboard: its owner and administrators."""
    return (may_publish(user) and user == dashboard.owner) or may_change_populations(user)


def readable_recipes(reader: Reader) -> QuerySet[Recipe]:
    """The published recipes that a dashboard shows to this reader, who finds no others on the site either."""
    return recipes_search(user=reader)
