"""The account of a person who signed in at the organization's provider."""

import hashlib
from collections.abc import Iterable

from django.contrib.auth.hashers import is_password_usable
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.signals import pre_save

from accounts.oidc.configuration import Organization
from accounts.oidc.id_tokens import Person
from accounts.oidc.models import Identity
from accounts.oidc.refusals import NoRoleError, SignInRefusedError, SwitchedOffError
from accounts.oidc.selectors import is_of_organization

GROUPS = {"auditor": "Auditors", "analyst": "Analysts"}
"""Groups of this site by role. Administrators are staff and superusers instead."""

MARK_DIGITS = 12
"""Hexadecimal digits in the names of accounts whose own name is taken here, or is none."""

ATTEMPTS = 3
"""To store a new account: another request may take the name, or make the same account, meanwhile."""


class OrganizationPasswordError(ValueError):
    """The organization's accounts have no password here."""


def account_sign_in(*, organization: Organization, person: Person) -> User:
    """The account of a person, with the roles that the person's groups have at present, and no others.

    One account for each person of an issuer; it is made at the first sign-in. It is never one that was made
    here, whatever its name is. What administrators give it by hand ends at its next sign-in.

    Raises:
        NoRoleError: the person has no role. No account is made; an existing one has lost its roles.
        SwitchedOffError: the account is switched off. It stays as it is.
        SignInRefusedError: a group of this site that a role needs was renamed or deleted. No account is
            made; an existing one has lost the roles that the person's groups do not have.
    """
    roles = organization.roles_of(person.groups)
    user = _account(organization.issuer, person, roles)
    # Not in the transaction: it must be kept that roles are gone.
    if user is None or not roles:
        raise NoRoleError
    _require_groups(roles)
    return user


@transaction.atomic
def _account(issuer: str, person: Person, roles: frozenset[str]) -> User | None:
    """None if there is none, and the person has no role."""
    for _ in range(ATTEMPTS):
        known = Identity.objects.filter(issuer=issuer, subject=person.subject).first()
        if known is not None:
            return _changed(known.user_id, roles)
        if not roles:
            return None
        _require_groups(roles)
        try:
            with transaction.atomic():
                return _made(issuer, person, roles)
        except IntegrityError:
            continue
    raise SignInRefusedError("name taken meanwhile")


def _changed(key: int, roles: frozenset[str]) -> User:
    user = User.objects.select_for_update(no_key=True).get(pk=key)
    if not user.is_active:
        raise SwitchedOffError(user.get_username())
    is_administrator = "administrator" in roles
    if (user.is_staff, user.is_superuser) != (is_administrator, is_administrator):
        user.is_staff = user.is_superuser = is_administrator
        user.save(update_fields=["is_staff", "is_superuser"])
    user.groups.set(_groups(roles))
    user.user_permissions.clear()
    return user


def _made(issuer: str, person: Person, roles: frozenset[str]) -> User:
    is_administrator = "administrator" in roles
    user = User(is_staff=is_administrator, is_superuser=is_administrator)
    user.username = _name(issuer, person)
    user.set_unusable_password()
    user.save(force_insert=True)
    Identity.objects.create(user=user, issuer=issuer, subject=person.subject)
    user.groups.set(_groups(roles))
    return user


def _groups(roles: Iterable[str]) -> list[Group]:
    """Those that exist."""
    return list(Group.objects.filter(name__in=_names(roles)))


def _names(roles: Iterable[str]) -> set[str]:
    return {GROUPS[role] for role in roles if role in GROUPS}


def _require_groups(roles: Iterable[str]) -> None:
    if len(_groups(roles)) != len(_names(roles)):
        raise SignInRefusedError("a group of this site is missing")


def _name(issuer: str, person: Person) -> str:
    """The provider's name of the person if it can be one here and is like no other; else one with a mark."""
    mark = hashlib.sha256(f"{issuer}\n{person.subject}".encode()).hexdigest()[:MARK_DIGITS]
    own = User.normalize_username(person.name)
    for name in (own, f"{own}-{mark}") if own else ():
        user = User(username=name)
        try:
            user.clean_fields(exclude=("password",))
            user.validate_unique()
        except ValidationError:
            continue
        return name
    return f"person-{mark}"


def passwords_guard() -> None:
    """Have every save refuse a password for an account of the organization, which could not close this second
    sign-in path."""
    pre_save.connect(_refuse_password, sender=User, dispatch_uid="oidc_passwords")


def _refuse_password(
    sender: object, instance: User, update_fields: Iterable[str] | None = None, **_: object
) -> None:
    is_written = update_fields is None or "password" in update_fields
    if is_written and is_password_usable(instance.password) and is_of_organization(instance):
        raise OrganizationPasswordError("the organization's accounts have no password here")
