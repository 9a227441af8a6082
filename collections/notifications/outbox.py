"""From events to rows for delivery: no event is lost or repeated, whatever crashes and when.

The audit log is the outbox (docs/adr/0007): an operation writes its entry in its own transaction, entries are
numbered without gaps, and an entry is visible only when all before it are. A periodic run reads on from the
last entry it processed, and stores events, deliveries and its new position in one transaction.
"""

from collections.abc import Sequence
from datetime import datetime

import structlog
from django.db import DatabaseError, transaction

from ledger.models import Population
from ledger.selectors import balances_of
from log.audit.models import Entry, Head
from notifications.kinds import BUDGET_NEARLY_SPENT, BY_ACTION, COHORT_REACHED, RULE_FIRED, Kind
from notifications.models import Check, Delivery, Event, NearlySpent, Subscription, Watched
from notifications.pauses import LONGEST
from notifications.result_metrics import metrics_plan
from notifications.rule_checks import check_decide, checks_plan
from recipes.models import Recipe
from results.trust_models import collection_model_of
from series.models import Series
from storage import clock

logger = structlog.get_logger(__name__)

ENTRIES_AT_ONCE = 200
CHECKS_AT_ONCE = 200

NEARLY = 0.9
"""The part of a budget from which on it is nearly spent."""


def log_read() -> int:
    """Store events of log entries since the last run; the number of new entries. Safe to run at any time,
    even twice."""
    # Checked before locking: usually there is nothing new.
    before = Watched.objects.first()
    if before is not None and not Entry.objects.filter(index__gt=before.log_index).exists():
        return 0
    with transaction.atomic():
        read = Watched.objects.select_for_update().first()
        if read is None:
            # Begins with later entries only. A process that begins at the same moment waits, and then finds
            # the row.
            head = Head.objects.select_for_update().get()
            Watched.objects.get_or_create(pk=1, defaults={"log_index": head.index})
            return 0
        entries = list(Entry.objects.filter(index__gt=read.log_index).order_by("index")[:ENTRIES_AT_ONCE])
        told = [entry for entry in entries if entry.action in BY_ACTION]
        if told:
            _store([event for entry in told if (event := _of_entry(entry)) is not None])
            checks_plan(told)
            metrics_plan(told)
        if entries:
            read.log_index = entries[-1].index
            read.save(update_fields=["log_index"])
    return len(entries)


def rules_check() -> None:
    """Compare results with the rules that wait for them, and notify of those that fire; once for each. Safe
    to run at any time, even twice."""
    waiting = Check.objects.filter(state=Check.State.WAITING)
    loaded = waiting.select_related("rule__series", "recipe__release", "recipe__round__series")
    for check in loaded.order_by("pk")[:CHECKS_AT_ONCE]:
        try:
            state, segments = check_decide(check)
        except DatabaseError:
            raise
        except Exception:
            # One result that cannot be compared must not hold up all others. Its rule's page shows it.
            logger.exception("rule_not_checked", rule=check.rule.pk, recipe=check.recipe.identifier)
            state, segments = Check.State.FAILED, []
        with transaction.atomic():
            decided = waiting.filter(pk=check.pk).update(
                state=state, segments=segments, decided_at=clock.database_now()
            )
            # Pages show what fired at a simulation, and say so; who reads a message would act on it.
            if decided and state == Check.State.FIRED and not check.recipe.simulation:
                _store([_of_firing(check)])


def cohorts_watch() -> None:
    """Notify of open recipes whose cohort is reached: once for each, and no sooner than their pages
    show it."""
    open_ones = Recipe.objects.filter(status=Recipe.Status.PUBLISHED, simulation=False)
    told = Event.objects.filter(kind=COHORT_REACHED.name).values("subject")
    for recipe in open_ones.exclude(identifier__in=told):
        try:
            received = collection_model_of(recipe).progress(recipe).received
            if received >= recipe.cohort_size:
                subject = str(recipe.identifier)
                event = _event(COHORT_REACHED, subject, subject, recipe.name, _minute(clock.database_now()))
                with transaction.atomic():
                    _store([event])
        except Exception:
            # One unreadable recipe must not hold up all others.
            logger.exception("cohort_not_watched", recipe=recipe.identifier)


def budgets_watch() -> None:
    """Notify of budgets that became nearly spent; again only if one had more left in between. Numbers that
    are not computed yet are checked later."""
    known = {row.population_id: row for row in NearlySpent.objects.all()}
    for balance in balances_of(Population.objects.filter(epsilon__isnull=False)):
        share = balance.share
        if share is None:
            continue
        population = balance.population
        if share < NEARLY and population.pk in known:
            known[population.pk].delete()
        elif share >= NEARLY and population.pk not in known:
            with transaction.atomic():
                row, is_new = NearlySpent.objects.get_or_create(population=population)
                if is_new:
                    now = _minute(clock.database_now())
                    _store(
                        [_event(BUDGET_NEARLY_SPENT, str(row.told), population.name, population.name, now)]
                    )


def _of_entry(entry: Entry) -> Event | None:
    """The event of an entry; None for a simulation, and for what is not here."""
    kind, subject = BY_ACTION[entry.action], entry.subject
    name: str | None
    if kind.page == "series":
        subject = subject.removeprefix("series ")
        name = Series.objects.filter(identifier=subject).values_list("name", flat=True).first()
    else:
        found = Recipe.objects.filter(identifier=subject, simulation=False)
        name = found.values_list("name", flat=True).first()
    return None if name is None else _event(kind, f"log {entry.index}", subject, name, entry.at)


def _of_firing(check: Check) -> Event:
    recipe, rule = check.recipe, check.rule
    event = _event(RULE_FIRED, f"{rule.pk} {recipe.pk}", str(recipe.identifier), recipe.name, check.at)
    event.rule = rule
    return event


def _event(kind: Kind, of: str, subject: str, name: str, at: datetime) -> Event:
    return Event(key=f"{kind.name} {of}", kind=kind.name, at=at, subject=subject, name=name)


def _store(events: Sequence[Event]) -> None:
    """Store events that are new, each with a delivery for every subscription to its type; that a rule fired
    is for subscriptions of its account only."""
    for event in events:
        made, is_new = Event.objects.get_or_create(
            key=event.key,
            defaults={
                "kind": event.kind,
                "at": event.at,
                "subject": event.subject,
                "name": event.name,
                "rule": event.rule,
            },
        )
        if not is_new:
            continue
        told = Subscription.objects.filter(confirmed_at__isnull=False, disabled_at=None, user__is_active=True)
        if made.rule is not None:
            told = told.filter(user=made.rule.user_id)
        now = clock.database_now()
        Delivery.objects.bulk_create(
            Delivery(
                subscription=one, event=made, created_at=now, next_attempt_at=now, give_up_at=now + LONGEST
            )
            for one in told
            if made.kind in one.events
        )


def _minute(at: datetime) -> datetime:
    """No finer: it would reveal when the last device reported."""
    return at.replace(second=0, microsecond=0)
