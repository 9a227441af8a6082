"""Importance sampling of categories: every report of few places, everybody's values, and the estimate."""

import dataclasses
import itertools
import json
import math
import random
from dataclasses import replace
from decimal import Decimal, localcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import RecipeLimits
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.intervals.exact import bounds
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits
from panprivacy.statistics.intervals.release_rule import ReleaseRule
from panprivacy.statistics.randomized.categories import Categories, CategoriesParameters, WeightLaw
from panprivacy.statistics.randomized.rare_categories import (
    LARGEST_SEEN_RATE,
    Participation,
    RareCategories,
    RareCategoriesParameters,
)
from tests.panprivacy.statistics.randomized.contract import OneHotContract
from tests.refusals import field_refused

METHODS = [method.value for method in Participation]


def parameters(participation, **changes):
    asked = {
        "epsilon": 2.0,
        "delta": 1e-4,
        "cohort_size": 2,
        "k": 3,
        "participation": participation,
        "devices": 100,
        "counted_devices": 20,
        "rare_share": 0.2,
        **changes,
    }
    return RareCategoriesParameters(**asked).calibrated()


def statistic(participation, *, max_weight=None, **changes):
    found = parameters(participation, **changes)
    return RareCategories(found if max_weight is None else replace(found, max_weight=max_weight))


class TestContract(OneHotContract):
    @pytest.fixture(params=["cover", "relayed"])
    def randomizer(self, request):
        return statistic(
            request.param, k=6, cohort_size=50, devices=2_000, counted_devices=600, rare_share=0.5
        )

    def test_expected_error_covers_that_of_an_estimate(self, randomizer, measurements):
        """Of the categories other than the default, for which it is said."""
        total = [sum(entries) for entries in zip(*measurements, strict=True)]
        population = round(len(measurements) / randomizer.reporting_rate)
        expected = randomizer.expected_standard_error(population)
        errors = randomizer.estimate(total, len(measurements)).standard_errors
        assert max(errors[1:]) <= expected * 1.05
        assert f"{randomizer.parameters.rare_share:g}" in randomizer.partial_errors.remark(population)
        with pytest.raises(ValueError, match="population"):
            randomizer.expected_standard_error(0)


def reports_of(asked, value):
    """Pr[report] of a device, from what it draws: its coin, its bits, and again while there are too many."""
    made = asked.parameters
    p, rate = 1 / (math.exp(made.epsilon) + 1), made.rates[value > 0]

    def drawn(about):
        return {
            bits: math.prod(1 - p if bit == (place == about) else p for place, bit in enumerate(bits))
            for bits in itertools.product((0, 1), repeat=made.k)
            if sum(bits) <= made.max_weight
        }

    counted, blank = drawn(value), drawn(None)
    if made.participation == "relayed":
        taken = sum(counted.values())
        return {None: 1 - rate, **{bits: rate * chance / taken for bits, chance in counted.items()}}
    mixed = {bits: rate * counted[bits] + (1 - rate) * blank[bits] for bits in counted}
    taken = sum(mixed.values())
    return {bits: chance / taken for bits, chance in mixed.items()}


def expected_total(asked, devices):
    """The expected sums and number of reports of so many devices of each value."""
    sums, reports = [0.0] * 3, 0.0
    for value, number in devices.items():
        for bits, chance in reports_of(asked, value).items():
            if bits is not None:
                reports += number * chance
                sums = [a + number * chance * b for a, b in zip(sums, bits, strict=True)]
    return sums, reports


def local_epsilon(one, other):
    return max(abs(math.log(one[report] / other[report])) for report in one)


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("max_weight", [1, 2, 3])
@pytest.mark.parametrize("counted", [1, 30, 100])
def test_local_guarantee_is_that_of_every_report_of_every_pair(participation, epsilon, max_weight, counted):
    asked = statistic(participation, epsilon=epsilon, counted_devices=counted, max_weight=max_weight)
    laws = [reports_of(asked, value) for value in range(3)]
    worst = max(local_epsilon(*pair) for pair in itertools.combinations(laws, 2))
    [stated] = [g.epsilon for g in asked.local_guarantees() if g.relation is Relation.REPLACE]
    assert worst <= stated * (1 + 1e-12)
    if max_weight == 3:  # nothing is drawn again
        assert worst == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize("max_weight", [1, 3])
