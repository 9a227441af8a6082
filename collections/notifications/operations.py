"""Subscribing, confirming, rotating, deleting. Every operation is one transaction, with its audit entry."""

import secrets
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from log.audit.models import Entry
from log.audit.operations import entry_append
from log.audit.registry import Action
from notifications.actions import SECRET_ROTATED, SUBSCRIPTION_CREATED, SUBSCRIPTION_DELETED
from notifications.kinds import kinds_chosen
from notifications.models import Delivery, Subscription
from notifications.pauses import LONGEST
from notifications.signature import SECRET_BYTES, secret_text
from notifications.subscription_secrets import secret_sealed
from notifications.targets import target_check
from panprivacy.formats.errors import FieldError
from storage import clock
from storage.sealing import secret_erase

MOST_WEBHOOKS = 10
"""Of one account."""

MOST_AN_HOUR = 20
"""Subscriptions that one account makes: this site must not be used to write to many strangers. As many new
secrets of all its webhooks: each is an entry in the log."""

MOST_ASKED_AN_HOUR = 20
"""Tests of one subscription, and attempts at one message. Rate limit: this site must not be used to flood
third parties, nor its log of deliveries to be filled."""

BOTH_VALID = timedelta(days=1)
"""Time for which the previous secret signs too."""

CONFIRM_WITHIN = timedelta(days=2)

LONGEST_MAIL_ADDRESS = 254


class NotificationStateError(Exception):
    """The subscription or delivery is not in the state that the operation needs. The message states which."""


def unavailable() -> str:
    """Why this site sends no notifications, as a clause; empty if it does."""
    return "" if settings.SITE_URL else "PANAPP_SITE_URL is not set, so messages could not name their pages"


def mail_unavailable() -> str:
    """Why this site sends no mail, as a clause; empty if it does."""
    return unavailable() or ("" if settings.EMAIL_FROM else "this site is not set up for e-mail")


class TooOftenError(NotificationStateError):
    """It was asked as often as it may be within an hour. The message states how often that is."""


@transaction.atomic
def webhook_create(*, user: User, url: str, events: object) -> tuple[Subscription, str]:
    """Subscribe an address to events of these types.

    Returns:
        The subscription, and its secret as text. The secret cannot be shown again.

    Raises:
        FieldError: naming `url` or `events`.
        NotificationStateError: this site sends no notifications, or the account has as many as it may.
        TooOftenError: it made as many within an hour as it may.
    """
    if reason := unavailable():
        raise NotificationStateError(reason)
    url, chosen = target_check(url.strip()), kinds_chosen(events)
    user = _require_rarely(user, SUBSCRIPTION_CREATED, "subscriptions")
    if Subscription.objects.filter(user=user, channel=Subscription.Channel.WEBHOOK).count() >= MOST_WEBHOOKS:
        raise NotificationStateError(f"the account has {MOST_WEBHOOKS} webhooks; delete one first")
    secret = secrets.token_bytes(SECRET_BYTES)
    made = _create(user, Subscription.Channel.WEBHOOK, url, chosen, secret, confirmed=True)
    _log_created(made, {"host": str(urlsplit(url).hostname)})
    return made, secret_text(secret)


@transaction.atomic
def mail_subscribe(*, user: User, address: str, events: object) -> Subscription:
    """Send a link to an address, which confirms it; then it is notified of these types of events.

    Replaces the account's previous subscription.

    Raises:
        FieldError: naming `address` or `events`.
        NotificationStateError: no mail is sent here.
        TooOftenError: the account made as many within an hour as it may.
    """
    if reason := mail_unavailable():
        raise NotificationStateError(reason)
    address, chosen = _address(address), kinds_chosen(events)
    user = _require_rarely(user, SUBSCRIPTION_CREATED, "subscriptions")
    Subscription.objects.filter(user=user, channel=Subscription.Channel.EMAIL).delete()
    secret = secrets.token_bytes(SECRET_BYTES)
    made = _create(user, Subscription.Channel.EMAIL, address, chosen, secret, confirmed=False)
    _deliver(made, Delivery.Purpose.CONFIRM)
    _log_created(made, {})
    return made


@transaction.atomic
def mail_confirm(*, subscription: Subscription) -> None:
    """The link was used. Raises NotificationStateError if it is already used."""
    changed = Subscription.objects.filter(pk=subscription.pk, confirmed_at=None).update(
        confirmed_at=clock.database_now()
    )
    if not changed:
        raise NotificationStateError("this link was used already")


@transaction.atomic
def secret_rotate(*, subscription: Subscription, actor: User) -> str:
    """A new secret, as text; the previous one signs too for a day.

    Raises:
        NotificationStateError: it is no webhook.
        TooOftenError: the account had as many within an hour as it may.
    """
    _require_rarely(subscription.account, SECRET_ROTATED, "secrets")
    row = Subscription.objects.select_for_update().get(pk=subscription.pk)
    if row.channel != Subscription.Channel.WEBHOOK:
        raise NotificationStateError("only a webhook has a secret")
    secret = secrets.token_bytes(SECRET_BYTES)
    secret_erase(row.sealed_before)
    row.sealed_before, row.sealed = row.sealed, secret_sealed(secret, row.identifier)
    row.before_until = clock.database_now() + BOTH_VALID
    row.save(update_fields=["sealed", "sealed_before", "before_until"])
    entry_append(
        action=SECRET_ROTATED,
        subject=row.account.get_username(),
        actor=actor,
        details={"identifier": row.identifier},
    )
    return secret_text(secret)


