"""Public results for the operator's OpenTelemetry collector: one delivery for each release."""

import secrets
from collections.abc import Sequence

from django.conf import settings

from log.audit.models import Entry
from notifications.models import Delivery, Subscription
from notifications.pauses import LONGEST
from results.actions import RESULT_RELEASED
from results.tables import TableFilter, public_results
from storage import clock


def metrics_plan(entries: Sequence[Entry]) -> None:
    """Have the results that these entries report sent, in the transaction that read them.

    Only what `GET /api/v1/results.csv` has; nothing if no collector is set.
    """
    ended = [entry.subject for entry in entries if entry.action == RESULT_RELEASED.name]
    if not ended or not settings.OTLP_ENDPOINT:
        return
    now = clock.database_now()
    releases = public_results(TableFilter()).filter(identifier__in=ended).values_list("release", flat=True)
    subscription = _own_subscription()
    Delivery.objects.bulk_create(
        [
            Delivery(
                subscription=subscription,
                purpose=Delivery.Purpose.RESULT,
                release_id=release,
                created_at=now,
                next_attempt_at=now,
                give_up_at=now + LONGEST,
            )
            for release in releases.order_by("release")
        ],
        ignore_conflicts=True,
    )


def _own_subscription() -> Subscription:
    """The site's own. It has no address and no secret: both are settings."""
    now = clock.database_now()
    found, _ = Subscription.objects.get_or_create(
        channel=Subscription.Channel.OTLP,
        defaults={
            "identifier": secrets.token_hex(8),
            "events": [],
            "sealed": b"",
            "created_at": now,
            "confirmed_at": now,
        },
    )
    return found
