"""What is sent about an event: which, when, and the address of its page. No number."""

from typing import Any

from django.conf import settings
from django.urls import reverse

from notifications.models import Delivery, Event
from panprivacy.formats.canonical_json import canonical_json
from panprivacy.formats.times import format_time

TEST = "test"
"""The type of a test."""


def page_of_event(event: Event) -> str:
    """The whole address of the public page that an event is about."""
    return f"{settings.SITE_URL}{reverse(event.its_kind.page, args=[event.subject])}"


def document_of(delivery: Delivery) -> dict[str, Any]:
    """The body of a webhook, the same at every attempt, as plain JSON values."""
    event = delivery.event
    if event is None:
        data = {"name": "A test", "url": f"{settings.SITE_URL}{reverse('notifications')}"}
        return _envelope(TEST, delivery, format_time(delivery.created_at), data)
    data = {event.its_kind.page: event.subject, "name": event.name, "url": page_of_event(event)}
    if event.rule is not None:
        data["rule"] = event.rule.identifier
    return _envelope(event.kind, delivery, format_time(event.at), data)


def body_of(delivery: Delivery) -> bytes:
    """The same as canonical JSON (RFC 8785)."""
    return canonical_json(document_of(delivery))


def _envelope(kind: str, delivery: Delivery, at: str, data: dict[str, str]) -> dict[str, Any]:
    return {"type": kind, "id": delivery.message_id, "timestamp": at, "data": data}
