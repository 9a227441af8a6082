"""Making and changing accounts. Every operation is one transaction; its signals append the audit entries."""

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from log.audit.sessions import PasswordChangedError
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed


class AccountStateError(ValueError):
    """The account is one that is changed on pages only. The message states why."""


def account_create(*, username: str, password: str, groups: object) -> User:
    """A new account, which can sign in at once. It is no administrator.

    Args:
        groups: a list of names.

    Do not call it in a transaction: hashing would hold its connection.

    Raises:
        FieldError: naming `username`, `password` or `groups`.
        BusyError: too many passwords wait to be hashed; nothing was stored.
    """
    members = _groups(groups)
    # Like the forms of accounts and of sign-in: an account of any other name could not sign in.
    user = User(username=User.normalize_username(username))
    try:
        user.clean_fields(exclude=("password",))
        user.validate_unique()
    except ValidationError as error:
        raise FieldError("username", _clause(error)) from None
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise FieldError("password", _clause(error)) from None
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            user.groups.set(members)
    except IntegrityError:
        # Of two requests that come at once, the other one took the name.
        raise FieldError("username", "is refused: a user with that username already exists") from None
    return user


@transaction.atomic
def account_change(*, user: User, active: bool, groups: object) -> User:
    """Switch an account on or off, and set its groups. Setting what is so changes nothing.

    One that is switched off is signed out, and its API tokens work no more.

    Raises:
        AccountStateError: it is an administrator.
        FieldError: naming `groups`.
    """
    members = _groups(groups)
    locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if locked.is_superuser or locked.is_staff or locked.user_permissions.exists():
        raise AccountStateError(
            "administrators, and accounts with permissions of their own, are changed on pages"
        )
    if locked.is_active != active:
        locked.is_active = active
        locked.save(update_fields=["is_active"])
    locked.groups.set(members)
    return locked


def password_change(*, user: User, password: str) -> User:
    """Set another password, which was validated. Every other session of the account ends, and every API
    token; the password and the entry in the log are committed together (log.audit.accounts).

    Nothing but the password is written: the account may have been switched off, or lost rights, meanwhile.
    Do not call it in a transaction: hashing would hold its connection, and the account's row.

    Args:
        user: as it was read when the old password was checked.

    Returns:
        The account after the change.

    Raises:
        PasswordChangedError: the old password is not the account's any more, or the account is switched off
            or deleted.
        BusyError: too many passwords wait to be hashed; nothing was stored.
    """
    hashed = User()
    hashed.set_password(password)
    with transaction.atomic():
        return _password_store(user, hashed)


def _password_store(user: User, hashed: User) -> User:
    """Give an account the password of `hashed`, with what Django stores besides the hash (`_password`)."""
    locked = User.objects.select_for_update(no_key=True).filter(pk=user.pk, is_active=True).first()
    if locked is None or locked.password != user.password:
        raise PasswordChangedError("the password was changed, or the account was switched off")
    locked.password, locked._password = hashed.password, hashed._password  # type: ignore[attr-defined]  # Django's own
    locked.save(update_fields=["password"])
    return locked


def _groups(names: object) -> list[Group]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FieldError("groups", f"must be a list of names, not {as_typed(names)}")
    known = {group.name: group for group in Group.objects.order_by("name")}
    if len(names) > len(known):
        raise FieldError("groups", "must name each group once at most")
    for name in names:
        if name not in known:
            raise FieldError("groups", f"must be of {', '.join(known)}, not {name!r}")
    return [known[name] for name in dict.fromkeys(names)]


def _clause(error: ValidationError) -> str:
    said = " ".join(error.messages).rstrip(".")
    return f"is refused: {said[:1].lower()}{said[1:]}"
