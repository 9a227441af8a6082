"""Rules fire by mistake as rarely as they say, under exactly the noise of releases, and fire at real changes.

Each series asks 1,000 devices in 20 rounds. The sum of randomized responses of devices that have the event,
and of the others, is drawn as the two binomial numbers that it is; the library's estimator does the rest. If
a rule fires in at most 5% of series, at most `MOST` of 2,000 do, except with probability 1e-6.
"""

from dataclasses import asdict
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from notifications import rule_checks
from notifications.models import Rule
from notifications.rule_checks import alarms, intervals_together
from notifications.rules import FALSE_ALARMS
from panprivacy.statistics.events import SEGMENTED
from panprivacy.statistics.events.count_nonzero import CountNonzero
from results.parts import _has_exact_tails, exact_part

DEVICES, ROUNDS, SERIES = 1_000, 20, 2_000
MOST = int(binom.isf(1e-6, SERIES, FALSE_ALARMS))
LEAST = int(binom.ppf(1e-6, SERIES, 0.9))
"""Firings, if at least 90% of series fire."""

SHARES = (0.0, 0.02, 0.5)

SEGMENTS = ("2.0", "2.1", "nightly")
EVERYTHING = ("", *SEGMENTS)


@cache
def statistic_of(rate: float = 1.0, segments: tuple[str, ...] = ()) -> Any:
    members = {"epsilon": 2.0, "delta": 1e-6, "steps": 4, "cohort_size": 50, "sampling_rate": rate}
    parameters = CountNonzero.parameters_class.from_mapping(members).calibrated()
    if segments:
        return SEGMENTED["count_nonzero"](parameters, segments)
    found = CountNonzero(parameters)
    # Of thousands of results, many have the same numbers.
    found.interval_at = cache(found.interval_at)  # type: ignore[method-assign]  # the same, remembered
    return found


def release(statistic: Any, total: tuple[int, ...], reports: int) -> Any:
    """A release, as far as rules read it."""
    estimate = statistic.estimate(total, reports)
    segments = statistic.segmentation.estimates(total, reports) if statistic.segmentation else ()
    return SimpleNamespace(
        recipe=SimpleNamespace(published=SimpleNamespace(calibrated_statistic=statistic)),
        values=list(estimate.values),
        intervals=[asdict(one) for one in estimate.stated_intervals()],
        reports=reports,
        segments=[one.as_dict() for one in segments],
    )


@cache
def counted(ones: int, reports: int, rate: float) -> Any:
    return release(statistic_of(rate), (ones,), reports)


def drawn(shares: Any, rng: np.random.Generator, rate: float = 1.0) -> Any:
    """Releases of series and rounds, from the share of devices with the event in each."""
    flip = statistic_of()._response.flip_probability
    having = np.round(np.asarray(shares) * DEVICES).astype(int)
    here, others = rng.binomial(having, rate), rng.binomial(DEVICES - having, rate)
    ones = rng.binomial(here, 1 - flip) + rng.binomial(others, flip)
    return [
        [counted(int(one), int(n), rate) for one, n in zip(*row, strict=True)]
        for row in zip(ones, here + others, strict=True)
    ]


def rule_of(when: str, value: float | None = None, watched: tuple[str, ...] = ("",)) -> Rule:
    return Rule(when=when, value=value, watched=list(watched), over_rounds=ROUNDS)


def fired(rule: Rule, series: list[list[Any]]) -> int:
    """How many series it fires in; the first result of each is the one before its rounds."""
    kept: dict[tuple[int, ...], bool] = {}

    def fires(before: Any, after: Any) -> bool:
        # Results with the same numbers are the same object.
        key = (id(after), id(before)) if rule.when == Rule.When.CHANGED else (id(after),)
        if key not in kept:
            kept[key] = any(alarms(rule, after, before).values())
        return kept[key]

    return sum(any(fires(*pair) for pair in pairwise(results)) for results in series)


def quiet_series(share: float, seed: int, rate: float = 1.0, count: int = SERIES) -> list[list[Any]]:
    return drawn(np.full((count, ROUNDS + 1), share), np.random.default_rng(seed), rate)


@pytest.mark.parametrize("share", SHARES)
def test_rule_without_a_change_fires_as_rarely_as_it_says(share: float) -> None:
    series = quiet_series(share, seed=int(1_000 * share))
    for rule in (rule_of("above", share), rule_of("below", share), rule_of("changed")):
        assert fired(rule, series) <= MOST, rule.when


@pytest.mark.long
@pytest.mark.parametrize("share", SHARES)
def test_rule_over_sampled_devices_fires_as_rarely_as_it_says(share: float) -> None:
    series = quiet_series(share, seed=7 + int(1_000 * share), rate=0.5)
    for rule in (rule_of("above", share), rule_of("below", share), rule_of("changed")):
        assert fired(rule, series) <= MOST, rule.when


