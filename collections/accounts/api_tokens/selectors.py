"""Reading API tokens."""

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from accounts.api_tokens.models import ApiToken
from web.scopes import Scope, scopes_declared


def tokens_of(user: AbstractBaseUser) -> QuerySet[ApiToken]:
    """An account's tokens, newest first, those that have ended included."""
    return tokens_list().filter(user__pk=user.pk)


def tokens_list() -> QuerySet[ApiToken]:
    """All tokens, newest first."""
    return ApiToken.objects.select_related("user")


def scopes_open_to(user: AbstractBaseUser) -> list[Scope]:
    """Scopes that a token of this account may have at present."""
    return [scope for scope in scopes_declared().values() if scope.may(user)]


def token_has(token: ApiToken, scope: Scope) -> bool:
    """Whether a token was given a scope, or one that includes it. Undeclared scopes have no effect."""
    known = scopes_declared()
    return any(
        name == scope.name or scope.name in known[name].includes for name in token.scopes if name in known
    )
