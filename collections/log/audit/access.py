"""Which accounts may read the log, and the account of a request."""

from collections.abc import Callable

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

READ_LOG = "audit.view_entry"


def may_read_log(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may read the whole log: staff, and accounts with the permission, which both groups
    have.
    """
    if not isinstance(user, PermissionsMixin | AnonymousUser):
        return False
    return bool(getattr(user, "is_staff", False)) or user.has_perm(READ_LOG)


def signed_in_user(request: HttpRequest) -> User:
    """The account behind a request; PermissionDenied without a signed-in account."""
    if not request.user.is_authenticated:
        raise PermissionDenied("Sign in first.")
    return request.user


def log_access(request: HttpRequest) -> dict[str, Callable[[], bool]]:
    """Context processor: `may_read_log`, which loads the account's permissions only when a template
    uses it."""
    return {"may_read_log": lambda: may_read_log(getattr(request, "user", AnonymousUser()))}
