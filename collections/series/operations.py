"""Publishing a series, asking its rounds when they are due, and stopping it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from ledger.operations import spending_return
from ledger.selectors import population_named
from log.audit.operations import entry_append
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time
from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.series import SeriesDraft, repetition_of
from publishing.approvals import approval_require, approval_spend, content_approval_ask
from publishing.publication import recipe_publish_file
from recipes.budget import (
    Affordable,
    affordable_require,
    fitting_question,
    reserve,
    saying_what_fits,
    spent_with,
)
from recipes.cost import Cost
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.models import Approval, Recipe
from recipes.operations import require_within_limits
from recipes.planner.guarantees import guarantees_question, guarantees_require
from recipes.sealing import with_kem
from series.actions import ROUND_SKIPPED, SERIES_MARKED, SERIES_PUBLISHED, SERIES_STOPPED
from series.errors import SeriesStateError
from series.models import NOTE_LENGTH, REASON_LENGTH, Mark, Round, RoundsDocument, Series
from series.rounds import document_store, following_plan, place_of, unasked_return, waiting_for_input
from storage import clock
from storage.answers.questions import ask_all
from storage.columns import stored
from storage.waits import wait_after

logger = structlog.get_logger(__name__)

ROUNDS_AT_ONCE = 20
"""Most rounds that one run publishes: keys are made for each."""

LONGEST_PAUSE = timedelta(minutes=15)
"""Pause until a round that could not be published is tried again. The first pause is a second, each further
one twice the one before."""

SENT_TWICE = timedelta(days=1)
"""For how long the same content is the same series, even if all of its rounds were asked."""

OWN_FAULT = "this server failed; its log says how"
"""The public reason if the error is not one of ours."""


def series_publish(*, members: Mapping[str, object], actor: User | None) -> Series:
    """Reserve the budget of all rounds and plan them. The first is asked as soon as it is due.

    A repeated request of an account, such as after a lost answer, makes one series: while it runs, the same
    content returns the existing series.

    Args:
        members: of a recipe file with `every`, and `rounds` or `until`; or with `round_seconds`, and `rounds`
            or `donation_rounds`.
        actor: None for the command line, in which each call makes a new series.

    Raises:
        FieldError: a field is unknown, missing or out of range, or all rounds together exceed the
            population's budget. Nothing was stored.
        ApprovalNeededError: another analyst must approve of the series. Its rounds need no more then.
        NotComputedError: what it guarantees and costs is not computed yet; not for the command line.
    """
    draft = _settled(members)
    now = clock.database_now()
    openings = draft.openings(now)
    if actor is not None and (same := _running(draft, actor, now)):
        return same
    approval_require(recipe=None, document=draft.as_dict(), actor=actor)
    cost, guaranteed = Cost.of(draft, times=1 if draft.shared_line else len(openings)), None
    if actor is None:
        draft.recipe.calibrated_statistic()  # refuses what does not keep what it states
    else:
        asked = draft if isinstance(draft, RoundsDraft) else draft.recipe
        population = population_named(draft.recipe.population)
        # Together, so that they share one deadline.
        ask_all([guarantees_question(asked), fitting_question(cost, population)])
        guaranteed = guarantees_require(asked=asked)
        guaranteed.require_kept()
    recipe = draft.recipe if guaranteed is None else guaranteed.settled(draft.recipe)
    require_within_limits(draft.recipe, guaranteed)
    if draft.closes(openings[0]) <= now:
        raise FieldError(
            "opens_at", f"is so early that the first round would be over; it is {format_time(now)}"
        )
    with saying_what_fits(draft, times=cost.times):
        affordable_require(cost, draft.recipe.population, here=actor is None)
        identifier, document = Series.drawn_identifier(), None
        if isinstance(draft, RoundsDraft):
            # Before anything is locked: on the command line it takes seconds.
            settled = replace(draft, recipe=recipe)
            stated = None if guaranteed is None else guaranteed.guarantees
            document = PublishedRounds.of(settled, series=identifier, guarantees=stated)

        @transaction.atomic
        def write(affordable: Affordable) -> Series:
            affordable.require_numbers(recipe.calibrated)
            return _plan(draft, identifier, openings, now, actor, document, affordable)

        return spent_with(draft, write, times=cost.times, here=actor is None)


def series_approval_ask(*, members: Mapping[str, object], actor: User) -> Approval:
    """Ask another analyst to approve of a series, once for all its rounds: then publish its document.

    Raises:
        FieldError: as `series_publish`, but for the budget.
        RecipeStateError: it needs no approval.
    """
    return content_approval_ask(document=_settled(members).as_dict(), actor=actor)


def _settled(members: Mapping[str, object]) -> Repetition:
    """With the KEM of all rounds: the site's default may change before the last one."""
    draft = repetition_of(members)
    kem = with_kem(draft.recipe).hpke
    return draft if kem is None else repetition_of({**members, "hpke": kem.value})


