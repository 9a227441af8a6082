"""Copies of a device's state, altered so that their validity tells what is in them, with one server.

`2·c` decrypts to a valid answer only if `c` encrypts 0. The intruder copies the state after each of seven
steps and sends `2·c` of the i-th copy 2^i times: 127 reports. Their number of invalid ones, in binary, is
the step of the event. So an invalid report is replaced by a random valid one, and counts: everything that
is shown is the same, to the last character, whichever step it was. What is left is the result, which moves
as it does by dishonest devices; the last tests compute how many that takes.
"""

import math
import secrets
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from scipy.stats import binom

from ledger.models import Spending
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from publishing.publication import recipe_close
from recipes.models import Recipe
from recipes.operations import recipe_private_key
from results.aggregation.operations import chunk_process, chunks_plan
from results.models import Release
from tests.attacks.scene import everything_shown, looks, undone
from tests.clock import time_is
from tests.factories import published_recipe, report_of_count, submitted
from tests.scenes import auditor, released

pytestmark = pytest.mark.django_db

LOOKS = 7
NEVER = LOOKS + 1
FORGED = 2**LOOKS - 1
HONEST = 40


def forged_reports(recipe: Recipe, event_at: int) -> list[dict[str, Any]]:
    key, source = recipe.published.public_key, secrets.SystemRandom()
    return [
        {
            "nonce": secrets.token_bytes(16),
            "ciphertexts": [bytes(key.rerandomize(key.add([copy, copy]), source))],
        }
        for look, copy in enumerate(looks(recipe, event_at, LOOKS))
        for _ in range(2**look)
    ]


def test_number_of_invalid_ones_is_the_step() -> None:
    """So that the other tests prove something: the number of invalid reports names the step."""
    recipe = published_recipe(steps=LOOKS, epsilon=0.1)
    public, private = recipe.published.public_key, recipe_private_key(recipe=recipe)
    for event_at in (1, 4, NEVER):
        reports = forged_reports(recipe, event_at)
        values = [private.decrypt(public.parse(report["ciphertexts"][0]), range(3)) for report in reports]
        assert len(values) == FORGED
        assert values.count(2) == sum(2**look for look in range(LOOKS) if look + 1 >= event_at)


def seen_of(recipe: Recipe, event_at: int, honest: list[dict[str, Any]], reader: User) -> list[Any]:
    """All that is shown, from the intruder's reports to the result."""
    seen: list[Any] = []
    with undone():
        reports = [*forged_reports(recipe, event_at), *honest]
        seen.append(submitted(recipe, *reports))
        for chunk in chunks_plan(recipe=recipe):
            chunk_process(chunk=chunk)
        seen.append(everything_shown(recipe, reader))
        closed = recipe_close(recipe=recipe, actor=None)
        for chunk in chunks_plan(recipe=closed):
            chunk_process(chunk=chunk)
        release = released(closed)
        seen += [release.outcome, release.reports, Spending.objects.exclude(returns=None).count()]
        seen.append(everything_shown(recipe, reader))
    return seen


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so that no page differs by it, and every replacement is a 0."""
    now = timezone.now()
    time_is(monkeypatch, lambda: now)
    monkeypatch.setattr(
        "panprivacy.statistics.interface.ReportStatistic.random_values", lambda *_: (0,), raising=False
    )


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize(
    ("cohort_size", "outcome"),
    [
        # If the event is at the first step, 40 of the reports are valid.
        pytest.param(50, "released", id="released"),
        pytest.param(FORGED + HONEST + 1, "withheld", id="withheld", marks=pytest.mark.long),
    ],
)
def test_everything_shown_is_the_same_whichever_step_it_was(cohort_size: int, outcome: str) -> None:
    """Exactly, so that this fails by no chance; what is drawn for replacements is left out by `still`."""
    reader = auditor()
    recipe = published_recipe(steps=LOOKS, epsilon=0.1, cohort_size=cohort_size)
    honest = [report_of_count(recipe, 0) for _ in range(HONEST)]
    first, other = (seen_of(recipe, event_at, honest, reader) for event_at in (1, NEVER))
    assert other == first
    rejections, _, shown, reports, returned, _ = first
    assert (rejections, shown) == ([], outcome)
    assert reports == (FORGED + HONEST if outcome == "released" else None)
    # Only what had too few reports gives back what it spent.
    assert returned == int(outcome == "withheld")
    assert not Release.objects.exists()


def reading(epsilon: float, reports: int, effect: np.ndarray, sent: int) -> float:
    """How often the best guess of one bit from an exact sum is right, the bit being 0 or 1 alike.

    Args:
        reports: honest ones, whose true answers the intruder knows.
        effect: distribution of what the forged reports add if the bit is 1; they add nothing if it is 0.
        sent: how many are forged.
    """
    coins = binom.pmf(np.arange(reports + 1), reports, RandomizedResponse(epsilon).flip_probability)
    without, with_event = np.zeros(reports + sent + 1), np.convolve(coins, effect)
    without[: reports + 1] = coins
    return float(0.5 + np.abs(without - with_event).sum() / 4)


def test_reading_one_bit_costs_as_many_reports_as_the_docs_say() -> None:
    """Exact, by convolution. One standard deviation of the sum is √n/(2·cosh(ε/2)) reports: sent as the copy
    itself, so many give the bit 69% of the time, five times as many 99%. Altered copies whose replacements
    are fair bits do half as much each."""
    for epsilon, n, one in ((0.1, 10_000, 50), (1.0, 10_000, 44), (2.0, 1_000, 10)):
        assert one == round(math.sqrt(n) / (2 * math.cosh(epsilon / 2)))
        copies = {m: np.eye(1, m + 1, m)[0] for m in (one, 5 * one)}
        assert reading(epsilon, n, copies[one], one) == pytest.approx(0.69, abs=0.02)
        assert reading(epsilon, n, copies[5 * one], 5 * one) == pytest.approx(0.994, abs=0.003)
        altered = binom.pmf(np.arange(2 * one + 1), 2 * one, 0.5)
        assert reading(epsilon, n, altered, 2 * one) == pytest.approx(0.69, abs=0.02)


def test_reading_the_step_takes_far_more_than_the_127_reports() -> None:
    """As it was sent, at ε = 0.1 among 10,000: the look at the first step has one report of the 127, by which
    the best guess is right 50.2% of the time; the last look has 64, by which it is right 62% of the time."""
    assert reading(0.1, 10_000, np.array([0.5, 0.5]), 1) < 0.503
    assert reading(0.1, 10_000, binom.pmf(np.arange(65), 64, 0.5), 64) == pytest.approx(0.625, abs=0.01)
