"""Sending what waits: at least once, with growing pauses, until it has arrived or its time is over.

A delivery that is due is marked as queued, and its task is sent. The mark ends with the attempt, or by itself
after `LEASE`, when the worker is taken for dead: then the same message is sent again, with the same
identifier.
"""

import secrets
import ssl
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min, QuerySet

from notifications.mail import mail_send
from notifications.messages import body_of
from notifications.models import Attempt, Delivery, Subscription
from notifications.pauses import pause_after
from notifications.signature import signed_headers
from notifications.subscription_secrets import secrets_in_use
from notifications.targets import TargetRefusedError, target_addresses, target_check
from panprivacy.formats.errors import FieldError
from results.models import Release
from storage import clock
from web.transport import Transport, https_transport

logger = structlog.get_logger(__name__)

State = Delivery.State

REQUEST_SECONDS = 10.0
"""For a webhook as a whole."""

LEASE = timedelta(minutes=6)
"""For which a queued delivery is not taken for lost: above the time limit of tasks."""

AT_ONCE = 2
"""Deliveries of one subscription that are queued at a time: a slow receiver must not hold all workers."""

MOST_TAKEN = 100
"""Most subscriptions for which one run sends something."""

DISABLED_AFTER = timedelta(days=5)
"""Of failures only; then the next delivery that is given up switches the subscription off."""

KEPT = timedelta(days=30)
"""For which the log of deliveries is kept."""

GONE = 410
"""HTTP status with which a receiver ends a subscription."""

_WHY_NO_ANSWER: Mapping[type[OSError], str] = {
    TimeoutError: "not in time",
    ssl.SSLError: "its certificate is not accepted, or it speaks no TLS",
    ConnectionRefusedError: "the connection was refused",
}

webhook_transport: Transport = partial(
    https_transport, seconds=REQUEST_SECONDS, addresses_of=target_addresses, largest_answer=0
)


def deliveries_take() -> list[int]:
    """Deliveries whose tasks are to be sent now, marked as queued. The caller sends them after commit."""
    now = clock.settled_now()
    due = Delivery.objects.filter(state=State.WAITING, next_attempt_at__lte=now)
    # Checked before locking: usually there is none.
    if not due.exists():
        return []
    taken: list[int] = []
    with transaction.atomic():
        for subscription in _with_room(due, now):
            Subscription.objects.select_for_update().filter(pk=subscription).first()
            its = Delivery.objects.filter(subscription=subscription, state=State.WAITING)
            room = AT_ONCE - its.filter(queued=True, next_attempt_at__gt=now).count()
            oldest = its.filter(next_attempt_at__lte=now).order_by("next_attempt_at", "pk")
            taken += oldest.values_list("pk", flat=True)[: max(0, room)]
        Delivery.objects.filter(pk__in=taken).update(queued=True, next_attempt_at=now + LEASE)
    return taken


def _with_room(due: QuerySet[Delivery], now: datetime) -> list[int]:
    """Subscriptions that may have one more queued, those first whose message waits for longest. Otherwise
    those that may not would take the places of all others in every run, as long as their receivers are slow.
    """
    queued = Delivery.objects.filter(state=State.WAITING, queued=True, next_attempt_at__gt=now).order_by()
    full = queued.values("subscription").annotate(count=Count("pk")).filter(count__gte=AT_ONCE)
    longest = due.order_by().values("subscription").annotate(since=Min("next_attempt_at")).order_by("since")
    free = longest.exclude(subscription__in=full.values("subscription"))
    return list(free.values_list("subscription", flat=True)[:MOST_TAKEN])


def delivery_send(*, delivery: int, transport: Transport = webhook_transport) -> None:
    """One attempt; nothing if the delivery is not queued, such as if its task comes twice."""
    row = (
        Delivery.objects.select_related("subscription__user", "event__rule", "release")
        .filter(pk=delivery, state=State.WAITING, queued=True)
        .first()
    )
    if row is None:
        return
    begun = clock.settled_now()
    status, problem, final = None, _why_not(row), False
    if problem:
        _note(delivery, None, problem, at=begun, final=True)
        return
    try:
        if row.subscription.channel == Subscription.Channel.WEBHOOK:
            status, problem = _post(row, transport)
        elif row.release is not None:
            status, problem, final = _export(row.release)
        else:
            problem = mail_send(row)
    except TargetRefusedError as error:
        # Recorded at its beginning: the time of the name's lookup would distinguish an internal name from an
        # unknown one.
        _note(delivery, None, str(error), at=begun, final=False)
        return
    except Exception as error:
        # One that cannot be made, as without its secret, comes to its end as all others do.
        logger.exception("delivery_not_made", delivery=delivery)
        problem = f"it could not be made: {type(error).__name__}"
    _note(delivery, status, problem, at=clock.settled_now(), final=final)