@pytest.mark.parametrize("counted", [1, 100])
def test_local_guarantee_against_a_blank_report_is_that_of_every_report(max_weight, counted):
    asked = statistic("cover", counted_devices=counted, max_weight=max_weight)
    p = 1 / (math.exp(2.0) + 1)
    bare = {
        bits: math.prod(p if bit else 1 - p for bit in bits)
        for bits in itertools.product((0, 1), repeat=3)
        if sum(bits) <= max_weight
    }
    blank = {bits: chance / sum(bare.values()) for bits, chance in bare.items()}
    worst = max(local_epsilon(reports_of(asked, value), blank) for value in range(3))
    [stated] = [g.epsilon for g in asked.local_guarantees() if g.relation is Relation.ADD_REMOVE]
    assert worst <= stated * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 4.0, 8.0, 19.7])
def test_local_epsilon_if_others_count_for_certain_is_categories_own(epsilon):
    """To the last bit, so that a limit of the very number allows it; nothing is drawn again here."""
    asked = statistic("cover", epsilon=epsilon, counted_devices=100, max_weight=3)
    assert asked.parameters.rates[1] == 1
    assert [stated.epsilon for stated in asked.local_guarantees()] == [epsilon, 2 * epsilon]
    RecipeLimits(largest_local_epsilon=2 * epsilon).require_local(asked, whose="this site")
    below = math.nextafter(2 * epsilon, 0)
    with pytest.raises(FieldError, match="local ε of") as refused:
        RecipeLimits(largest_local_epsilon=below).require_local(asked, whose="this site")
    shown = refused.value.message.split("a local ε of ")[1].split(" ")[0].rstrip(",")
    assert float(shown) > below, "the message does not show what it says"


@given(
    epsilon=st.one_of(st.floats(1e-6, 20), st.sampled_from([1e-6, 1.0, 20.0])),
    counted=st.integers(2_000, 10**9),
    share=st.floats(1e-6, 0.5),
)
def test_local_epsilon_of_cover_is_never_below_the_formula_in_60_digits(epsilon, counted, share):
    """And above it by at most a 10¹⁴th."""
    asked = statistic(
        "cover", epsilon=epsilon, devices=10**9, counted_devices=counted, rare_share=share, max_weight=3
    )
    with localcontext() as context:
        context.prec = 60
        e, rate, least = Decimal(epsilon), Decimal(asked.parameters.rates[1]), 1 - Decimal(10) ** -45
        gained = (1 + rate * (e.exp() - 1)).ln()
        lost = -(1 - rate * (1 - (-e).exp())).ln()
        stated = [Decimal(known.epsilon) for known in asked.local_guarantees()]
        for found, exact in zip(stated, (gained, gained + lost), strict=True):
            assert exact * least <= found <= exact * (1 + Decimal(10) ** -14)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("weight", [1, 2, 3])
def test_local_epsilon_of_categories_is_never_below_60_digits(epsilon, weight):
    asked = Categories(
        CategoriesParameters(epsilon=epsilon, delta=1e-6, cohort_size=2, k=3, max_weight=weight)
    )
    with localcontext() as context:
        context.prec = 60
        again = Decimal(WeightLaw(RandomizedResponse(epsilon), 3).heavier(weight))
        exact = Decimal(epsilon) - (1 - again).ln()
        reference, replaced = (known.epsilon for known in asked.local_guarantees())
        assert exact * (1 - Decimal(10) ** -45) <= Decimal(reference) <= exact * (1 + Decimal(10) ** -14)
    assert replaced == 2 * epsilon


