"""What programs may do with an API token: each room declares its own scopes, in a module `scopes`.

Every view of the API says for each method which scope it needs, or that it is public:

    scopes = {"GET": PUBLIC, "POST": NOTES_WRITE}

Where it says nothing about a method, nobody may use it.
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
        title: what people read beside it.
        may: whether an account may do this itself. A token is worth no more than its account.
        includes: names of the scopes that this one implies.
    """

    name: str
    title: str
    may: May
    includes: frozenset[str] = frozenset()


class Public:
    """Stands for no scope: the method does not look at who asks."""


PUBLIC = Public()

Scopes = Mapping[str, Scope | Public]
"""HTTP method → what it needs. GET stands for HEAD, too."""

_DECLARED: dict[str, Scope] = {}


def scope_declare(name: str, title: str, *, may: May, includes: tuple[Scope, ...] = ()) -> Scope:
    """A new scope, known from now on.

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
    """What a method of a view needs; None where the view does not say, so that nobody may use it."""
    if method == "OPTIONS":
        return PUBLIC  # tells what the description tells
    scopes: Scopes = getattr(view, "scopes", {})
    return scopes.get("GET" if method == "HEAD" else str(method))
