"""One mail to one address. Its text comes from the module that the setting `LETTERS` names."""

from importlib import import_module
from smtplib import SMTPException
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse

from notifications.messages import page_of_event
from notifications.models import Delivery, Subscription
from notifications.operations import CONFIRM_WITHIN
from notifications.subscription_secrets import confirmation_code, unsubscription_code

MOST_SUBJECT = 150
"""Characters of a subject line."""


def mail_send(delivery: Delivery) -> str:
    """Hand a message to the mail server; why that failed, or nothing.

    A repeated one has the same Message-ID, by which mailboxes drop it.
    """
    subscription = delivery.subscription
    ending = unsubscribe_address(subscription)
    letters = import_module(settings.LETTERS)
    subject, text = letters.letter(
        delivery,
        page=page_of_event(delivery.event) if delivery.event else "",
        confirm=confirm_address(delivery),
        unsubscribe=ending,
    )
    message = EmailMessage(
        # Names are an analyst's: what is no letter ends no header.
        subject="".join(each if each.isprintable() else " " for each in subject)[:MOST_SUBJECT],
        body=text,
        from_email=settings.EMAIL_FROM,
        to=[subscription.target],
        headers={
            "Message-ID": f"<{delivery.message_id}@{urlsplit(settings.SITE_URL or '').hostname}>",
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": f"<{ending}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
    try:
        message.send()
    except (SMTPException, OSError) as error:
        return f"the mail server did not take it: {type(error).__name__}"
    return ""


def confirm_address(delivery: Delivery) -> str:
    """The link that confirms the address; it works as long as the mail with it may be sent."""
    subscription = delivery.subscription
    expires = int((subscription.created_at + CONFIRM_WITHIN).timestamp())
    code = confirmation_code(subscription, expires)
    path = reverse("notifications-confirm", args=[subscription.identifier, expires, code])
    return f"{settings.SITE_URL}{path}"


def unsubscribe_address(subscription: Subscription) -> str:
    """The link that ends a subscription."""
    code = unsubscription_code(subscription)
    return f"{settings.SITE_URL}{reverse('notifications-unsubscribe', args=[subscription.identifier, code])}"