def released(asked, values):
    """Pr[(number of reports, sums)], sums of a full cohort only."""
    outcomes = {(0, (0,) * 3): 1.0}
    for value in values:
        following = {}
        for ((count, sums), chance), (bits, likely) in itertools.product(
            outcomes.items(), reports_of(asked, value).items()
        ):
            key = (
                (count, sums) if bits is None else (count + 1, tuple(map(sum, zip(sums, bits, strict=True))))
            )
            following[key] = following.get(key, 0.0) + chance * likely
        outcomes = following
    shown = {}
    for (count, sums), chance in outcomes.items():
        key = (count, sums if count >= asked.parameters.cohort_size else None)
        shown[key] = shown.get(key, 0.0) + chance
    return shown


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize(("max_weight", "epsilon", "counted"), [(3, 0.5, 4), (2, 3.0, 2)])
def test_delta_of_the_release_lies_above_everybodys_values_and_reports(
    participation, max_weight, epsilon, counted
):
    """Of three devices, drawn again where they had too many ones: more than the share that is allowed."""
    asked = statistic(
        participation, epsilon=epsilon, devices=4, counted_devices=counted, max_weight=max_weight
    )
    n = 2 if participation == "cover" else 4
    event = asked.aggregator_event()
    bounds = {at: event.delta(at) for at in (0.0, 0.3, 2.0)}
    for others in itertools.combinations_with_replacement(range(3), n - 1):
        shown = [released(asked, (value, *others)) for value in range(3)]
        for one, other in itertools.permutations(shown, 2):
            for at, bound in bounds.items():
                exact = sum(
                    max(0.0, one.get(key, 0.0) - math.exp(at) * other.get(key, 0.0)) for key in {*one, *other}
                )
                assert exact <= bound * (1 + 1e-9) + 1e-15, (others, at)


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize("max_weight", [1, 2, 3])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_estimate_is_unbiased_whatever_share_is_stated(participation, max_weight, share):
    """From the expected sums of 70, 20 and 10 devices, by every report."""
    asked = statistic(participation, max_weight=max_weight, rare_share=share)
    sums, reports = expected_total(asked, {0: 70, 1: 20, 2: 10})
    assert asked.estimate(sums, reports).values == pytest.approx((70, 20, 10), rel=1e-9)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("participation", ["cover", "relayed"])
def test_intervals_are_the_bounds_of_each_category_with_its_share(participation, k, noisy):
    rates = {"sampling_rate": 0.5} if participation == "cover" else {"devices": 2_000, "counted_devices": 600}
    asked = statistic(participation, k=k, cohort_size=50, rare_share=0.5, **rates)
    if noisy:
        asked = asked.with_noisy_count()
    reports, total, places = 52, [45, 12, 31, 12, 0][:k], asked.places  # a release was not certain
    projection = asked.estimate(total, reports).projection
    for interval in asked.estimate(total, reports).intervals:
        for place, ones in enumerate(total):
            kind = min(place, 1)
            present, rate = places.present[kind], places.rates[kind]
            rule = ReleaseRule(50, asked.reporting_rate, noisy)
            bits = RandomizedBits(reports, places.absent[1], present, rate, 1, rule)
            released = {} if participation == "relayed" else {"released": bits.released}
            low, high = bounds(bits, [ones], bits.most, (1 - interval.level) / k, **released)
            assert interval.low[place] == min(low[0], projection[place])
            assert interval.high[place] == max(high[0], projection[place])


@pytest.mark.parametrize("participation", METHODS)
def test_standard_errors_are_those_of_every_report(participation):
    """The variance of each place's estimate, added up over devices; with ones drawn again 1 in 50 times."""
    asked = statistic(participation, epsilon=3.0, max_weight=2)
    truth, variance = {0: 700, 1: 200, 2: 100}, [0.0] * 3
    for value, devices in truth.items():
        law = reports_of(asked, value)
        worth = {
            bits: (0.0,) * 3 if bits is None else asked.estimate(bits, 1).values for bits in law
        }  # the estimate is linear: what one report adds
        for place in range(3):
            mean = sum(law[bits] * worth[bits][place] for bits in law)
            variance[place] += devices * sum(law[bits] * (worth[bits][place] - mean) ** 2 for bits in law)
    stated = asked.estimate(*expected_total(asked, truth)).standard_errors
    assert stated == pytest.approx([math.sqrt(x) for x in variance], rel=0.03)


