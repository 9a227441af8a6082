"""Three attacks that take nothing but reports, which anybody could send: each works where a recipe is open,
and fails where it asks for tokens.

The intruder has one device of its own, so one token, which it may use as often as it likes. Where it has m
tokens, read "at most m reports of its own" (docs/threat-model.md).
"""

import random
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from admission.operations import issuances_drive, issuances_take
from aggregation.operations import chunk_process, chunks_plan
from panprivacy.admission import report_nonce
from panprivacy.mechanisms.randomized_response import RandomizedResponse
from panprivacy.privacy_pass.tokens import Token
from recipes.models import Recipe
from releases.models import Release
from releases.operations import result_release
from reports.models import RejectionCount, StoredReports
from reports.operations import reports_submit
from tests.clock import time_is
from tests.collections.admission.scene import FakeIssuer, token_recipe
from tests.factories import fresh_nonce, published_recipe, report_of_count
from tests.page_text import page_text
from tests.tokens import issued_token
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db

Report = dict[str, Any]
BLINDING = random.Random(16)


def token_for(recipe: Recipe) -> Token:
    return issued_token(recipe.published, BLINDING)


def with_token(report: Report, token: Token) -> Report:
    return {**report, "nonce": report_nonce(token), "token": token.encode()}


def honest(recipe: Recipe, devices: int, count: int = 0) -> list[Report]:
    reports = [report_of_count(recipe, count) for _ in range(devices)]
    if recipe.published.admission is None:
        return reports
    return [with_token(report, token_for(recipe)) for report in reports]


def intruded(recipe: Recipe, forged: list[Report]) -> list[Report]:
    """As the intruder sends them: with the one token that it has, if that helps."""
    if recipe.published.admission is None:
        return forged
    own = token_for(recipe)
    return [
        with_token(report, own) if index % 2 == 0 else {**report, "token": own.encode()}
        for index, report in enumerate(forged)
    ]


def sent(recipe: Recipe, reports: Iterable[Report]) -> int:
    """How many were taken in."""
    reports = list(reports)
    return len(reports) - len(reports_submit(recipe=recipe, reports=reports, decode=bytes))


def result_of(recipe: Recipe, issuer: FakeIssuer) -> Release:
    recipe = recipe_close(recipe=recipe, actor=None)
    now = timezone.now() + timedelta(minutes=10)
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    for chunk in chunks_plan(recipe=recipe):
        chunk_process(chunk=chunk)
    release = result_release(recipe=recipe)
    assert release is not None
    return release


def ones_of(release: Release) -> int:
    """How many of the reports were a 1: the estimate and the number of reports say it exactly."""
    response = RandomizedResponse(release.recipe.published.parameters.epsilon)
    return round(release.values[0] * response.keep_probability + release.reports * response.flip_probability)


def copies(recipe: Recipe, state: Any, number: int) -> list[Report]:
    """Reports that hold what a state holds, none of which looks like another."""
    key, source = recipe.published.public_key, secrets.SystemRandom()
    return [
        {"nonce": fresh_nonce(), "ciphertexts": [bytes(key.rerandomize(state, source))]}
        for _ in range(number)
    ]


def looks(recipe: Recipe, event_at: int | None, steps: int) -> list[Any]:
    """The device's one ciphertext after each step."""
    mechanism, key, source = recipe.published.calibrated_statistic, recipe.published.public_key, secrets
    state = mechanism.start(key, source.SystemRandom())
    seen = []
    for step in range(1, steps + 1):
        state = mechanism.step(key, state, step == event_at, step, source.SystemRandom())
        seen.append(state[0])
    return seen


STEPS = 4
OTHERS = 12
FLOOD = 2 * OTHERS + 2
"""More copies of one state than there are other reports, so that no noise of theirs hides them, at any ε."""


def recipe_of(admission: str, issuer: FakeIssuer, **changes: Any) -> Recipe:
    members = {"epsilon": 0.1, "steps": STEPS, "cohort_size": OTHERS, **changes}
    return token_recipe(issuer, **members) if admission == "token" else published_recipe(**members)


