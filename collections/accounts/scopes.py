"""What API tokens may be for, of accounts."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin

from web.scopes import scope_declare

PERMISSIONS = ("auth.view_user", "auth.add_user", "auth.change_user")


def may_change_accounts(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may make and change others: administrators, no group."""
    return isinstance(user, PermissionsMixin | AnonymousUser) and user.has_perms(PERMISSIONS)


ACCOUNTS_READ = scope_declare("accounts:read", "List accounts and their groups", may=may_change_accounts)
ACCOUNTS_WRITE = scope_declare(
    "accounts:write",
    "Make accounts, switch them off, and put them into groups",
    may=may_change_accounts,
    includes=(ACCOUNTS_READ,),
)