@pytest.mark.parametrize("participation", METHODS)
def test_reports_are_drawn_with_the_probabilities_of_the_estimate(participation):
    """9 of 20,000 reports' frequencies within 5.5 standard deviations: missed with 18·2e-8 < 1e-6."""
    asked, source, draws = statistic(participation, max_weight=2), random.Random(7), 20_000
    for value in (0, 1):
        law, seen = reports_of(asked, value), {}
        for _ in range(draws):
            report = asked.randomize(value, source)
            seen[report] = seen.get(report, 0) + 1
        assert seen.keys() <= law.keys()
        for report, chance in law.items():
            deviation = math.sqrt(draws * chance * (1 - chance))
            assert abs(seen.get(report, 0) - draws * chance) <= 5.5 * deviation + 1


@pytest.mark.parametrize("participation", METHODS)
def test_rates_are_those_of_section_3_1(participation):
    made = parameters(participation, devices=1_000_000, counted_devices=10_000, rare_share=0.01)
    assert made.rates == (0.005, 0.5)
    capped = parameters(participation, devices=1_000_000, counted_devices=100_000, rare_share=0.01)
    assert capped.rates == (0.05, {"cover": 1.0, "relayed": LARGEST_SEEN_RATE}[participation])


def test_rate_of_one_as_printed_shows_a_device_by_the_number_of_reports():
    """SAA section 3.1 has min(M/2γN, 1). If all others have another category, all of them send."""
    asked = statistic("relayed", devices=4, counted_devices=2, epsilon=0.5)
    printed = RareCategories(replace(asked.parameters, other_rate=1.0))
    one, other = (released(printed, (value, 1, 1, 1)) for value in (0, 1))
    exact = sum(max(0.0, one.get(key, 0.0) - math.exp(9) * other.get(key, 0.0)) for key in {*one, *other})
    assert exact == pytest.approx(1 - printed.parameters.rates[0])  # whatever ε
    assert printed.aggregator_event().delta(9.0) >= exact
    with field_refused("other_rate"):
        printed.require_promise()


@pytest.mark.parametrize(("field", "changes"), [
    ("counted_devices", {"counted_devices": 101}),
    ("counted_devices", {"devices": 1_000_000, "counted_devices": 1}),
    ("sampling_rate", {"participation": "relayed", "sampling_rate": 0.5}),
    ("participation", {"participation": "open"}),
    ("rare_share", {"rare_share": 0.6}),
    ("rare_share", {"rare_share": 0}),
    ("devices", {"devices": 1}),
    ("k", {"k": 1}),
])  # fmt: skip
def test_parameters_that_cannot_be_are_refused_by_name(field, changes):
    with field_refused(field):
        parameters(**{"participation": "cover", **changes})


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize("name", ["default_rate", "other_rate", "max_weight"])
def test_promise_that_other_derived_numbers_would_break_is_refused_by_name(participation, name):
    made = parameters(participation)
    RareCategories(made).require_promise()
    changed = replace(made, **{name: 1 if name == "max_weight" else 0.9876})
    with field_refused(name):
        RareCategories(changed).require_promise()