@pytest.mark.parametrize("event_at", [None, 2])
def test_flood_of_copies_of_one_ciphertext_reads_it_from_the_result_of_an_open_recipe(
    event_at: int | None,
) -> None:
    """Never wrong: at most `OTHERS` ones are not the copies', and at least `FLOOD` are theirs."""
    issuer = FakeIssuer()
    recipe = recipe_of("open", issuer)
    assert sent(recipe, honest(recipe, OTHERS)) == OTHERS
    assert sent(recipe, intruded(recipe, copies(recipe, looks(recipe, event_at, STEPS)[-1], FLOOD))) == FLOOD
    assert (ones_of(result_of(recipe, issuer)) > OTHERS) == (event_at is not None)


def test_flood_of_copies_is_one_report_where_tokens_are_asked_for() -> None:
    """What one copy moves, the randomized answers of the others hide: the recipe's own guarantee."""
    issuer = FakeIssuer(issued=OTHERS + 1)
    recipe = recipe_of("token", issuer)
    assert sent(recipe, honest(recipe, OTHERS)) == OTHERS
    assert sent(recipe, intruded(recipe, copies(recipe, looks(recipe, 2, STEPS)[-1], FLOOD))) == 1
    release = result_of(recipe, issuer)
    assert release.reports == OTHERS + 1
    assert ones_of(release) <= OTHERS + 1
    assert release.admission["verdict"] == "fine"


def alone(recipe: Recipe, event_at: int | None) -> list[Report]:
    """2^i copies of the i-th look: their sum in binary is the step, if nobody else reports."""
    seen = looks(recipe, event_at, STEPS)
    return [report for i, state in enumerate(seen) for report in copies(recipe, state, 2**i)]


@pytest.mark.parametrize("event_at", [None, 1, 3])
def test_intruder_who_fills_an_open_cohort_alone_reads_the_step_of_the_event(event_at: int | None) -> None:
    issuer = FakeIssuer()
    recipe = recipe_of("open", issuer, cohort_size=2**STEPS - 1)
    assert sent(recipe, intruded(recipe, alone(recipe, event_at))) == 2**STEPS - 1
    told = ones_of(result_of(recipe, issuer))
    assert told == sum(2**i for i in range(STEPS) if event_at is not None and i + 1 >= event_at)


def test_intruder_cannot_fill_a_cohort_that_asks_for_tokens() -> None:
    issuer = FakeIssuer(issued=1)
    recipe = recipe_of("token", issuer, cohort_size=2**STEPS - 1)
    assert sent(recipe, intruded(recipe, alone(recipe, 3))) == 1
    release = result_of(recipe, issuer)
    assert (release.cause, release.values, release.reports) == (Release.Cause.TOO_FEW, [], None)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so that no page differs by it."""
    now = timezone.now()
    time_is(monkeypatch, lambda: now)


STEP = 10
"""In which the page of a cohort of 100 shows progress (panprivacy/coarse.py)."""


def progress(client: Client, recipe: Recipe) -> str:
    return page_text(client.get(f"/recipes/{recipe.identifier}/progress/", {"shown": "open nothing"}))


def pages_seen(client: Client, recipe: Recipe, others: int) -> list[str]:
    """What the intruder sees while it sends one report after the other, up to a step of them."""
    assert sent(recipe, honest(recipe, others)) == others
    seen = [progress(client, recipe)]
    for report in intruded(recipe, [report_of_count(recipe, 0) for _ in range(STEP)]):
        sent(recipe, [report])
        seen.append(progress(client, recipe))
    return seen


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("others", [3, 4])
def test_reports_sent_between_looks_count_the_others_of_an_open_recipe(client: Client, others: int) -> None:
    """The page moves when others and own reports reach a step: their difference is known."""
    seen = pages_seen(client, recipe_of("open", FakeIssuer(), cohort_size=100), others)
    moved = next(own for own, page in enumerate(seen) if page != seen[0])
    assert STEP - moved == others


@pytest.mark.usefixtures("still")
def test_nobody_counts_the_others_between_looks_where_tokens_are_asked_for(client: Client) -> None:
    seen = []
    for others in (3, 4):
        recipe = recipe_of("token", FakeIssuer(), cohort_size=100)
        pages = pages_seen(client, recipe, others)
        assert len(set(pages)) == 1
        seen.append(pages[0].replace(str(recipe.identifier), ""))
        assert sum(StoredReports.objects.filter(recipe=recipe).values_list("count", flat=True)) == others + 1
        # What was refused is told in coarse steps, and is the intruder's own.
        refused = RejectionCount.objects.filter(recipe=recipe).values_list("count", flat=True)
        assert sum(refused) == STEP - 1
    assert seen[0] == seen[1]
