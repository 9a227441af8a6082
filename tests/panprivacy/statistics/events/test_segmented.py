"""One histogram of segment and answer: what devices send, what it gives away, and where the truths lie."""

import itertools
import math
import random
from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.accounting import noisy_count
from panprivacy.formats.parameters import Parameters
from panprivacy.planning.expectation import expected_margin
from panprivacy.statistics.catalogue import statistic_of
from panprivacy.statistics.events import MECHANISMS, SEGMENTED, segmented
from panprivacy.statistics.events.derived import Found, derived_numbers, sets_of
from panprivacy.statistics.events.histogram import HistogramParameters
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.events.segmented import (
    Ones,
    SegmentedCountNonzero,
    SegmentedHistogram,
    segment_bounds,
)
from panprivacy.statistics.intervals.estimate import LEVELS
from panprivacy.statistics.intervals.release_rule import ReleaseRule
from tests.panprivacy.statistics.events.contract import HistoryContract, MechanismContract, decrypted
from tests.panprivacy.statistics.events.transparent import TransparentPrivateKey
from tests.refusals import field_refused

SEGMENTS = ("2.0", "2.1")


def parameters(**changes):
    return Parameters(**({"steps": 6, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 100} | changes))


def buckets(**changes):
    return HistogramParameters(**asdict(parameters()) | {"k": 2} | changes)


class TestSegmented(MechanismContract, HistoryContract):
    @pytest.fixture(
        params=[
            SegmentedCountNonzero(parameters(), SEGMENTS, "2.1"),
            SegmentedCountNonzero(parameters(), SEGMENTS),
            SegmentedHistogram(buckets(), SEGMENTS, "2.0"),
        ],
        ids=["own segment", "of none", "buckets"],
    )
    def mechanism(self, request):
        return request.param

    def counted(self, count, devices):
        return {("2.0", count): devices, (None, 0): 7}

    def test_registry_looked_up_by_statistic_gives_the_class(self, mechanism):
        assert SEGMENTED[mechanism.statistic] is type(mechanism)
        asked = MECHANISMS[mechanism.statistic](mechanism.parameters)
        for shared in ("title", "unit", "scalar", "labels", "device_input", "parameters_class"):
            assert getattr(mechanism, shared) == getattr(asked, shared)
        assert (
            statistic_of(mechanism.statistic, mechanism.parameters, SEGMENTS).segmentation.labels == SEGMENTS
        )


@pytest.mark.parametrize(
    ("segment", "marked"), [("2.0", [0, 1, 0, 0]), ("2.1", [0, 0, 0, 1]), ("3", [0] * 4)]
)
def test_report_of_a_nearly_certain_coin_marks_segment_and_answer(segment, marked):
    # At ε = 20 a cell flips with probability 2.1e-9: one of these 64 with less than 1.4e-7.
    mechanism = SegmentedCountNonzero(parameters(epsilon=20), SEGMENTS).segmentation.on_device(segment)
    key, source = TransparentPrivateKey(), random.Random(7)
    for _ in range(8):
        state = mechanism.state_of_count(key.public_key, 2, 6, source)
        assert decrypted(key, mechanism.report(key.public_key, state, source)) == marked
        assert decrypted(key, mechanism.report_of_count(key.public_key, 2, source)) == marked


def test_state_on_the_device_is_the_same_in_every_segment():
    key = TransparentPrivateKey()
    states = [
        SegmentedCountNonzero(parameters(), SEGMENTS, own).start(key.public_key, random.Random(3))
        for own in (*SEGMENTS, None)
    ]
    assert states == [states[0]] * 3


def _distribution(devices, cells, flip):
    """Pr of every vector of sums, by going through all cells: a device is the place of its one, or None."""
    found = np.ones(1)
    for cell in range(cells):
        pmf = np.ones(1)
        for device in devices:
            one = 1 - flip if device == cell else flip
            pmf = np.convolve(pmf, [1 - one, one])
        found = np.multiply.outer(found, pmf).ravel()
    return found


@pytest.mark.parametrize("others", [1, 3])
def test_replacing_a_device_with_its_segment_stays_below_the_guarantee(others):
    """All inputs of n = 2 and 4 devices in 2 × 2 cells, enumerated: no pair of neighbours is beyond it, and
    the worst one is not far below it."""
    mechanism = SegmentedCountNonzero(parameters(cohort_size=others + 1), SEGMENTS)
    flip, cells = RandomizedResponse(1.0).flip_probability, mechanism.contribution_length
    places = (*range(cells), None)
    event = mechanism.aggregator_event()
    for epsilon in (0.2, 0.8, 1.5):
        worst = 0.0
        for rest in itertools.combinations_with_replacement(places, others):
            mine = {place: _distribution((place, *rest), cells, flip) for place in places}
            for one, other in itertools.permutations(places, 2):
                worst = max(worst, np.maximum(mine[one] - math.exp(epsilon) * mine[other], 0).sum())
        stated = event.delta(epsilon)
        assert 0.6 * stated <= worst <= stated * (1 + 1e-9)
    local = max(
        np.log(a / b).max()
        for a, b in itertools.permutations([_distribution((p,), cells, flip) for p in places], 2)
    )
    stated = {g.relation.value: g.epsilon for g in mechanism.local_guarantees()}
    assert local == pytest.approx(stated["replace"]) == pytest.approx(2.0)
    assert all("segment" in g.source for g in mechanism.guarantees())