def test_guarantee_of_relayed_names_relay_and_token():
    asked = statistic("relayed", cohort_size=50, devices=1_000, counted_devices=200)
    assert "relay" in asked.budget_condition
    assert "token" in asked.budget_condition
    found = [g for g in asked.guarantees() if g.model is not Model.LOCAL]
    assert found
    assert all("relay" in g.assumption and "token" in g.assumption for g in found)
    assert all(g.model is Model.SAMPLED for g in found)
    assert not statistic("cover").budget_condition


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize("epsilon", [1e-6, 20.0])
@pytest.mark.parametrize("k", [2, 1_000])
@pytest.mark.parametrize("share", [1e-6, 0.5])
def test_ends_of_all_ranges_give_a_statistic_with_errors_and_bounds(participation, epsilon, k, share):
    asked = statistic(
        participation, epsilon=epsilon, k=k, rare_share=share, devices=10**9, counted_devices=10**9 // 2
    )
    asked.require_promise()
    (absent, _), (default, other) = asked.places.absent, asked.places.present
    assert 0 < absent < min(default, other) <= 1
    assert math.isfinite(asked.expected_standard_error(1_000))
    assert asked.robustness.each > 0
    assert sum(asked.randomize(1, random.Random(3)) or ()) <= asked.parameters.max_weight


def draft(**changes):
    members = {"name": "Errors", "question": "Which?", "statistic": "rare_categories", "trust": "two_server"}
    asked = {"k": 5, "epsilon": 4, "delta": 1e-6, "cohort_size": 30, "participation": "relayed"}
    rates = {"devices": 400, "counted_devices": 80, "rare_share": 0.1}
    return RecipeDraft.from_mapping({**members, **asked, **rates, **changes})


@pytest.mark.parametrize(("field", "changes"), [
    ("admission", {}),
    ("admission", {"relay": True}),
    ("relay", {"admission": "token"}),
    ("relay", {"admission": "token", "relay": False}),
])  # fmt: skip
def test_recipe_of_relayed_without_token_or_relay_is_refused(field, changes):
    with field_refused(field, match="whether a device sends reveals something"):
        draft(**changes)
    assert draft(admission="token", relay=True).relay
    assert not draft(participation="cover").relay
    with field_refused("trust"):
        draft(participation="cover", trust="single_server")


# What a dishonest device can do --------------------------------------------------


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize(("max_weight", "counted"), [(1, 100), (2, 1), (4, 100)])
def test_every_report_in_place_of_every_other_moves_what_is_stated_at_most(
    participation, max_weight, counted
):
    """All pairs of reports that the servers accept. A one of the default also moves all others where drawing
    again ties the places together. What is stated is reached, so no smaller bound would do."""
    asked = statistic(participation, k=4, epsilon=1.0, max_weight=max_weight, counted_devices=counted)
    accepted = [bits for bits in itertools.product((0, 1), repeat=4) if sum(bits) <= max_weight]
    estimates = [asked.estimate([entry + 9 for entry in bits], 20).values for bits in accepted]
    single, other, together = 0.0, 0.0, 0.0
    for before, after in itertools.product(estimates, repeat=2):
        moves = [new - old for new, old in zip(after, before, strict=True)]
        single, other = max(single, *map(abs, moves)), max(other, *map(abs, moves[1:]))
        together = max(together, sum(map(abs, moves)))
    stated = asked.robustness
    assert single == pytest.approx(stated.each, rel=1e-9)
    assert f"any other category by at most {other:.4g} devices." in stated.sentence
    assert ("gains nothing" in stated.sentence) is (len(accepted) == 2**4)
    assert together == pytest.approx(stated.together, rel=1e-9)


def worst_against_first(asked):
    """(1 + c·(k - 1))·each / first of `robustness`, and the part of a report's ones that rounding may be."""
    (of_default, of_others), (default, other) = asked.places.absent, asked.places.present
    of_one, rest = asked.places.rates
    taken = (default - of_others) + (asked.parameters.k - 1) * (of_default - of_others)
    rounding = 1e-11 * (1 + (asked.parameters.k - 1) * of_others)
    return of_one * taken / (rest * (other - of_others)), rounding / (other - of_others)


