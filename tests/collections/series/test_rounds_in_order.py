"""Rounds of a recipe follow each other under one budget, composed at publishing; nothing refills it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse

from ledger.budget import Budget
from ledger.models import Spending
from ledger.operations import population_create
from ledger.selectors import unreturned_events
from log.audit.models import Entry
from log.public_log.selectors import site_policy
from log.public_log.tree_growth import integrate
from panprivacy.device.log_check import LogCheck
from panprivacy.device.rounds_check import round_require
from panprivacy.device.rounds_memory import RoundsMemory
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.document import PublishedRounds, RoundRefusedError
from publishing.rounds_document import rounds_document_of
from recipes.models import Recipe
from results.models import Release
from series.errors import SeriesStateError
from series.models import PublicInput, Round, RoundsDocument
from series.operations import rounds_advance, series_publish, series_stop
from series.rounds import input_publish
from storage.signing_key import verification_key
from tests.clock import time_is
from tests.driving import collections_advance
from tests.factories import event_until, recipe_members
from tests.refusals import field_refused
from tests.relayed_site import through_relay
from tests.scenes import analyst

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, tzinfo=UTC)
MEMBERS = {
    "population": "pilots",
    "steps": 1,
    "step_seconds": 1,
    "epsilon": 1.0,
    "cohort_size": 20,
    "sampling_rate": 0.2,
    "rounds": 3,
    "round_seconds": 60,
}


@pytest.fixture
def now(monkeypatch):
    moment = [START]
    time_is(monkeypatch, lambda: moment[0])
    return moment


@pytest.fixture(autouse=True)
def pilots():
    return population_create(
        name="pilots", description="", budget=Budget(epsilon=2.0, delta=1e-4), actor=None
    )


def published(**changes):
    return series_publish(members=recipe_members(**(MEMBERS | changes)), actor=None)


def end_the_round(now):
    """Nobody reports; the round closes, nothing is released, and the next one is looked for."""
    now[0] += timedelta(seconds=61)
    collections_advance()
    collections_advance()
    rounds_advance()


def test_a_round_opens_when_the_one_before_has_ended(now):
    series = published()
    for number in (1, 2, 3):
        rounds_advance()
        rounds_advance()
        assert Recipe.objects.count() == number
        recipe = series.rounds.get(number=number).recipe
        assert recipe.name == f"Crash counter, round {number} of 3"
        assert recipe.closes_at - recipe.opens_at == timedelta(seconds=60)
        end_the_round(now)
    end_the_round(now)
    assert Recipe.objects.count() == 3


def test_every_round_is_what_the_signed_document_says_and_nothing_else_is(now):
    series, again = published(), published()
    signed, other = series.rounds_document, again.rounds_document
    assert signed.identifier != other.identifier
    assert [one.stated["series"] for one in (signed, other)] == [series.identifier, again.identifier]
    document = PublishedRounds.from_document(signed.stated)
    # Partners get the document that a round names.
    assert rounds_document_of(RoundPlace(of=signed.identifier, number=1)) == document.canonical
    with pytest.raises(FieldError, match=r"^round: "):
        rounds_document_of(RoundPlace(of="0" * 64, number=1))
    for number in (1, 2):
        rounds_advance()
        assert document.require_round(series.rounds.get(number=number).recipe.published).number == number
        end_the_round(now)
    others = published(name="Others", epsilon=0.5)
    rounds_advance()
    for foreign in (again, others):
        with pytest.raises(RoundRefusedError):
            document.require_round(foreign.rounds.get(number=1).recipe.published)


def test_one_line_of_the_book_has_all_rounds_composed_and_sampled(now, pilots):
    series = published()
    (event,) = unreturned_events(pilots)
    assert (event["kind"], event["times"], event["event"]["kind"]) == ("repeated", 3, "sampled")
    for _ in range(3):
        rounds_advance()
        end_the_round(now)
    # None of them filled, and the line stays: how often a device took part in those that fill rests on it.
    assert Release.objects.filter(outcome="withheld").count() == 3
    assert unreturned_events(pilots) == [event]
    assert Spending.objects.filter(recipe=series.reservation_of_all).exists()


def test_stopping_gives_back_the_rounds_that_were_never_asked(now, pilots):
    series_stop(series=published(), actor=None)
    assert unreturned_events(pilots) == []
    series = published(rounds=5)
    rounds_advance()
    end_the_round(now)
    series_stop(series=series, actor=None)
    (event,) = unreturned_events(pilots)
    assert event["times"] == 2
    end_the_round(now)
    assert Recipe.objects.count() == 2
    with pytest.raises(SeriesStateError):
        series_stop(series=series, actor=None)


def test_rounds_that_do_not_fit_the_budget_together_are_refused_whole(pilots, monkeypatch):
    monkeypatch.setattr("recipes.budget.what_fits", lambda *_: "")  # another test's
    with pytest.raises(FieldError, match="would be exceeded"):
        published(rounds=40, epsilon=2.0)
    assert not RoundsDocument.objects.exists()
    assert unreturned_events(pilots) == []


def test_donation_is_charged_as_the_one_round_in_which_a_device_gives(now, pilots):
    published(rounds=None, donation_rounds=10, sampling_rate=None)
    (event,) = unreturned_events(pilots)
    assert event["kind"] == "randomized_response"
    rounds_advance()
    recipe = Recipe.objects.get()
    assert recipe.published.parameters.sampling_rate == 0.1


def test_a_round_waits_for_its_public_input_and_names_its_hash(now):
    series = published(public_input=True)
    rounds_advance()
    assert not Recipe.objects.exists()
    made = input_publish(series=series, number=1, content={"weights": [0.5]}, actor=None)
    rounds_advance()
    recipe = series.rounds.get(number=1).recipe
    assert recipe.published.round.input == made.identifier
    assert Entry.objects.filter(action="round_input_published", subject=made.identifier).count() == 1
    end_the_round(now)
    assert Recipe.objects.count() == 1


def test_a_public_input_cannot_be_changed_and_the_same_twice_is_one():
    series = published(public_input=True)
    first = input_publish(series=series, number=1, content={"a": 1}, actor=None)
    assert input_publish(series=series, number=1, content={"a": 1}, actor=None) == first
    with pytest.raises(SeriesStateError, match="another public input"):
        input_publish(series=series, number=1, content={"a": 2}, actor=None)
    for number, content in ((0, {}), (4, {}), (2, [1]), (2, {"a": float("nan")}), (2, {"a": "x" * 600_000})):
        with pytest.raises(FieldError):
            input_publish(series=series, number=number, content=content, actor=None)
    with pytest.raises(DatabaseError), transaction.atomic():
        PublicInput.objects.update(document="{}")
    with pytest.raises(SeriesStateError, match="no public input"):
        input_publish(series=published(name="Without"), number=1, content={}, actor=None)


def nested(levels):
    """An object, and lists inside each other: so many levels in all."""
    content = []
    for _ in range(levels - 2):
        content = [content]
    return {"a": content}


def test_an_input_that_is_nested_too_deep_is_refused_with_the_limit(client):
    series = published(public_input=True)
    client.force_login(analyst())
    address = reverse("api-series-input", args=[series.identifier])
    for levels in (101, 700):
        content = "[" * (levels - 1) + "]" * (levels - 1)
        body = f'{{"round": 1, "input": {{"a": {content}}}}}'
        answer = client.post(address, body, content_type="application/json")
        refused = answer.json()
        assert (answer.status_code, refused["field"]) == (400, "input")
        assert "must be nested at most 100 levels deep" in refused["detail"]
    assert not PublicInput.objects.exists()
    made = input_publish(series=series, number=1, content=nested(100), actor=None)
    assert json.loads(made.document)["input"] == nested(100)


def test_the_document_says_what_all_rounds_guarantee_together():
    series = published()
    signed = RoundsDocument.objects.get(series=series)
    PublishedRounds.from_document(signed.stated).require_promise()
    (stated,) = [
        one["epsilon"]
        for one in PublishedRounds.from_document(signed.stated).privacy
        if one["model"] == "sampled" and one["dishonest_fraction"] == 0
    ]
    assert stated == pytest.approx(event_until(series.parsed, 3).epsilon(1e-6))
    cheap = dict(PublishedRounds.from_document(signed.stated).document)
    cheap["privacy"] = [{**one, "epsilon": 0.001} for one in cheap["privacy"]]
    with pytest.raises(FieldError, match="does not state"):
        PublishedRounds.from_document(cheap).require_promise()
    with pytest.raises(DatabaseError), transaction.atomic():
        RoundsDocument.objects.update(rounds=100)


def test_a_file_of_rounds_that_cannot_be_names_the_field():
    for changes, field in (
        ({"round_seconds": None}, "round_seconds"),
        ({"round_seconds": 1}, "round_seconds"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 10_001}, "rounds"),
        ({"rounds": None}, "rounds"),
        ({"donation_rounds": 3}, "rounds"),
        ({"rounds": None, "donation_rounds": 5, "sampling_rate": 0.5}, "sampling_rate"),
        ({"rounds": None, "donation_rounds": 1, "sampling_rate": None}, "donation_rounds"),
        ({"closes_at": "2027-01-01T00:00:00Z"}, "closes_at"),
        ({"public_input": "yes"}, "public_input"),
        ({"round": {"of": "0" * 64, "number": 1}}, "round"),
        ({"name": "n" * 120}, "name"),
    ):
        with field_refused(field):
            published(**changes)
    assert not Round.objects.exists()


def test_device_believes_the_round_and_its_input_through_a_relay(tmp_path: Path) -> None:
    """The input is longer than what one padded answer holds."""
    content = {"weights": [0.125] * 20_000}
    series = published(public_input=True)
    input_publish(series=series, number=1, content=content, actor=None)
    rounds_advance()
    integrate()
    recipe = Recipe.objects.get().published
    with through_relay() as way, RoundsMemory(tmp_path / "rounds") as memory:
        key, log = verification_key().public_bytes_raw(), LogCheck(site_policy())
        turn = round_require(recipe, way, key, memory=memory, log=log)
        assert turn is not None
        assert turn.input is not None
        assert (turn.number, turn.input.content) == (1, content)
