"""Copies of a device's state, altered so that their validity tells what is in them, with two servers.

The leader's half of an older copy and the helper's half of a newer one verify only if nothing happened in
between. The intruder asks so about one step after the other, the i-th question in 2^i reports: the number
of invalid ones, in binary, is the step. So all that is shown depends on the number of valid reports through
a noisy number only, which is ε-differentially private with ε = 2/√(cohort size) and drawn once. A margin
decides whether there is a result, so that no single report does.
"""

import itertools
import math
from typing import Any

import pytest
from django.utils import timezone

from dap.helper.models import ReleasedShare
from dap.leader.models import CountNoise
from ledger.models import Spending
from panprivacy.accounting import noisy_count
from panprivacy.accounting.discrete_laplace import variance
from publishing.publication import recipe_close
from recipes.models import Recipe
from results import operations
from results.operations import result_release
from tests.attacks.scene import everything_shown, undone
from tests.clock import time_is
from tests.collections.publishing import scene
from tests.collections.publishing.scene import sealed_report, settle, two_server_recipe, upload
from tests.scenes import auditor, released

pytestmark = pytest.mark.django_db

ASKED = 7
"""Reports of three questions: 1, 2 and 4."""

HONEST = 20


@pytest.fixture(autouse=True)
def _leader(settings: Any) -> None:
    settings.LEADER_URL = scene.LEADER_URL
    settings.HELPER_URL = scene.HELPER_URL
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)


def collected(recipe: Recipe, invalid: int, *, honest: int = HONEST) -> Recipe:
    """Closed, and both servers hold their sums: of honest reports, and of those of the attack, which say 0
    where they are valid."""
    reports = [sealed_report(recipe, [1]) for _ in range(honest)]
    reports += [sealed_report(recipe, [0], other_helper_part=i < invalid) for i in range(ASKED)]
    assert upload(recipe, reports) == []
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    return recipe


@pytest.mark.parametrize(
    ("cohort_size", "outcome"),
    [
        pytest.param(10, "released", id="released"),
        pytest.param(27, "withheld", id="withheld-with-enough", marks=pytest.mark.long),
    ],
)
def test_all_shown_is_of_the_noisy_number(
    monkeypatch: pytest.MonkeyPatch, cohort_size: int, outcome: str
) -> None:
    """Exactly, so that this fails by no chance: each world draws the noise that makes up for its answer."""
    reader, now = auditor(), timezone.now()
    recipe = two_server_recipe(cohort_size=cohort_size, epsilon=0.1)
    time_is(monkeypatch, lambda: now)
    seen = []
    for invalid in (1, 7):
        monkeypatch.setattr(noisy_count, "draw", lambda *_, noise=invalid: noise - 3)
        monkeypatch.setattr(noisy_count, "draw_margin", lambda *_: 0)
        with undone():
            closed = collected(recipe, invalid)
            before = everything_shown(recipe, reader)
            release = released(closed)
            assert release.reports == (HONEST + ASKED - 3 if outcome == "released" else None)
            # It had reports enough: that they were not valid gives nothing back.
            assert not Spending.objects.exclude(returns=None).exists()
            seen.append((before, release.outcome, everything_shown(recipe, reader)))
    assert seen[0] == seen[1]
    assert seen[0][1] == outcome