def _observed(holders, reports, coins, flip):
    """Pr of each number of ones among so many bits of each report, of which `holders` are 1."""
    ones = binom.pmf(np.arange(holders + 1), holders, 1 - flip)
    zeros = binom.pmf(np.arange(coins * reports - holders + 1), coins * reports - holders, flip)
    return np.convolve(ones, zeros)


@pytest.mark.parametrize(
    ("answers", "sets"),
    [
        (2, ()),
        pytest.param(3, (), marks=pytest.mark.long),
        # What a funnel of three events needs besides.
        pytest.param(4, (frozenset({2, 3}), frozenset({0, 1})), marks=pytest.mark.long),
    ],
)
def test_all_intervals_together_fail_at_most_as_often_as_stated(answers, sets):
    """Summed over every observation of every number, exactly: the failures of all add up to 5% at most."""
    reports, response = 24, RandomizedResponse(1.5)
    truth = np.array([[10, 2, 0, 1], [0, 1, 9, 1]])[:, :answers]
    sizes = truth.sum(axis=1, keepdims=True)
    parts = {"devices": (sizes, answers), "answers": (truth, 1), "others": (sizes - truth, answers - 1)}
    if answers == 2:
        del parts["others"]  # each is another's answer
    if sets:
        parts["sums"] = (np.stack([truth[:, sorted(chosen)].sum(axis=1) for chosen in sets], axis=1), 2)
    assert sum(held.size for held, _ in parts.values()) == Ones.quantities(*truth.shape, len(sets))
    failing = 0.0
    for name, (truths, coins) in parts.items():
        for row, column in np.ndindex(truths.shape):
            chances = _observed(int(truths[row, column]), reports, coins, response.flip_probability)
            for seen in np.flatnonzero(chances > 1e-4):
                cells = _cells_with(name, row, column, int(seen), reports, truth.shape, sets)
                ones = Ones(cells, reports, 1.0, ReleaseRule(), sets)
                found = getattr(segment_bounds(response, ones)[row][0], name)
                low, high = found if name == "devices" else found[column]
                if not low <= truths[row, column] <= high:
                    failing += chances[seen]
            failing += chances[chances <= 1e-4].sum()
    assert failing <= 0.05


DIVIDED = (SegmentedCountNonzero(parameters(), SEGMENTS), SegmentedHistogram(buckets(), SEGMENTS))


@pytest.mark.parametrize("own", DIVIDED)
def test_bounds_at_a_stated_level_are_the_stated_ones(own):
    cells = own.contribution_length
    shown = own.segmentation.estimates([900 + 70 * cell for cell in range(cells)], 2_000)
    assert all(one.shown for one in shown)
    for segment, level in itertools.product(shown, range(len(LEVELS))):
        stated = segment.intervals[level]
        found = own.segmentation.bounds_at(stated.level, segment.devices, segment.answers, 2_000)
        assert (found.devices, found.answers, found.shares()) == (
            stated.devices,
            stated.answers,
            stated.shares,
        )


def _cells_with(name, row, column, seen, reports, shape, sets):
    """Sums of which so many ones are counted for one number of the row."""
    cells = np.zeros(shape, dtype=np.int64)
    every = set(range(shape[1]))
    counted = {"devices": every, "answers": {column}, "others": every - {column}}
    for place in sorted(sets[column] if name == "sums" else counted[name]):
        if seen:
            cells[row, place] = min(seen, reports)
            seen -= cells[row, place]
    return cells


def _summed(truth, population, rate, response, rng):
    """Reports, and the sums of randomized cells, of devices of which each takes part with one coin."""
    counts = np.append(truth.ravel(), population - truth.sum())
    taking = rng.binomial(counts, rate)
    reports, here = int(taking.sum()), taking[:-1]
    flip = response.flip_probability
    return reports, (rng.binomial(here, 1 - flip) + rng.binomial(reports - here, flip)).tolist()


