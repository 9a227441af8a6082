"""One device in a hundred sends what it likes, to the real leader and helper."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from panprivacy.dap.basics import ReportError
from panprivacy.prio3.field import FIELD128
from tests.collections.two_server.randomized_scene import (
    encoded,
    honest_reports,
    lying_report,
    randomized,
    released,
    undecodable_report,
)
from tests.collections.two_server.scene import rejected, two_server_recipe

pytestmark = [pytest.mark.django_db, pytest.mark.once]

DEVICES, HOSTILE = 600, 6
PLACES = 10
NOT_A_NUMBER = 0x7FF8 << 48
"""As a double is encoded."""

ASKED: dict[str, dict[str, Any]] = {
    "categories": {},
    "rare_categories": {
        "participation": "cover",
        "devices": DEVICES,
        "counted_devices": 300,
        "rare_share": 0.25,
    },
}


@pytest.mark.parametrize("statistic", ["categories", pytest.param("rare_categories", marks=pytest.mark.long)])
def test_one_hostile_device_in_a_hundred_moves_the_estimate_no_further_than_stated(statistic: str) -> None:
    """Maximal reports count, as they must; reports with too many ones, of a number below 0, of what is no
    number or no element, and replays are each counted by their reason."""
    recipe = two_server_recipe(
        simulation=True,
        statistic=statistic,
        steps=None,
        k=PLACES,
        epsilon=4.0,
        cohort_size=100,
        **ASKED[statistic],
    )
    asked: Any = recipe.published.calibrated_statistic
    source = random.Random(11)
    sent = randomized(recipe, (source.choice((0, 0, 0, 1, 2, 5)) for _ in range(DEVICES)), source)
    assert len(sent) == DEVICES
    honest, replaced = sent[HOSTILE:], sent[:HOSTILE]
    weight = asked.parameters.max_weight
    maximal = [1] * weight + [0] * (PLACES - weight)
    lie = encoded(recipe, maximal)
    reports = honest_reports(recipe, honest)
    hostile = [
        *honest_reports(recipe, [maximal, maximal]),
        lying_report(recipe, [1] * PLACES + lie[PLACES:]),
        lying_report(recipe, [FIELD128.modulus - 1, *lie[1:]]),
        lying_report(recipe, [NOT_A_NUMBER, *lie[1:]]),
        undecodable_report(recipe, replaced[0]),
    ]
    assert len(hostile) == HOSTILE
    release, refused = released(recipe, [*hostile, *reports, reports[0], hostile[0]])

    assert [status.error for status in refused] == [ReportError.REPORT_REPLAYED] * 2
    assert sum(map(Counter, rejected(recipe)), Counter()) == {
        "invalid_message": 1,
        "report_replayed": 2,
        "vdaf_verify_error": 3,
    }
    assert release.reports == DEVICES - 4
    total = [sum(entries) for entries in zip(*sent, strict=True)]
    moved = [
        after - before
        for after, before in zip(release.values, asked.estimate(total, DEVICES).values, strict=True)
    ]
    bound = asked.robustness
    assert max(map(abs, moved)) <= HOSTILE * bound.each * (1 + 1e-9)
    assert sum(map(abs, moved)) <= HOSTILE * bound.together * (1 + 1e-9)


def test_one_hostile_device_in_a_hundred_moves_a_mean_of_vectors_no_further_than_stated() -> None:
    """Vectors far longer than 1 count, as nobody checks the length: each coordinate is as large as it may be,
    with the sign that moves x1 most. What is no vector is refused by its reason: a digit of 2 or -1, a number
    that is none, an element that is none, and replays. Each hostile device takes the place of an honest one.
    """
    dimension, cohort = 3, 500
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
    honest = sent[HOSTILE:]
    towards = asked._rotation.rotated([1.0] + [0.0] * (dimension - 1)) > 0
    longest = np.where(towards, asked.allowed_values[-1], 0).tolist()
    lie = encoded(recipe, longest)
    hostile = [
        *honest_reports(recipe, [longest, longest]),
        *(lying_report(recipe, [wrong, *lie[1:]]) for wrong in (2, FIELD128.modulus - 1, NOT_A_NUMBER)),
        undecodable_report(recipe, longest),
    ]
    assert len(hostile) == HOSTILE
    reports = honest_reports(recipe, honest)
    release, refused = released(recipe, [*hostile, *reports, reports[0], hostile[0]])

    assert [status.error for status in refused] == [ReportError.REPORT_REPLAYED] * 2
    assert sum(map(Counter, rejected(recipe)), Counter()) == {
        "invalid_message": 1,
        "report_replayed": 2,
        "vdaf_verify_error": 3,
    }
    assert release.reports == DEVICES - 4
    total = [sum(entries) for entries in zip(*sent, strict=True)]
    moved = np.array(release.values) - asked.estimate(total, DEVICES).values
    assert np.abs(moved).max() <= HOSTILE * asked.robustness.each
    assert np.abs(moved).sum() <= HOSTILE * asked.robustness.together
    # Two that count move x1 by half of what is stated of one, or more: it is no idle bound.
    assert moved[0] >= 0.5 * asked.robustness.each * cohort / DEVICES
