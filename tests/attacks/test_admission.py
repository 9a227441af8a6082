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

from panprivacy.protocols.privacy_pass.tokens import Token
from panprivacy.recipe.token import report_nonce
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.models import RejectionCount, StoredReports
from results.aggregation.operations import chunk_process, chunks_plan
from results.models import Release
from tests.attacks.scene import looks
from tests.clock import time_is
from tests.collections.tokens.admission.scene import FakeIssuer, token_recipe
from tests.factories import fresh_nonce, published_recipe, raw_reports_submit, report_of_count
from tests.page_text import page_text
from tests.scenes import released
from tests.tokens import issued_token
from tokens.admission.operations import issuances_drive, issuances_take

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
    """The number of reports that were taken."""
    reports = list(reports)
    return len(reports) - len(raw_reports_submit(recipe=recipe, reports=reports))


def result_of(recipe: Recipe, issuer: FakeIssuer) -> Release:
    recipe = recipe_close(recipe=recipe, actor=None)
    now = timezone.now() + timedelta(minutes=10)
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    for chunk in chunks_plan(recipe=recipe):
        chunk_process(chunk=chunk)
    return released(recipe)


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


STEPS = 4
OTHERS = 12
FLOOD = 2 * OTHERS + 2
"""More copies of one state than there are other reports, so that no noise of theirs hides them, at any ε."""


def recipe_of(admission: str, issuer: FakeIssuer, **changes: Any) -> Recipe:
    members = {"epsilon": 0.1, "steps": STEPS, "cohort_size": OTHERS, **changes}
    return token_recipe(issuer, **members) if admission == "token" else published_recipe(**members)


@pytest.mark.parametrize("event_at", [None, 2])
@pytest.mark.parametrize("admission", ["open", "token"])
def test_flood_of_copies_reads_a_state_from_an_open_recipe_only(admission: str, event_at: int | None) -> None:
    """Never wrong: at most `OTHERS` ones are not the copies', and at least `FLOOD` are theirs. With tokens it
    is one report, which the randomized answers of the others hide: the recipe's own guarantee."""
    issuer = FakeIssuer(issued=OTHERS + 1)
    recipe = recipe_of(admission, issuer)
    assert sent(recipe, honest(recipe, OTHERS)) == OTHERS
    taken = FLOOD if admission == "open" else 1
    assert sent(recipe, intruded(recipe, copies(recipe, looks(recipe, event_at, STEPS)[-1], FLOOD))) == taken
    release = result_of(recipe, issuer)
    assert release.reports == OTHERS + taken
    if admission == "open":
        assert (ones_of(release) > OTHERS) == (event_at is not None)
    else:
        assert ones_of(release) <= OTHERS + 1
        assert release.admission["verdict"] == "fine"


def alone(recipe: Recipe, event_at: int | None) -> list[Report]:
    """2^i copies of the i-th look: their sum in binary is the step, if no other device reports."""
    seen = looks(recipe, event_at, STEPS)
    return [report for i, state in enumerate(seen) for report in copies(recipe, state, 2**i)]


@pytest.mark.parametrize(("admission", "event_at"), [("open", None), ("open", 1), ("open", 3), ("token", 3)])
def test_intruder_fills_an_open_cohort_only_and_reads_the_step(admission: str, event_at: int | None) -> None:
    issuer = FakeIssuer(issued=1)
    recipe = recipe_of(admission, issuer, cohort_size=2**STEPS - 1)
    taken = 2**STEPS - 1 if admission == "open" else 1
    assert sent(recipe, intruded(recipe, alone(recipe, event_at))) == taken
    release = result_of(recipe, issuer)
    if admission == "open":
        read = sum(2**i for i in range(STEPS) if event_at is not None and i + 1 >= event_at)
        assert ones_of(release) == read
    else:
        assert (release.cause, release.values, release.reports) == (Release.Cause.TOO_FEW, [], None)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so that no page differs by it."""
    now = timezone.now()
    time_is(monkeypatch, lambda: now)


STEP = 10
"""In which the page of a cohort of 100 shows progress (panprivacy/formats/rounded_counts.py)."""


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
def test_reports_sent_between_polls_count_others_only_without_tokens(client: Client) -> None:
    """The page of an open one moves when others and own reports reach a step: their difference is known."""
    shown = []
    for others in (3, 4):
        seen = pages_seen(client, recipe_of("open", FakeIssuer(), cohort_size=100), others)
        moved = next(own for own, page in enumerate(seen) if page != seen[0])
        assert STEP - moved == others
        recipe = recipe_of("token", FakeIssuer(), cohort_size=100)
        pages = pages_seen(client, recipe, others)
        assert len(set(pages)) == 1
        shown.append(pages[0].replace(str(recipe.identifier), ""))
        assert sum(StoredReports.objects.filter(recipe=recipe).values_list("count", flat=True)) == others + 1
        # Refusals are shown in coarse steps, and are the intruder's own.
        refused = RejectionCount.objects.filter(recipe=recipe).values_list("count", flat=True)
        assert sum(refused) == STEP - 1
    assert shown[0] == shown[1]