def test_rule_for_one_round_would_fire_too_often_over_twenty() -> None:
    """The tests above can fail: the same rules, each round with an interval of its own, do."""
    series = quiet_series(0.5, seed=3)
    single = rule_of("above", 0.5)
    single.over_rounds = 1
    assert fired(single, series) > MOST


def firing_probability(rule: Rule, having: int) -> float:
    """In one round with this number of devices with the event, exactly: the sum over all numbers of ones."""
    flip, seen = statistic_of()._response.flip_probability, np.arange(DEVICES + 1)
    chances = np.convolve(binom.pmf(seen, having, 1 - flip), binom.pmf(seen, DEVICES - having, flip))
    likely = np.flatnonzero(chances[: DEVICES + 1] > 1e-12)
    return sum(chances[one] for one in likely if any(alarms(rule, counted(one, DEVICES, 1.0), None).values()))


def test_rule_about_one_end_uses_all_of_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of intervals with two sides would leave half of it, and find fewer changes."""
    each, rules = FALSE_ALARMS / ROUNDS, [(rule_of("above", 0.5), 550), (rule_of("below", 0.5), 450)]
    mistaken = [firing_probability(rule, 500) for rule, _ in rules]
    assert all(0.8 * each < probability <= each for probability in mistaken)
    found = [firing_probability(rule, truth) for rule, truth in rules]
    monkeypatch.setattr(
        rule_checks, "exact_part", lambda *members, among, one_sided: exact_part(*members, among=among)
    )
    assert all(firing_probability(rule, 500) <= each / 2 for rule, _ in rules)
    before = [firing_probability(rule, truth) for rule, truth in rules]
    assert all(now > then + 0.04 for now, then in zip(found, before, strict=True))


@pytest.mark.parametrize(
    ("members", "is_one_sided"),
    [
        (("", 1), True),
        (("", 2), True),
        (("2.1", 1), True),
        (("2.1", 2), False),
        (("2.1", 3), True),
    ],
)
def test_shares_of_two_answers_need_both_ends(members: tuple[str, int], is_one_sided: bool) -> None:
    assert _has_exact_tails(statistic_of(), *members) == is_one_sided
    assert not _has_exact_tails(statistic_of(0.5), *members)


def test_rule_fires_at_a_change_of_twelve_points() -> None:
    """From 30% to 42% of devices; an estimate has a standard error of 1.4 points."""
    shares = np.full((SERIES, ROUNDS + 1), 0.3)
    shares[:, 10:] = 0.42
    series = drawn(shares, np.random.default_rng(5))
    for rule in (rule_of("above", 0.3), rule_of("below", 0.42), rule_of("changed")):
        assert fired(rule, series) >= LEAST, rule.when


def by_segment(shares: Any, rng: np.random.Generator) -> list[list[Any]]:
    """The same of devices in three segments, for shares by series, round and segment."""
    statistic = statistic_of(segments=SEGMENTS)
    flip, size = statistic._response.flip_probability, DEVICES // len(SEGMENTS)
    having = np.round(np.asarray(shares) * size).astype(int)
    cells = np.stack([size - having, having], axis=-1)
    n = size * len(SEGMENTS)
    ones = rng.binomial(cells, 1 - flip) + rng.binomial(n - cells, flip)
    return [[release(statistic, tuple(total.ravel().tolist()), n) for total in row] for row in ones]


@pytest.mark.long
def test_rule_over_all_segments_fires_as_rarely_as_it_says() -> None:
    count = 60  # each result has 15 intervals
    series = by_segment(np.full((count, ROUNDS + 1, len(SEGMENTS)), 0.3), np.random.default_rng(11))
    for rule in (rule_of("above", 0.3, EVERYTHING), rule_of("changed", watched=EVERYTHING)):
        assert fired(rule, series) <= binom.isf(1e-6, count, FALSE_ALARMS), rule.when


def test_rule_over_all_segments_names_the_one_that_rose() -> None:
    shares = np.full((20, 2, len(SEGMENTS)), 0.1)
    shares[:, 1, 2] = 0.95
    series = by_segment(shares, np.random.default_rng(13))
    found = [alarms(rule_of("changed", watched=EVERYTHING), after, before) for before, after in series]
    assert sum(bool(one["nightly"]) for one in found) >= 17  # of 20, at 99.9% each: fails below 1e-6
    assert not any(one["2.0"] or one["2.1"] for one in found)
    # All devices, and all segments together, in the result before too.
    assert intervals_together(rule_of("changed", watched=EVERYTHING)) == 2 * (ROUNDS + 1)
