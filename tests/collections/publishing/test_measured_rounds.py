"""Rounds of Example 5 of SAA by devices, leader and helper: their errors, and what they are charged with."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy

from ledger.budget import Budget
from ledger.operations import population_create
from ledger.selectors import unreturned_events
from panprivacy.accounting.composed_loss import composed
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.accounting.privacy_loss import symmetric_loss
from panprivacy.accounting.registry import event_from_mapping
from panprivacy.device.value_reports.randomized import RandomizedReports
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from publishing import publication
from recipes.models import Recipe
from research.reproduction.measured_rounds import DELTA, RATE, ROUNDS, SIGMA, Collections
from results.models import Release
from series.models import RoundsDocument
from series.operations import rounds_advance, series_publish, series_stop
from tests.collections.publishing.scene import (
    honest_reports,
    partners,
    result_of_reports,
    two_server_members,
)
from tests.factories import event_until
from tests.reproduced import reproduced

pytestmark = pytest.mark.django_db


def members_of(asked: Collections, **changes: Any) -> dict[str, Any]:
    return two_server_members(
        statistic="vector_mean", steps=None, rounds=ROUNDS, round_seconds=3_600, **asked.members, **changes
    )


def stated(document: PublishedRounds) -> float:
    """ε of all rounds together where nobody colludes and nobody sees who takes part."""
    [found] = [
        one["epsilon"]
        for one in document.privacy
        if (one["model"], one["dishonest_fraction"]) == (Model.SAMPLED, 0.0)
    ]
    return float(found)


def of_every_count(devices: int, cohort_size: int) -> float:
    """ε of all rounds by a second method: the numbers c of reports one by one, and no lattice.

    A device is among c of n with probability c/n, and c reports have the noise σ·√(c/B).
    """
    low, high = (float(scipy.stats.binom.ppf(end, devices, RATE)) for end in (1e-14, 1 - 1e-14))
    counts = np.arange(max(1.0, low), high + 1)
    weights, sigmas = counts / devices, SIGMA * np.sqrt(counts / cohort_size)
    chances = scipy.stats.binom.pmf(counts, devices, RATE) * weights

    def delta(epsilon: float) -> float:
        unsampled = np.log1p(math.expm1(epsilon) / weights)
        first, second = (scipy.special.log_ndtr(side / (2 * sigmas) - unsampled * sigmas) for side in (1, -1))
        of_count = np.exp(first) - np.exp(np.minimum(unsampled + second, first))
        return float(chances @ of_count)

    loss = symmetric_loss(delta)
    return max(one.epsilon(DELTA) for one in composed([((loss, loss), ROUNDS)]))


@pytest.mark.parametrize(
    ("asked", "above"),
    [
        (Collections(devices=1_000_000, cohort_size=20_000, seed=0), 1.03),
        (Collections(devices=600, cohort_size=12, seed=0), 1.15),
    ],
    ids=["as many devices as in the example", "as few as are measured below"],
)
def test_all_rounds_of_example_5_are_charged_with_what_is_computed(asked: Collections, above: float) -> None:
    """`reproduce` composes adding and removing a vector. Ours are replaced, and neighbours may be exchanged
    between rounds, so that each counts in its worse direction on either side: 7% at this sampling rate.
    Beyond that, ranges of the number of reports are taken at their worst, which are wide where it is small.
    """
    charged = event_until(RoundsDraft.from_mapping(members_of(asked)), ROUNDS).epsilon(DELTA)
    second = of_every_count(asked.devices, asked.cohort_size)
    printed = reproduced(
        "Example 5", "ε of 2,500 rounds, σ = 5.1, q = 0.02", Relation.ADD_REMOVE, "privacy loss distribution"
    )
    assert printed == pytest.approx(
        Gaussian(sigma=SIGMA, sampling_rate=RATE, rounds=ROUNDS).epsilon(DELTA), rel=1e-5
    )
    assert printed < second < 1.07 * printed
    assert second < charged < above * second


@pytest.mark.long
def test_rounds_of_example_5_are_as_noisy_and_charged_as_computed(monkeypatch: Any) -> None:
    """Six rounds of 2,500, over two servers.

    Errors of a round, of the mean of all, and of all rounds together lie within what chi-square leaves with
    5e-8 on either side. So do the number of times that devices took part, and the number of devices that did
    so more than once: coins are tossed anew. All ten together fail with 1e-6. Noise that is half as wide, or
    the same in every round, is seen.
    """
    monkeypatch.setattr(publication, "configured_partners", partners)
    asked, rounds, failures = Collections(devices=1_500, cohort_size=12, seed=6), 6, 1e-7
    pilots = population_create(
        name="pilots", description="", budget=Budget(epsilon=2.0, delta=DELTA), actor=None
    )
    series = series_publish(members=members_of(asked, population="pilots"), actor=None)
    document = PublishedRounds.from_document(RoundsDocument.objects.get(series=series).stated)
    [charged] = map(event_from_mapping, unreturned_events(pilots))
    assert charged.epsilon(DELTA) == stated(document)

    taking_part: list[set[int]] = []
    estimates, reports = [], []
    source: Any = None
    for number in range(1, rounds + 1):
        rounds_advance()
        recipe = Recipe.objects.get(round__series=series, round__number=number)
        assert document.require_round(recipe.published).number == number
        devices = RandomizedReports(recipe.published)
        statistic: Any = devices.statistic
        source = source or asked.rounds(statistic, devices.is_sampled)
        sent = next(source)
        release, refused = result_of_reports(recipe, honest_reports(recipe, sent.values()))
        assert (release.outcome, release.reports, refused) == (Release.Outcome.RELEASED, len(sent), [])
        taking_part.append(set(sent))
        reports.append(len(sent))
        estimates.append(release.values)
        low, high = asked.ends(asked.expected(reports[-1:]), failures=failures)
        assert low < asked.squared_error(estimates[-1:]) < high
    low, high = asked.ends(asked.expected(reports), failures=failures)
    assert low < asked.squared_error(estimates) < high
    low, high = asked.ends(1.0, times=rounds, failures=failures)
    of_each = [
        asked.squared_error([found]) / asked.expected([count])
        for found, count in zip(estimates, reports, strict=True)
    ]
    assert low < sum(of_each) / rounds < high

    took_part = Counter(device for sent in taking_part for device in sent)
    several = sum(times > 1 for times in took_part.values())
    more_than_once = float(scipy.stats.binom.sf(1, rounds, RATE))
    for found, tries, chance in (
        (sum(reports), asked.devices * rounds, RATE),
        (several, asked.devices, more_than_once),
    ):
        tails = scipy.stats.binom.cdf(found, tries, chance), scipy.stats.binom.sf(found - 1, tries, chance)
        assert min(tails) > failures / 2

    # What was never asked is given back: the line is that of six rounds.
    series_stop(series=series, actor=None)
    [charged] = map(event_from_mapping, unreturned_events(pilots))
    parsed: Any = series.parsed
    assert charged == event_until(parsed, rounds)