def deliveries_forget() -> None:
    """Delete what the log of deliveries has of old ones."""
    settled = Delivery.objects.exclude(state=State.WAITING)
    settled.filter(created_at__lt=clock.settled_now() - KEPT).delete()


def _why_not(row: Delivery) -> str:
    subscription = row.subscription
    if subscription.user is None:
        return "" if settings.OTLP_ENDPOINT else "this site sends no metrics"
    if not subscription.user.is_active:
        return "the account is switched off"
    if subscription.disabled_at is not None and row.purpose == Delivery.Purpose.EVENT:
        return "the subscription is switched off"
    return ""


def _no_answer(error: OSError) -> str:
    """Why, in words; nothing that the other side sent."""
    for kind, why in _WHY_NO_ANSWER.items():
        if isinstance(error, kind):
            return f"no answer: {why}"
    return f"no answer: {type(error).__name__}"


def _post(row: Delivery, transport: Transport) -> tuple[int | None, str]:
    """The status, and why it failed. Only the status of the answer is read.

    Raises:
        TargetRefusedError: the host is none for webhooks.
    """
    now = clock.database_now()
    body = body_of(row)
    headers: Mapping[str, str] = {
        "Content-Type": "application/json",
        "User-Agent": "panapp-webhooks/1",
        **signed_headers(row.message_id, int(now.timestamp()), body, secrets_in_use(row.subscription, now)),
    }
    try:
        # Once more: what the operator allows may have changed since.
        url = target_check(row.subscription.target)
        status, _, _ = transport("POST", url, headers, body)
    except FieldError as error:
        return None, f"the address {error.message}"[:100]
    except TargetRefusedError:
        raise
    except OSError as error:
        return None, _no_answer(error)
    if 200 <= status < 300:
        return status, ""
    return status, "a redirect, which is not followed" if 300 <= status < 400 else "refused"


def _export(release: Release) -> tuple[int | None, str, bool]:
    """The status, why it failed, and whether it must not be sent again."""
    # Not every site has what this imports.
    from notifications.otlp import NotTakenError, result_send

    try:
        return result_send(release), "", False
    except NotTakenError as error:
        return error.status, str(error), error.final
    except OSError as error:
        return None, _no_answer(error), False


def _note(pk: int, status: int | None, problem: str, *, at: datetime, final: bool) -> None:
    """Write down an attempt, and what follows from it."""
    with transaction.atomic():
        # The subscription first, as everywhere: switching one off touches its other deliveries.
        subscription = Subscription.objects.select_for_update(of=("self",)).filter(deliveries=pk).first()
        row = Delivery.objects.select_for_update().filter(pk=pk, state=State.WAITING).first()
        if subscription is None or row is None:
            return
        Attempt.objects.create(delivery=row, at=at, status=status, problem=problem)
        row.attempts_made += 1
        row.queued = False
        if not problem:
            row.state = State.DELIVERED
            subscription.failing_since = subscription.disabled_at = None
        else:
            gone = status == GONE and row.release is None
            _note_failure(row, subscription, at, problem, final=final, gone=gone)
        row.save()
        subscription.save(update_fields=["failing_since", "disabled_at"])


def _note_failure(
    row: Delivery, subscription: Subscription, now: datetime, problem: str, *, final: bool, gone: bool
) -> None:
    pause = pause_after(row.attempts_made, secrets.SystemRandom())
    row.next_attempt_at = now + pause
    if final or gone or row.purpose == Delivery.Purpose.TEST or row.next_attempt_at > row.give_up_at:
        row.state = State.FAILED
    if row.release is not None:
        # The operator's: never switched off, and this is the only log of it.
        recipe = row.release.recipe.identifier
        logger.warning("result_metrics_not_sent", recipe=recipe, problem=problem, state=row.state)
        return
    if final:
        return
    subscription.failing_since = subscription.failing_since or now
    long = row.state == State.FAILED and now - subscription.failing_since >= DISABLED_AFTER
    if subscription.disabled_at is None and (gone or long):
        subscription.disabled_at = now
        subscription.deliveries.filter(state=State.WAITING).exclude(pk=row.pk).update(state=State.FAILED)
        logger.warning("subscription_disabled", subscription=subscription.identifier)