def _plan(
    draft: Repetition,
    identifier: str,
    openings: tuple[datetime, ...],
    now: datetime,
    actor: User | None,
    document: PublishedRounds | None,
    affordable: Affordable,
) -> Series:
    if actor is not None:
        User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        if same := _running(draft, actor, now):
            return same
    approval = approval_spend(recipe=None, document=draft.as_dict(), actor=actor)
    series = Series.objects.create(
        identifier=identifier,
        name=draft.recipe.name,
        draft=draft.as_dict(),
        created_by=actor,
        published_at=now,
    )
    rounds = Round.objects.bulk_create(
        Round(series=series, number=number, opens_at=opens_at)
        for number, opens_at in enumerate(openings, start=1)
    )
    if document is not None:
        reserved = reserve(affordable, draft.recipe.population, [series.reservation_of_all])
        document_store(
            series=series,
            published=document,
            simulation=False,
            actor=actor,
            approval=approval,
            reserved=reserved,
        )
        return series
    names = [series.reservation(planned.number) for planned in rounds]
    reserved = reserve(affordable, draft.recipe.population, names)
    file = draft.as_dict()
    entry_append(
        action=SERIES_PUBLISHED,
        subject=series.subject,
        actor=actor,
        details={
            "name": series.name,
            "every": file["every"],
            "time_zone": file["time_zone"],
            "rounds": len(rounds),
            "population": draft.recipe.population,
            "statistic": draft.recipe.statistic,
            "reserves": reserved,
            **({"approved_by": approval} if approval else {}),
        },
    )
    return series


def _running(draft: Repetition, actor: User, now: datetime) -> Series | None:
    """The series with this content that the account has published and that is not over."""
    own = Series.objects.filter(created_by=actor, name=draft.recipe.name, stopped_at=None)
    members = draft.as_dict()
    for series in own:
        if series.draft == members and (series.published_at > now - SENT_TWICE or series_is_running(series)):
            return series
    return None


def series_is_running(series: Series) -> bool:
    """Whether any of its rounds is still unpublished."""
    if series.stopped_at is not None:
        return False
    if series.rounds.filter(state=Round.State.PLANNED).exists():
        return True
    signed = RoundsDocument.objects.filter(series=series).first()
    return signed is not None and series.rounds.count() < signed.rounds


def rounds_advance() -> None:
    """Publish every round that is due, or skip it if it is over. Safe to run at any time, even twice."""
    following_plan()
    # Not before: what it plans would not be due if a second has ended between the two.
    now = clock.settled_now()
    # A pause that is longer than any can be comes from a clock that was set back.
    tried_again = Q(retry_at=None) | Q(retry_at__lte=now) | Q(retry_at__gt=now + LONGEST_PAUSE)
    due = Round.objects.filter(
        tried_again, ~waiting_for_input(), state=Round.State.PLANNED, opens_at__lte=now
    )
    for planned in due.select_related("series").order_by("opens_at", "pk")[:ROUNDS_AT_ONCE]:
        try:
            _ask(planned, now)
        except PartnerUnavailableError as error:
            _postpone(planned, now, str(error), error)
        except Exception as error:
            # One round that cannot be asked must not hold up all others.
            _postpone(planned, now, OWN_FAULT, error)


