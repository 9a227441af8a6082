"""Recipes in rounds: one round follows the other, as soon as that has its result, or none."""

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from ledger.operations import reservation_shrink, spending_return
from log.audit.operations import entry_append
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.public_input import RoundInput
from recipes.sealing import with_kem
from series.actions import INPUT_PUBLISHED, ROUNDS_PUBLISHED
from series.errors import SeriesStateError
from series.models import PublicInput, Round, RoundsDocument, Series
from storage import clock
from storage.signing_key import signing_key


def document_store(
    *,
    series: Series,
    published: PublishedRounds,
    simulation: bool,
    actor: User | None,
    approval: str = "",
    reserved: dict[str, Any] | None = None,
) -> RoundsDocument:
    """Sign the document of all rounds, and add an entry to the log. Call it in the transaction that
    publishes.
    """
    signed = RoundsDocument.objects.create(
        series=series,
        identifier=published.identifier,
        document=published.canonical.decode(),
        signature=published.sign(signing_key()),
        rounds=published.rounds,
        public_input=published.public_input,
        simulation=simulation,
    )
    entry_append(
        action=ROUNDS_PUBLISHED,
        subject=published.identifier,
        actor=actor,
        details={
            "series": series.identifier,
            "name": series.name,
            "rounds": published.rounds,
            "population": published.shared_fields["population"],
            "statistic": published.shared_fields["statistic"],
            "simulation": simulation,
            **({"approved_by": approval} if approval else {}),
            **({} if reserved is None else {"reserves": reserved}),
        },
    )
    return signed


def rounds_publish_simulated(*, draft: RoundsDraft, actor: User | None) -> Series:
    """Publish the document of a recipe in rounds for simulated devices. No budget is reserved, and no round
    opens by itself: the simulation publishes each.

    Raises:
        FieldError: the parameters cannot be met. Nothing was stored.
    """
    draft = replace(draft, recipe=with_kem(draft.recipe, simulation=True))
    published = PublishedRounds.of(draft, series=Series.drawn_identifier(), simulation=True)
    with transaction.atomic():
        series = Series.objects.create(
            identifier=published.series,
            name=draft.recipe.name,
            draft=draft.as_dict(),
            created_by=actor,
            published_at=clock.database_now(),
            simulation=True,
        )
        document_store(series=series, published=published, simulation=True, actor=actor)
    return series


@transaction.atomic
def input_publish(*, series: Series, number: int, content: object, actor: User | None) -> PublicInput:
    """Publish what the public may read before a round, e.g. a model. Publishing the same again returns the
    existing one.

    Args:
        number: of a round that is not asked yet.
        content: a JSON object.

    Raises:
        FieldError: named `round` or `input`, for what cannot be.
        SeriesStateError: the rounds have no public input, are stopped, or this one has another already.
    """
    series = Series.objects.select_for_update().get(pk=series.pk)
    signed = RoundsDocument.objects.filter(series=series).first()
    if signed is None or not signed.public_input:
        raise SeriesStateError("its rounds have no public input: their file does not say `public_input`")
    if not 1 <= number <= signed.rounds:
        raise FieldError("round", f"must be from 1 to {signed.rounds:,}, not {number:,}")
    made = RoundInput.made(of=signed.identifier, number=number, content=content)
    there = PublicInput.objects.filter(series=series, number=number).first()
    if there is not None:
        if there.identifier != made.identifier:
            raise SeriesStateError(
                f"round {number} has another public input already, and devices may have it"
            )
        return there
    if series.stopped_at is not None:
        raise SeriesStateError("its rounds are stopped")
    found = PublicInput.objects.create(
        series=series,
        number=number,
        identifier=made.identifier,
        document=made.canonical.decode(),
        signature=made.sign(signing_key()),
    )
    entry_append(
        action=INPUT_PUBLISHED,
        subject=made.identifier,
        actor=actor,
        details={"of": signed.identifier, "round": number},
    )
    return found


def place_of(series: Series, number: int) -> RoundPlace | None:
    """The place of a round of a recipe in rounds; None for rounds that open by the clock."""
    signed = RoundsDocument.objects.filter(series=series).first()
    if signed is None:
        return None
    given = PublicInput.objects.filter(series=series, number=number).first()
    return RoundPlace(of=signed.identifier, number=number, input=None if given is None else given.identifier)


def document_of(identifier: str) -> bytes | None:
    """Canonical JSON of a document of rounds; None if this site has none of this identifier."""
    signed = RoundsDocument.objects.filter(identifier=identifier).first()
    return None if signed is None else signed.document.encode()


def waiting_for_input() -> Q:
    """Rounds that may not open yet, as their public input is not published."""
    given = PublicInput.objects.filter(series=OuterRef("series"), number=OuterRef("number"))
    return Q(Q(series__rounds_document__public_input=True), ~Exists(given))


def following_plan() -> None:
    """Plan the round after each that has ended: because it is asked only then, its time is not known until
    then.
    """
    for ended in _followed():
        with transaction.atomic():
            series = Series.objects.select_for_update().get(pk=ended.series_id)
            if series.stopped_at is None:
                Round.objects.get_or_create(
                    series=series,
                    number=ended.number + 1,
                    defaults={"opens_at": clock.database_now().replace(microsecond=0)},
                )


def _followed() -> QuerySet[Round]:
    following = Round.objects.filter(series=OuterRef("series"), number=OuterRef("number") + 1)
    return Round.objects.filter(
        ~Exists(following),
        state=Round.State.PUBLISHED,
        recipe__release__isnull=False,
        series__stopped_at=None,
        series__rounds_document__simulation=False,
        number__lt=F("series__rounds_document__rounds"),
    )


def unasked_return(series: Series) -> None:
    """Give back what the rounds that were never published would cost. Those that were stay charged, filled or
    not (`panprivacy.recipe.rounds.privacy.rounds_event`)."""
    draft = series.parsed
    if not isinstance(draft, RoundsDraft):
        raise TypeError(f"{series} is not in rounds")
    asked = series.rounds.filter(state=Round.State.PUBLISHED).count()
    if asked == 0:
        spending_return(recipe=series.reservation_of_all)
    elif asked < draft.rounds and not draft.once:
        reservation_shrink(
            name=series.reservation_of_all,
            part=f"{series.subject} rounds 1 to {asked}",
            times=asked,
        )