@given(
    participation=st.sampled_from(METHODS),
    k=st.integers(2, 300),
    weight=st.integers(1, 300),
    epsilon=st.floats(0.01, 12),
    counted=st.integers(1, 100),
    share=st.floats(1e-6, 0.5),
)
def test_one_of_the_default_adds_as_much_as_its_loss_can(participation, k, weight, epsilon, counted, share):
    """Else a report that drops the default's one for others would be worse than what is stated, and reports
    of devices with the default would have more ones than others."""
    asked = statistic(
        participation,
        k=k,
        epsilon=epsilon,
        max_weight=min(weight, k),
        counted_devices=counted,
        rare_share=share,
    )
    found, rounding = worst_against_first(asked)
    assert found <= 1 + rounding
    (of_default, of_others), rounding = asked.places.absent, 1e-11
    assert of_default >= of_others * (1 - rounding)


# What to expect beforehand --------------------------------------------------------


@pytest.mark.parametrize("participation", METHODS)
@pytest.mark.parametrize("population", [100, 10_000, 1_000_000], ids=["fewer", "as many", "more"])
def test_expected_error_of_the_default_is_that_of_the_expected_sums(participation, population):
    """From an estimate of the expected sums of so many devices, whatever N the rates were computed for."""
    asked = statistic(participation, devices=10_000, counted_devices=2_000, max_weight=3)
    share = asked.parameters.rare_share
    truth = {0: population * (1 - share), 1: population * share}
    stated = asked.estimate(*expected_total(asked, truth)).standard_errors
    assert asked.expected_standard_error(population) == pytest.approx(stated[1], rel=1e-6)
    error = f"{stated[0]:,.0f}" if stated[0] >= 100 else f"{stated[0]:.3g}"
    assert f"The default's standard error is about {error}." in asked.partial_errors.remark(population)


def error_of_categories(epsilon, devices):
    """Of reports by all of so many devices: the root of n·p(1 − p) over the 1 − 2p of SAA Example 2."""
    p = 1 / (math.exp(epsilon) + 1)
    return math.sqrt(devices * p * (1 - p)) / (1 - 2 * p)


@pytest.mark.parametrize(
    ("participation", "counted", "better"),
    [
        ("cover", 200, True),
        ("cover", 1_600, False),
        ("cover", 2_000, True),
        ("relayed", 200, True),
        ("relayed", 1_600, True),
        ("relayed", 2_000, False),
    ],
)
def test_where_categories_would_do_better_both_errors_are_said(participation, counted, better):
    """At the same ε of a report under replacement: of `relayed` once it is sent, 2ε."""
    asked = statistic(
        participation, epsilon=4.0, k=3, devices=10_000, counted_devices=counted, rare_share=0.1, max_weight=3
    )
    replaced = 8.0
    if participation == "cover":
        replaced = max(local_epsilon(reports_of(asked, 1), reports_of(asked, value)) for value in (0, 2))
    plainly, said = error_of_categories(replaced / 2, 10_000), asked.partial_errors.remark(10_000)
    rarely = asked.expected_standard_error(10_000)
    assert (plainly <= rarely * 1.001) is better
    assert ("categories would do better here" in said) is better
    if better:
        assert f"a standard error of {plainly:.3g} in place of " in said
        assert f"ε = {replaced:.3g}, replacement, δ = 0" in said


def test_example_and_form_start_where_the_statistic_gains():
    members = json.loads((Path(__file__).parents[4] / "examples/rare_categories.json").read_text())
    example = RecipeDraft.from_mapping(members).calibrated_statistic()
    assert "would do better" not in example.partial_errors.remark(example.parameters.devices)
    fields = dataclasses.fields(RareCategoriesParameters)
    start = {f.name: f.metadata["description"].suggested for f in fields}
    suggested = {name: value for name, value in start.items() if value is not None}
    for epsilon in (1.0, 4.0):  # of the form, and of the example
        asked = statistic("cover", epsilon=epsilon, **suggested)
        assert "would do better" not in asked.partial_errors.remark(suggested["devices"])


def test_statistics_for_rare_values_are_registered_and_name_no_others():
    named = {statistic.rare_counterpart for statistic in STATISTICS.values()} - {""}
    assert named == {RareCategories.statistic}
    assert not any(STATISTICS[name].rare_counterpart for name in named)