def _ask(planned: Round, now: datetime) -> None:
    series = planned.series
    try:
        parsed, place = series.parsed, place_of(series, planned.number)
        if isinstance(parsed, RoundsDraft) and place is not None:
            opens_at = clock.database_now().replace(microsecond=0)
            recipe_publish_file(
                members=parsed.round(place, opens_at).as_dict(),
                actor=series.created_by,
                reserved=series.reservation_of_all,
                place=place,
                stored=lambda recipe: _settle(planned, recipe),
            )
            return
        if not isinstance(parsed, SeriesDraft):
            raise TypeError(f"{series} has no document of its rounds")
        draft = parsed.round(planned.number, series.rounds.count(), planned.opens_at)
        following = series.rounds.filter(number=planned.number + 1).values_list("opens_at", flat=True).first()
        if now >= parsed.latest(draft, planned.opens_at, following):
            failed = f"it could not be published in time: {planned.problem}" if planned.problem else ""
            _skip(planned, failed or "nothing ran here while it would have been asked")
            return
        recipe_publish_file(
            members=draft.as_dict(),
            actor=series.created_by,
            reserved=series.reservation(planned.number),
            stored=lambda recipe: _settle(planned, recipe),
        )
    except PartnerUnavailableError:
        raise
    except FieldError as refusal:
        if place_of(series, planned.number) is None:
            _skip(planned, str(refusal))
        else:
            # Its budget stays reserved, and its time is not fixed: it may be asked later.
            _postpone(planned, now, str(refusal), refusal)
    except RecipeStateError:
        pass  # another process has just published or skipped it


def _postpone(planned: Round, now: datetime, problem: str, error: Exception) -> None:
    """Try again later, after a pause that grows. Of n failures about log2(n) are logged."""
    failures = planned.failures + 1
    pause = wait_after(planned.failures, first=timedelta(seconds=1), longest=LONGEST_PAUSE)
    Round.objects.filter(pk=planned.pk, state=Round.State.PLANNED).update(
        failures=failures, problem=problem[:REASON_LENGTH], retry_at=now + pause
    )
    if failures & (failures - 1) == 0:
        logger.warning(
            "round_waits",
            series=planned.series.identifier,
            round=planned.number,
            failures=failures,
            pause_seconds=int(pause.total_seconds()),
            error=str(error),
            exc_info=problem == OWN_FAULT,
        )


def _settle(planned: Round, recipe: Recipe) -> None:
    locked = Round.objects.select_for_update().get(pk=planned.pk)
    if locked.state != Round.State.PLANNED:
        raise RecipeStateError("the round is published or skipped already")
    locked.state, locked.recipe = Round.State.PUBLISHED, recipe
    locked.opens_at = stored(recipe.opens_at)
    locked.save(update_fields=["state", "recipe", "opens_at"])


def _lock_book(series: Series) -> None:
    """The population first, then rounds: in the order of publishing, or the two could wait for each other."""
    population_named(series.draft["population"], lock=True)


@transaction.atomic
def _skip(planned: Round, reason: str) -> None:
    _lock_book(planned.series)
    locked = Round.objects.select_for_update().get(pk=planned.pk)
    if locked.state != Round.State.PLANNED:
        return
    locked.state, locked.reason = Round.State.SKIPPED, reason[:REASON_LENGTH]
    locked.save(update_fields=["state", "reason"])
    spending_return(recipe=locked.series.reservation(locked.number))
    entry_append(
        action=ROUND_SKIPPED,
        subject=locked.series.subject,
        actor=None,
        details={"round": locked.number, "reason": locked.reason},
    )


