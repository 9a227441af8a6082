"""What API tokens may be for, of webhooks. All that notifications contain is public, so every account may
have some.
"""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from web.scopes import scope_declare


def may_subscribe(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may have notifications: every active account may."""
    return user.is_authenticated and user.is_active


WEBHOOKS_READ = scope_declare("webhooks:read", "See your webhooks and their deliveries", may=may_subscribe)
WEBHOOKS_WRITE = scope_declare(
    "webhooks:write", "Add, test and delete your webhooks", may=may_subscribe, includes=(WEBHOOKS_READ,)
)
MAIL_READ = scope_declare(
    "mail:read", "See your subscription by e-mail, and what was sent", may=may_subscribe
)
MAIL_WRITE = scope_declare(
    "mail:write", "Subscribe by e-mail, and end it", may=may_subscribe, includes=(MAIL_READ,)
)
RULES_READ = scope_declare("rules:read", "See your rules and when they fired", may=may_subscribe)
RULES_WRITE = scope_declare(
    "rules:write", "Add and delete your rules", may=may_subscribe, includes=(RULES_READ,)
)
