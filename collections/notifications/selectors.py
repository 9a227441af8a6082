"""Reading subscriptions and the log of their deliveries."""

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from notifications.models import Delivery, Subscription
from notifications.subscription_secrets import confirmation_code, is_code, unsubscription_code
from storage import clock


def subscriptions_of(user: AbstractBaseUser) -> QuerySet[Subscription]:
    """An account's own, newest first."""
    return Subscription.objects.filter(user__pk=user.pk)


def webhooks_of(user: AbstractBaseUser) -> QuerySet[Subscription]:
    """Its webhooks only."""
    return subscriptions_of(user).filter(channel=Subscription.Channel.WEBHOOK)


def mails_of(user: AbstractBaseUser) -> QuerySet[Subscription]:
    """Its subscription by e-mail, if it has one."""
    return subscriptions_of(user).filter(channel=Subscription.Channel.EMAIL)


def deliveries_of(subscription: Subscription) -> QuerySet[Delivery]:
    """With events and attempts, newest first."""
    return subscription.deliveries.select_related("event").prefetch_related("attempts")


def by_confirmation(identifier: str, expires: int, code: str) -> Subscription | None:
    """The subscription whose address a link confirms; None of a link that is wrong, expired or replaced."""
    found = Subscription.objects.filter(identifier=identifier, channel=Subscription.Channel.EMAIL).first()
    if found is None or expires <= clock.database_now().timestamp():
        return None
    return found if is_code(code, confirmation_code(found, expires)) else None


def by_unsubscription(identifier: str, code: str) -> Subscription | None:
    """The subscription that a link ends; None of a wrong link, and of one that was used."""
    found = Subscription.objects.filter(identifier=identifier, channel=Subscription.Channel.EMAIL).first()
    return found if found is not None and is_code(code, unsubscription_code(found)) else None