@pytest.mark.parametrize(
    ("rate", "statistic", "noisy"),
    [
        (1.0, "count_nonzero", False),
        pytest.param(0.5, "histogram", False, marks=pytest.mark.long),
        # Two servers publish the number of reports with noise; of more cells together it moves more.
        pytest.param(1.0, "count_nonzero", True, marks=pytest.mark.long),
    ],
)
def test_sizes_answers_shares_and_differences_hold_at_once(monkeypatch, rate, statistic, noisy):
    """80 draws; were the level 95%, fewer than 63 would hold all at once with probability 7e-8."""
    monkeypatch.setattr(segmented, "LEVELS", LEVELS[:1])  # the widest are tested
    made = parameters if statistic == "count_nonzero" else buckets
    mechanism = statistic_of(statistic, made(sampling_rate=rate, cohort_size=200), ("a", "b", "small"))
    truth = np.array([[2_000, 500, 100], [900, 700, 0], [10, 20, 0]])[:, : 2 if rate == 1 else 3]
    answers = [list(mechanism._answers(row)) for row in truth]
    shares = [np.array(row) / sizes for row, sizes in zip(answers, truth.sum(axis=1), strict=True)]
    response, rng, held = RandomizedResponse(1.0), np.random.default_rng(5), 0
    coins = random.Random(5)
    if noisy:
        mechanism = mechanism.with_noisy_count()
    for _ in range(80):
        reports, total = _summed(truth, 5_000, rate, response, rng)
        if noisy:
            reports += noisy_count.draw(mechanism.cohort_size, coins)
        found = mechanism.segmentation.estimates(total, reports)
        assert not found[2].shown
        inside = []
        for place, segment in enumerate(found[:2]):
            widest = segment.intervals[0]
            inside += [widest.devices[0] <= truth[place].sum() <= widest.devices[1]]
            inside += [
                low <= t <= high for t, (low, high) in zip(answers[place], widest.answers, strict=True)
            ]
            inside += [low <= t <= high for t, (low, high) in zip(shares[place], widest.shares, strict=True)]
        differences = shares[1] - shares[0]
        ends = found[1].difference.intervals
        inside += [low <= t <= high for t, (low, high) in zip(differences, ends, strict=True)]
        held += all(inside)
    assert held >= 63


QUESTIONS = {
    "funnel": {"events": ["search", "open", "buy"]},
    "retention": {"event": "open", "period_steps": 2, "periods": 3},
    "time_to_first": {"event": "open", "within": [1, 2, 4]},
    "longest_streak": {"event": "open", "longest": 3},
    "both": {"events": ["search", "buy"]},
}


def asked(statistic, **changes):
    members = asdict(parameters(cohort_size=200)) | QUESTIONS[statistic] | changes
    class_ = MECHANISMS[statistic].parameters_class
    return statistic_of(statistic, class_.from_mapping(members), ("a", "b", "small"))


def _exact_sums(cells, sets):
    return {
        chosen: Found(float(cells[sorted(chosen)].sum()), (float(cells[sorted(chosen)].sum()),) * 2)
        for chosen in sets
    }


def _true_derived(question, cells):
    """By their names, from intervals that are one number each: `_share` and others on exact sums."""
    sums = _exact_sums(np.asarray(cells), sets_of(question.ratios))
    return {one["name"]: one["value"] for one in derived_numbers(question.ratios, question.others, sums)}


def _hold(derived, truths):
    for one in derived:
        low = -math.inf if one["low"] is None else one["low"]
        high = math.inf if one["high"] is None else one["high"]
        truth = math.inf if truths[one["name"]] is None else truths[one["name"]]
        if not low - 1e-12 <= truth <= high + 1e-12:
            return False
    return True


@pytest.mark.parametrize(
    ("statistic", "rate"),
    [
        ("funnel", 1.0),
        *(
            pytest.param(statistic, rate, marks=pytest.mark.long)
            for statistic, rate in (("funnel", 0.5), *((name, 1.0) for name in list(QUESTIONS)[1:]))
        ),
    ],
)
def test_derived_numbers_of_all_segments_hold_at_once(monkeypatch, statistic, rate):
    """40 draws; were the level 95%, fewer than 28 would hold all at once with probability 4e-8. So for the
    segments, and for all of them together."""
    monkeypatch.setattr(segmented, "LEVELS", LEVELS[:1])  # the widest are tested
    mechanism = asked(statistic, sampling_rate=rate, epsilon=2.0)
    question = mechanism._question
    truth = np.array([[900, 500, 700, 300], [800, 700, 200, 900], [10, 0, 8, 2]])
    response, rng = RandomizedResponse(1.0), np.random.default_rng(11)
    truths = [_true_derived(question, row) for row in truth]
    overall, held, held_overall = _true_derived(question, truth.sum(axis=0)), 0, 0
    for _ in range(40):
        reports, total = _summed(truth, 6_000, rate, response, rng)
        found = mechanism.segmentation.estimates(total, reports)
        assert not found[2].shown
        assert not found[2].derived
        assert [one["name"] for one in found[0].derived] == list(truths[0])
        held += all(_hold(found[place].derived, truths[place]) for place in range(2))
        held_overall += _hold(mechanism.estimate(total, reports).details["derived"], overall)
    assert min(held, held_overall) >= 28