@transaction.atomic
def series_publish_simulated(
    *, draft: SeriesDraft, actor: User | None = None, private: bool = False
) -> Series:
    """Store a series whose rounds simulated devices answer. No budget is reserved, and no round opens by
    itself: the simulation publishes each, and adds it (`round_simulated`).

    Args:
        draft: with the number of rounds, and when the first opens (`SeriesDraft.ending`).
        private: whether only analysts see it. The log then has an entry of each round alone, without a name.
    """
    series = Series.objects.create(
        identifier=Series.drawn_identifier(),
        name=draft.recipe.name,
        draft=draft.as_dict(),
        created_by=actor,
        published_at=clock.database_now(),
        simulation=True,
        private=private,
    )
    if private:
        return series
    entry_append(
        action=SERIES_PUBLISHED,
        subject=series.subject,
        actor=actor,
        details={
            "name": series.name,
            "every": draft.as_dict()["every"],
            "time_zone": draft.time_zone,
            "rounds": draft.rounds,
            "population": draft.recipe.population,
            "statistic": draft.recipe.statistic,
            "simulation": True,
        },
    )
    return series


def round_simulated(recipe: Recipe, *, series: Series, number: int) -> None:
    """Add a round of a simulated series. For the transaction that publishes its recipe, so that rules know
    whose result comes."""
    Round.objects.create(
        series=series,
        number=number,
        opens_at=stored(recipe.opens_at),
        state=Round.State.PUBLISHED,
        recipe=recipe,
    )


def series_stop_simulated(*, series: Series, at: datetime) -> None:
    """End a simulated series whose further rounds will not come. Nothing is reserved for them."""
    Series.objects.filter(pk=series.pk, stopped_at=None).update(stopped_at=at)


@transaction.atomic
def series_stop(*, series: Series, actor: User | None) -> Series:
    """Give up the rounds that are still planned, and return what is reserved for them. Published rounds
    continue.

    Raises:
        SeriesStateError: no round is left.
    """
    _lock_book(series)
    series = Series.objects.select_for_update().get(pk=series.pk)
    left = list(series.rounds.select_for_update().filter(state=Round.State.PLANNED))
    if not series_is_running(series):
        raise SeriesStateError("no round of this series is left to stop")
    for planned in left:
        planned.state, planned.reason = Round.State.SKIPPED, "the series was stopped"
        planned.save(update_fields=["state", "reason"])
        spending_return(recipe=series.reservation(planned.number))
    unasked = len(left)
    signed = RoundsDocument.objects.filter(series=series).first()
    if signed is not None:
        unasked_return(series)
        unasked = signed.rounds - series.rounds.filter(state=Round.State.PUBLISHED).count()
    series.stopped_at = clock.database_now()
    series.save(update_fields=["stopped_at"])
    entry_append(action=SERIES_STOPPED, subject=series.subject, actor=actor, details={"rounds_left": unasked})
    return series


@transaction.atomic
def series_mark(*, series: Series, at: datetime, note: str, actor: User | None) -> Mark:
    """Add a note to the trend. The same note at the same time is one mark.

    Raises:
        FieldError: the note is empty, too long or not one line.
        SeriesStateError: the series is private: marks are in the public log.
    """
    if series.private:
        raise SeriesStateError("the series is private, and marks are public")
    note = note.strip()
    if not 1 <= len(note) <= NOTE_LENGTH or not note.isprintable():
        raise FieldError("note", f"must be one line of 1 to {NOTE_LENGTH} characters")
    series = Series.objects.select_for_update().get(pk=series.pk)
    mark, made = Mark.objects.get_or_create(series=series, at=at, note=note)
    if not made:
        return mark
    details = {"at": format_time(at), "note": note}
    entry_append(action=SERIES_MARKED, subject=series.subject, actor=actor, details=details)
    return mark
