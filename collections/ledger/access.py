"""Permission to make populations and set their budgets."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

CHANGE = "ledger.change_population"


def may_change_populations(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may make populations and set budgets: administrators, no group."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perm(CHANGE)