def test_noise_is_drawn_once_whatever_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws at this scale of 50 agree with probability below 1/200: five that all do, below 1e-9."""
    monkeypatch.setattr(noisy_count, "draw_margin", lambda *_: 0)
    monkeypatch.setattr(noisy_count, "scale", lambda _: 50)
    recipe = collected(two_server_recipe(cohort_size=20), 0)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    noises = []
    for _ in range(5):
        with monkeypatch.context() as patched:
            patched.setattr(operations, "_conclude", die)
            with pytest.raises(KeyboardInterrupt):
                result_release(recipe=recipe)
        noises.append(CountNoise.objects.get().noise)
    release = released(recipe)
    assert {*noises, CountNoise.objects.get().noise} == {noises[0]}
    assert release.reports == max(1, HONEST + ASKED + noises[0])
    counted = [server["counted"] for server in release.servers]
    assert counted == [max(0, HONEST + ASKED + noises[0])] * 2
    # The published values give the sum and the number of reports: it is the noisy one.
    expected = recipe.published.calibrated_statistic.estimate((HONEST,), release.reports)
    assert tuple(release.values) == pytest.approx(expected.values, rel=1e-12)
    assert tuple(release.standard_errors) == pytest.approx(expected.standard_errors, rel=1e-12)


@pytest.mark.parametrize("cohort_size", [100, 10_000])
def test_noisy_number_keeps_its_epsilon_and_costs_what_the_docs_say(cohort_size: int) -> None:
    scale = noisy_count.scale(cohort_size)
    epsilon = noisy_count.epsilon(cohort_size)
    assert epsilon == pytest.approx(2 / math.sqrt(cohort_size), rel=1e-12)
    # Neighbouring numbers of valid reports shift exp(−|x|/scale) by one: a factor of e^ε at most, and at 0.
    assert math.exp(1 / float(scale)) == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert math.sqrt(variance(scale)) == pytest.approx(math.sqrt(cohort_size / 2), rel=0.01)
    # How often the best guess whether m reports were valid is right.
    for m, right in ((math.isqrt(cohort_size) // 2, 0.70), (5 * math.isqrt(cohort_size), 0.997)):
        ratio = math.exp(-epsilon)
        mass = [(1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-40 * m, 40 * m)]
        distance = sum(abs(a - b) for a, b in zip(mass[m:], mass[:-m], strict=True)) / 2
        assert (1 + distance) / 2 == pytest.approx(right, abs=0.01)


def test_one_report_does_not_decide_whether_there_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The margin decides, drawn once with the closing; above it and below, both servers show the same of any
    number of valid reports, and the helper is not asked to tell."""
    reader, now = auditor(), timezone.now()
    recipe = two_server_recipe(cohort_size=20)
    time_is(monkeypatch, lambda: now)
    monkeypatch.setattr(noisy_count, "draw", lambda *_: 0)
    monkeypatch.setattr(noisy_count, "draw_margin", lambda *_: 4)
    shown, outcomes = [], []
    for invalid in (7, 4, 3):  # 20, 23 and 24 valid ones
        with undone():
            closed = collected(recipe, invalid)
            monkeypatch.setattr(noisy_count, "draw_margin", lambda *_: 0)  # a second draw would release
            release = result_release(recipe=closed)
            monkeypatch.setattr(noisy_count, "draw_margin", lambda *_: 4)
            assert release is not None
            outcomes.append(release.outcome)
            if release.outcome == "withheld":
                seen = everything_shown(recipe, reader)
                shown.append((release.reason, ReleasedShare.objects.exists(), seen))
    assert outcomes == ["withheld", "withheld", "released"]
    assert shown[0] == shown[1]
    assert shown[0][0].startswith("too few valid reports for the cohort size of 20")
    assert not shown[0][1]


@pytest.mark.parametrize("cohort_size", [2, 20, 100, 10_000])
def test_decision_keeps_its_epsilon_and_delta_for_each_report(cohort_size: int) -> None:
    """Summed over the whole distribution, by the definition of the noise: no chance is involved."""
    usual, epsilon = noisy_count.usual_margin(cohort_size), noisy_count.margin_epsilon(cohort_size)
    assert epsilon == pytest.approx(8 / math.sqrt(cohort_size), rel=1e-12)
    assert usual <= 1.8 * math.sqrt(cohort_size) + 1
    ratio = math.exp(-epsilon)
    released, total = [0.0], 0.0  # Pr[released] with one report more each, from the cohort size less one
    for margin in range(2 * usual + 1):
        x = margin - usual
        ends = ratio**usual / (1 + ratio)
        total += ends if abs(x) == usual else (1 - ratio) / (1 + ratio) * ratio ** abs(x)
        released.append(min(total, 1.0))
    assert released[-1] == pytest.approx(1, rel=1e-9)
    for less, more in itertools.pairwise(released):
        for one, other in ((less, more), (more, less), (1 - less, 1 - more), (1 - more, 1 - less)):
            assert one <= math.exp(epsilon) * other + noisy_count.MARGIN_DELTA * (1 + 1e-6)
