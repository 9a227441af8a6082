"""What rounds cost together is composed exactly; what donation time is worth is bounded by what is proved."""

import math

import pytest

from panprivacy.accounting.guarantees import Model
from panprivacy.accounting.interface import LARGEST_EPSILON
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.sampling import Sampling
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.privacy import (
    donation_amplified,
    donation_closed_form,
    rounds_condition,
    rounds_guarantees,
)
from panprivacy.recipe.series import repetition_of
from tests.factories import event_until, recipe_members

MEMBERS = {"steps": 1, "step_seconds": 1, "epsilon": 1.0, "cohort_size": 20, "round_seconds": 60}


def draft(**changes):
    return repetition_of(recipe_members(**(MEMBERS | changes)))


def test_sampled_rounds_cost_more_than_one_and_less_than_their_sum():
    rounds = draft(rounds=10, sampling_rate=0.2)
    one, all_ = event_until(rounds, 1).epsilon(1e-6), event_until(rounds, 10).epsilon(1e-6)
    assert one < all_ < 10 * one
    all_devices = event_until(draft(rounds=10), 10)
    assert all_ < all_devices.epsilon(1e-6)
    assert event_until(rounds, 10, 0.5).epsilon(1e-6) > all_, "half of the devices collude"
    assert rounds_condition(rounds.statistic, once=False)
    assert rounds_condition(draft(rounds=10).statistic, once=False) == ""


def test_rounds_whose_values_decide_who_sends_rely_on_the_relay():
    rounds = draft(
        statistic="rare_categories",
        trust="two_server",
        steps=None,
        step_seconds=None,
        cohort_size=2,
        k=3,
        participation="relayed",
        devices=20,
        counted_devices=8,
        rare_share=0.2,
        admission="token",
        relay=True,
        rounds=2,
    )
    assert rounds_condition(rounds.statistic, once=False) == rounds.statistic.budget_condition != ""
    document = PublishedRounds.of(rounds, series="0" * 16)
    (stated,) = (
        one["epsilon"]
        for one in document.privacy
        if (one["model"], one["dishonest_fraction"]) == ("sampled", 0.0)
    )
    assert stated == event_until(rounds, 2).epsilon(1e-6)
    document.require_promise()


def test_budget_is_charged_with_what_is_stated_of_all_rounds():
    rounds = draft(rounds=4, sampling_rate=0.2)
    stated = {
        (one.model, one.dishonest_fraction): one.epsilon
        for one in rounds_guarantees(rounds.statistic, 4, once=False)
        if one.relation.value == "replace"
    }
    for fraction in (0.0, 0.5):
        charged = event_until(rounds, 4, fraction).epsilon(1e-6)
        assert stated[Model.SAMPLED, fraction] == charged
        assert stated[Model.AGGREGATOR, fraction] > charged
    assert stated[Model.LOCAL, 0.0] == 4.0  # pure losses of four reports


def test_donation_costs_one_round_however_many_there_are():
    for rounds in (2, 100, 10_000):
        found = draft(donation_rounds=rounds)
        assert found.recipe.parameters.sampling_rate == 1 / rounds
        assert event_until(found, found.rounds) == found.statistic.aggregator_event()
        assert rounds_condition(found.statistic, once=True) == ""


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.long)])
def test_closed_form_of_appendix_a_lies_above_the_numerical_composition(rounds):
    """It composes all rounds, although a device gives in one: one round is proved to cost less."""
    found = draft(donation_rounds=rounds)
    amplified = donation_amplified(found.statistic, rounds)
    assert amplified.epsilon < amplified.printed_epsilon
    assert amplified.printed_delta == (rounds + 1) * 1e-6
    assert event_until(found, found.rounds).epsilon(1e-6) < amplified.printed_epsilon


def test_closed_form_is_the_printed_one():
    one = math.log(1 + (math.exp(0.5) - 1) / 8)
    printed = one * math.sqrt(2 * math.log(1e6) * 8) + 8 * one**2 / 2
    assert donation_closed_form(0.5, 1e-6, 8) == pytest.approx(printed, rel=1e-12)


def test_number_of_reports_tells_more_than_appendix_a_proves():
    """Appendix A bounds a device that gives once by one that may give in each round.

    With two rounds, two devices and a coin of 1/2, let the first round reveal the protected device's bit
    exactly where it took part. The released numbers of reports are not distributed as those of independent
    rounds: after one report in round 1 and two in round 2, it was certainly the other one's.
    """
    # Probability of (count in round 1, count in round 2) for two devices; the first gives once at most.
    once: dict[tuple[int, int], float] = {}
    independent: dict[tuple[int, int], float] = {}
    for mine in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for other in ((0, 0), (0, 1), (1, 0), (1, 1)):
            counts = (mine[0] + other[0], mine[1] + other[1])
            independent[counts] = independent.get(counts, 0) + 1 / 16
            first_only = (mine[0], mine[1] if not mine[0] else 0)
            given = (first_only[0] + other[0], first_only[1] + other[1])
            once[given] = once.get(given, 0) + 1 / 16
    assert independent[2, 2] == 1 / 16
    assert (2, 2) not in once


@pytest.mark.parametrize("rate", [1e-6, 0.5])
def test_curve_of_a_sampled_histogram_is_known_at_the_largest_epsilon(rate):
    """Composition asks what a release needs of δ at any ε; sampled, that was beyond what a curve takes."""
    event = Sampling(event=OneHotSum(n=1, k=4, epsilon0=1.0), n=10, sampling_rate=rate)
    assert event.delta_bound(LARGEST_EPSILON) == 0
