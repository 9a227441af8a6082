"""Devices that send what they like, to leader and helper: no lie moves a result further than stated."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from panprivacy.protocols.dap.basics import ReportError
from panprivacy.protocols.dap.upload import Report
from panprivacy.protocols.prio3.field import FIELD64, FIELD128
from recipes.models import Recipe
from results.models import Release
from tests.collections.publishing.scene import (
    encoded,
    honest_reports,
    lying_report,
    poisoned_report,
    randomized,
    rejected,
    result_of_reports,
    sealed_report,
    two_server_recipe,
    undecodable_report,
)

pytestmark = pytest.mark.django_db

DEVICES, HOSTILE = 200, 6
PLACES = 10
NOT_A_NUMBER = 0x7FF8 << 48
"""As a double is encoded."""

ASKED: dict[str, dict[str, Any]] = {
    "categories": {},
    "rare_categories": {
        "participation": "cover",
        "devices": DEVICES,
        "counted_devices": 100,
        "rare_share": 0.25,
    },
}


def moved_by(
    recipe: Recipe, sent: Sequence[Sequence[int]], maximal: Sequence[int], lies: Sequence[Report]
) -> np.ndarray[Any, Any]:
    """How far the result is from that of devices that sent `sent`, if six of them are hostile. Two send the
    most that counts; the lies, of one that does not decode, and replays are each counted by their reason."""
    hostile = [*honest_reports(recipe, [maximal, maximal]), *lies, undecodable_report(recipe, maximal)]
    assert len(hostile) == HOSTILE
    reports = honest_reports(recipe, sent[HOSTILE:])
    release, refused = result_of_reports(recipe, [*hostile, *reports, reports[0], hostile[0]])
    assert [status.error for status in refused] == [ReportError.REPORT_REPLAYED] * 2
    assert sum(map(Counter, rejected(recipe)), Counter()) == {
        "invalid_message": 1,
        "report_replayed": 2,
        "vdaf_verify_error": 3,
    }
    assert release.reports == DEVICES - 4
    total = [sum(entries) for entries in zip(*sent, strict=True)]
    asked: Any = recipe.published.calibrated_statistic
    moved = np.array(release.values) - asked.estimate(total, DEVICES).values
    assert np.abs(moved).max() <= HOSTILE * asked.robustness.each * (1 + 1e-9)
    assert np.abs(moved).sum() <= HOSTILE * asked.robustness.together * (1 + 1e-9)
    return moved


@pytest.mark.parametrize("statistic", ["categories", pytest.param("rare_categories", marks=pytest.mark.long)])
def test_hostile_devices_move_the_estimate_no_further_than_stated(statistic: str) -> None:
    """Lies: too many ones, a number below 0, and what is no number."""
    recipe = two_server_recipe(
        simulation=True,
        statistic=statistic,
        steps=None,
        k=PLACES,
        epsilon=4.0,
        cohort_size=100,
        **ASKED[statistic],
    )
    source = random.Random(11)
    sent = randomized(recipe, (source.choice((0, 0, 0, 1, 2, 5)) for _ in range(DEVICES)), source)
    asked: Any = recipe.published.calibrated_statistic
    weight = asked.parameters.max_weight
    maximal = [1] * weight + [0] * (PLACES - weight)
    lie = encoded(recipe, maximal)
    lies = ([1] * PLACES + lie[PLACES:], [FIELD128.modulus - 1, *lie[1:]], [NOT_A_NUMBER, *lie[1:]])
    moved_by(recipe, sent, maximal, [lying_report(recipe, one) for one in lies])


def test_hostile_devices_move_a_mean_of_vectors_no_further_than_stated() -> None:
    """Vectors as long as a report may be count, in the direction that moves x1 most. Lies: a digit of 2, a
    number that is none, and all coordinates at their end, as if they were as long as allowed."""
    dimension, cohort = 3, 170
    recipe = two_server_recipe(
        simulation=True,
        statistic="vector_mean",
        steps=None,
        dimension=dimension,
        bits=5,
        epsilon=4.0,
        cohort_size=cohort,
    )
    asked: Any = recipe.published.calibrated_statistic
    sent = randomized(recipe, [(0.5, -0.25, 0.0)] * DEVICES, random.Random(12))
    towards = asked._rotation.rotated([1.0] + [0.0] * (dimension - 1)) > 0
    parameters = asked.parameters
    each = math.isqrt(parameters.largest_squares // parameters.padded)
    longest = (parameters.offset + np.where(towards, each, -each)).tolist()
    lie = encoded(recipe, longest)
    lies = [lying_report(recipe, [wrong, *lie[1:]]) for wrong in (2, NOT_A_NUMBER)]
    lies.append(lying_report(recipe, [1] * len(lie)))
    moved = moved_by(recipe, sent, longest, lies)
    # Two that count move x1 by half of what is stated of one, or more: it is no idle bound.
    assert moved[0] >= 0.5 * asked.robustness.each * cohort / DEVICES


LIES = {"two": 2, "minus one": FIELD64.modulus - 1, "huge": 2**63, "half": (FIELD64.modulus + 1) // 2}
HONEST = ((1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0))


def result_with(recipe: Recipe, lies: Sequence[Sequence[int]]) -> Release:
    """The result of the honest reports of a pan-private statistic, with those of liars among them."""
    width = recipe.published.calibrated_statistic.report_ciphertexts
    reports = [sealed_report(recipe, bits[:width]) for bits in HONEST]
    reports[2:2] = [poisoned_report(recipe, elements) for elements in lies]
    release, refused = result_of_reports(recipe, reports)
    assert refused == []
    return release


@pytest.mark.parametrize("changes", [{}, {"statistic": "histogram", "k": 2}], ids=["bit", "bucket"])
def test_report_of_anything_but_0_or_1_changes_nothing_and_is_counted(changes: dict[str, Any]) -> None:
    honest = result_with(two_server_recipe(**changes), [])
    lies = [[1, lie, 0] if changes else [lie] for lie in LIES.values()]
    poisoned = result_with(two_server_recipe(**changes), lies)
    assert (poisoned.values, poisoned.standard_errors) == (honest.values, honest.standard_errors)
    assert poisoned.reports == honest.reports == len(HONEST)
    assert rejected(poisoned.recipe) == [{}, {"vdaf_verify_error": len(LIES)}]