@pytest.mark.parametrize("statistic", QUESTIONS)
def test_derived_numbers_with_nearly_no_noise_are_the_true_ones(statistic):
    """At ε/2 = 10 a cell flips with 4.5e-5: all sums are as expected, and rounded."""
    mechanism = asked(statistic, epsilon=20.0)
    truth = np.array([[900, 500, 700, 300], [800, 700, 200, 900], [400, 400, 400, 400]])
    found = mechanism.segmentation.estimates(truth.ravel().tolist(), int(truth.sum()))
    for segment, row in zip(found, truth, strict=True):
        for one in segment.derived:
            assert one["value"] == pytest.approx(
                _true_derived(mechanism._question, row)[one["name"]], abs=0.01
            )


@pytest.mark.parametrize("statistic", QUESTIONS)
def test_bounds_of_a_question_by_segment_at_its_level_are_the_stated_ones(statistic):
    mechanism = asked(statistic)
    total = np.random.default_rng(2).integers(2_500, 3_500, mechanism.contribution_length).tolist()
    first = mechanism.segmentation.estimates(total, 6_000)[0]
    stated = first.intervals[0]
    found = mechanism.segmentation.bounds_at(stated.level, first.devices, first.answers, 6_000)
    assert (found.devices, found.answers) == (stated.devices, stated.answers)
    estimate = mechanism.estimate(total, 6_000)
    assert mechanism.interval_at(0.95, estimate.values, 6_000).low == estimate.intervals[0].low


def test_segment_that_may_be_too_small_is_shown_by_its_label_alone():
    mechanism = SegmentedCountNonzero(parameters(cohort_size=500, epsilon=4), ("many", "few", "none"))
    flip = RandomizedResponse(4).flip_probability
    true = np.array([4_000, 1_000, 350, 150, 0, 0])
    total = [round(n * (1 - flip) + (5_500 - n) * flip) for n in true]
    many, few, none = mechanism.segmentation.estimates(total, 5_500)
    assert (many.shown, few.shown, none.shown) == (True, False, False)
    # The estimate is 500 and the interval reaches below it: a cohort is not sure.
    assert few.as_dict() == {
        "label": "few",
        "shown": False,
        "reason": "it may have had fewer than 500 devices, the cohort size",
        "devices": None,
        "answers": (),
        "shares": (),
        "intervals": (),
        "difference": None,
        "derived": (),
    }
    assert (many.devices, many.shares[0]) == pytest.approx((5_000, 0.2), rel=1e-3)


def test_difference_of_two_versions_is_more_than_noise_only_if_it_is():
    flip = RandomizedResponse(1).flip_probability

    def found(*true):
        mechanism = SegmentedCountNonzero(parameters(cohort_size=1_000), SEGMENTS)
        total = [round(n * (1 - flip) + (20_000 - n) * flip) for n in true]
        return mechanism.segmentation.estimates(total, 20_000)[1].difference

    clear, none = found(9_000, 1_000, 7_000, 3_000), found(9_000, 1_000, 8_900, 1_100)
    assert (clear.to, clear.level, clear.more_than_noise) == ("2.0", 0.95, (True,))
    assert clear.shares[0] == pytest.approx(0.2, abs=1e-3)
    assert none.more_than_noise == (False,)


def test_answer_over_all_segments_is_the_statistic_s_own():
    mechanism = SegmentedCountNonzero(parameters(), SEGMENTS)
    flip = RandomizedResponse(1).flip_probability
    total = [round(n * (1 - flip) + (10_000 - n) * flip) for n in (4_000, 1_000, 2_500, 500)]
    estimate = mechanism.estimate(total, 10_000)
    assert estimate.values[0] == pytest.approx(1_500, abs=3)
    widest = estimate.intervals[0]
    assert widest.low[0] < 1_500 < widest.high[0]
    assert widest.high[0] - 1_500 == pytest.approx(1.96 * estimate.standard_errors[0], rel=0.02)
    assert expected_margin(mechanism, 10_000) == pytest.approx(widest.high[0] - 1_500, rel=0.05)
    (within,) = (i.answers[0] for i in mechanism.segmentation.estimates(total, 10_000)[0].intervals[:1])
    planned = mechanism.segmentation.expected(10_000, 0.05).margin
    assert (within[1] - within[0]) / 2 == pytest.approx(planned, rel=0.05)


def test_more_cells_than_a_report_may_have_are_refused():
    SegmentedHistogram(buckets(k=49), [str(number) for number in range(20)])
    with field_refused("segments", match="20 times 52 numbers of events are 1,040 cells"):
        SegmentedHistogram(buckets(k=51), [str(number) for number in range(20)])
