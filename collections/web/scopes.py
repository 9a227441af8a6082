"""What programs may do with an API token: each package declares its own scopes, in a module `scopes`.

Every view of the API declares for each method which scope it needs, or that it is public:

    scopes = {"GET": PUBLIC, "POST": NOTES_WRITE}

A method without a declaration is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

May = Callable[[AbstractBaseUser | AnonymousUser], bool]


@dataclass(frozen=True)
class Scope:
    """One thing that a token may be for. Made by `scope_declare`.

    Attributes:
        name: stored with every token, so it stays for good.
        title: its description for people.
        may: whether an account may do this itself. A token is worth no more than its account.
        includes: names of the scopes that this one implies.
    """

    name: str
    title: str
    may: May
    includes: frozenset[str] = frozenset()


class Public:
    """Means no scope: the method does not identify the client."""


PUBLIC = Public()

Scopes = Mapping[str, Scope | Public]
"""HTTP method → what it needs. GET includes HEAD."""

_DECLARED: dict[str, Scope] = {}


def scope_declare(name: str, title: str, *, may: May, includes: tuple[Scope, ...] = ()) -> Scope:
    """Register a new scope.

    Raises:
        ValueError: another scope has this name.
    """
    if name in _DECLARED:
        raise ValueError(f"there is a scope {name!r} already")
    _DECLARED[name] = Scope(name, title, may, frozenset(scope.name for scope in includes))
    return _DECLARED[name]


def scopes_declared() -> dict[str, Scope]:
    """Name → scope, of the installed apps, by name."""
    return dict(sorted(_DECLARED.items()))


def scope_needed(view: object, method: str | None) -> Scope | Public | None:
    """What a method of a view needs; None if the view declares none, so that the method is refused."""
    if method == "OPTIONS":
        return PUBLIC  # shows what the description shows
    scopes: Scopes = getattr(view, "scopes", {})
    return scopes.get("GET" if method == "HEAD" else str(method))