@transaction.atomic
def subscription_delete(*, subscription: Subscription, actor: User | None) -> None:
    """End it, with its secret and its log of deliveries; does nothing if it is already deleted.

    Args:
        actor: None for the link in a mail.
    """
    row = Subscription.objects.select_for_update().filter(pk=subscription.pk).first()
    if row is None:
        return
    details = {"identifier": row.identifier, "channel": row.channel}
    row.delete()
    entry_append(
        action=SUBSCRIPTION_DELETED, subject=row.account.get_username(), actor=actor, details=details
    )


@transaction.atomic
def trial_send(*, subscription: Subscription) -> Delivery:
    """Have a test sent, in one attempt. If it arrives, a subscription that was switched off is on again.

    Raises:
        NotificationStateError: the address is not confirmed, a test waits already, or there were too many.
    """
    row = Subscription.objects.select_for_update().get(pk=subscription.pk)
    if row.confirmed_at is None:
        raise NotificationStateError("the address is not confirmed yet")
    if row.deliveries.filter(purpose=Delivery.Purpose.TEST, state=Delivery.State.WAITING).exists():
        raise NotificationStateError("a test is on its way already")
    tests = row.deliveries.filter(purpose=Delivery.Purpose.TEST, created_at__gt=_an_hour_ago())
    if tests.count() >= MOST_ASKED_AN_HOUR:
        raise TooOftenError(f"{MOST_ASKED_AN_HOUR} tests were sent within an hour; wait a while")
    return _deliver(row, Delivery.Purpose.TEST)


@transaction.atomic
def delivery_again(*, delivery: Delivery) -> Delivery:
    """Send a message again, under the identifier that it has.

    Raises:
        NotificationStateError: it waits to be sent, the subscription is switched off, it was a test, or
            there were too many attempts.
    """
    Subscription.objects.select_for_update().get(pk=delivery.subscription_id)
    row = Delivery.objects.select_for_update().get(pk=delivery.pk)
    if row.state == Delivery.State.WAITING:
        raise NotificationStateError("this message waits to be sent already")
    if row.purpose != Delivery.Purpose.EVENT:
        raise NotificationStateError("only a message about an event can be sent again")
    if row.subscription.disabled_at is not None:
        raise NotificationStateError("the webhook is switched off; send a test first")
    if row.attempts.filter(at__gt=_an_hour_ago()).count() >= MOST_ASKED_AN_HOUR:
        raise TooOftenError(f"it was tried {MOST_ASKED_AN_HOUR} times within an hour; wait a while")
    now = clock.database_now()
    row.state, row.attempts_made, row.queued = Delivery.State.WAITING, 0, False
    row.next_attempt_at, row.give_up_at = now, now + LONGEST
    row.save()
    return row


def _create(
    user: User,
    channel: Subscription.Channel,
    target: str,
    events: list[str],
    secret: bytes,
    *,
    confirmed: bool,
) -> Subscription:
    now, identifier = clock.database_now(), secrets.token_hex(8)
    return Subscription.objects.create(
        identifier=identifier,
        user=user,
        channel=channel,
        target=target,
        events=events,
        sealed=secret_sealed(secret, identifier),
        created_at=now,
        confirmed_at=now if confirmed else None,
    )


def _deliver(subscription: Subscription, purpose: Delivery.Purpose) -> Delivery:
    now = clock.database_now()
    return Delivery.objects.create(
        subscription=subscription,
        purpose=purpose,
        created_at=now,
        next_attempt_at=now,
        give_up_at=now + (CONFIRM_WITHIN if purpose == Delivery.Purpose.CONFIRM else LONGEST),
    )


def _require_rarely(user: User, action: Action, things: str) -> User:
    """The row of the account, locked, so that two requests at once do not make too many.

    Every one leaves an entry in the log for good, so the log itself counts them.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    made = Entry.objects.filter(action=action.name, subject=user.get_username(), at__gt=_an_hour_ago())
    if made.count() >= MOST_AN_HOUR:
        raise TooOftenError(f"the account made {MOST_AN_HOUR} {things} within an hour; wait a while")
    return user


def _an_hour_ago() -> datetime:
    return clock.database_now() - timedelta(hours=1)


def _log_created(subscription: Subscription, details: dict[str, str]) -> None:
    entry_append(
        action=SUBSCRIPTION_CREATED,
        subject=subscription.account.get_username(),
        actor=subscription.account,
        details={
            "identifier": subscription.identifier,
            "channel": subscription.channel,
            "events": subscription.events,
            **details,
        },
    )


def _address(text: str) -> str:
    text = text.strip()
    try:
        validate_email(text)
    except ValidationError:
        raise FieldError("address", "must be an e-mail address") from None
    if len(text) > LONGEST_MAIL_ADDRESS or not text.isascii() or not text.isprintable():
        raise FieldError(
            "address", f"must be an e-mail address of at most {LONGEST_MAIL_ADDRESS} ASCII characters"
        )
    return text
