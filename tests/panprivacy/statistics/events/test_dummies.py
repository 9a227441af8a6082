"""Dummies on devices, in estimates, in guarantees and in recipes."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from panprivacy.accounting import binomial
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.device.algorithm import ClientAlgorithm, Phase
from panprivacy.formats.parameters import Parameters
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.catalogue import statistic_of
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.dummies import Dummies
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.mean import MeanParameters
from panprivacy.statistics.events.one_hot import BUCKET, VECTOR
from panprivacy.statistics.intervals import exact
from panprivacy.statistics.intervals.estimate import LEVELS
from tests.panprivacy.recipe.scene import NOW, one_server
from tests.panprivacy.statistics.events.contract import CountingRandom, decrypted, run
from tests.panprivacy.statistics.events.transparent import TransparentPrivateKey
from tests.refusals import field_refused

RATE, DUMMY_RATE = 0.3, 0.2
DUMMIES = Dummies(epsilon=1.0, delta=1e-6, population_size=2_000, dummy_rate=DUMMY_RATE)
COMMON: dict[str, Any] = {"steps": 4, "delta": 1e-6, "cohort_size": 5, "sampling_rate": RATE}
FILE = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 4,
    "epsilon": 1.0,
    "delta": 1e-6,
    "cohort_size": 100,
    "sampling_rate": 0.1,
    "population_size": 10_000,
    "hidden_count": {"epsilon": 1.0, "delta": 1e-6},
}
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def counting(epsilon: float = 3.0) -> CountNonzero:
    return CountNonzero(Parameters(epsilon=epsilon, **COMMON)).with_dummies(DUMMIES)


def histogram(epsilon: float = 3.0, coin: str = BUCKET) -> Histogram:
    return Histogram(HistogramParameters(epsilon=epsilon, k=2, coin=coin, **COMMON)).with_dummies(DUMMIES)


class FirstCoin(random.Random):
    """Whose first 64 bits are given."""

    first: int | None = None

    def getrandbits(self, k: int, /) -> int:
        if self.first is not None and k == 64:
            first, self.first = self.first, None
            return first
        return super().getrandbits(k)


@pytest.mark.parametrize("mechanism", [counting(20.0), histogram(20.0), histogram(10.0, VECTOR)])
def test_dummy_is_a_report_of_zeros_and_draws_as_much_as_every_other(mechanism):
    key = TransparentPrivateKey()
    share = RATE / (RATE + (1 - RATE) * DUMMY_RATE)
    last_that_counts = int(2**64 * share) - 1
    drawn = []
    for coin, ones in ((last_that_counts, 1), (last_that_counts + 1, 0)):
        for made_from_state in (True, False):
            source = FirstCoin(5)
            state = run(mechanism, key.public_key, (1, 0, 1, 1), random.Random(6))
            source.first = coin
            # At ε = 20 a coin of the randomizer falls with 2e-9.
            if made_from_state:
                report = mechanism.report(key.public_key, state, source)
            else:
                report = mechanism.report_of_count(key.public_key, 3, source)
            values = decrypted(key, report)
            # With one coin, dummies have a cell of their own.
            assert sum(values[: len(mechanism.labels)]) == ones
            assert values[len(mechanism.labels) :] in ([], [1 - ones])
            assert {ciphertext.history[0] for ciphertext in report} == {5}  # as often as every other
        counter = CountingRandom(7)
        mechanism.report(key.public_key, state, counter)
        drawn.append(counter.calls)
    assert drawn[0] == drawn[1]


def test_without_dummies_no_coin_is_tossed_for_them():
    key, with_coin, without = TransparentPrivateKey(), CountingRandom(1), CountingRandom(1)
    counting().report_of_count(key.public_key, 1, with_coin)
    CountNonzero(Parameters(epsilon=3.0, **COMMON)).report_of_count(key.public_key, 1, without)
    assert len(with_coin.calls) == len(without.calls) + 1


@pytest.mark.parametrize("bit", [0, 1])
@pytest.mark.parametrize("mechanism", [counting(), histogram()])
def test_expectation_of_what_a_device_adds_is_its_bit_exactly(mechanism, bit):
    """By enumeration: unbiased whatever the rates are. Without the zeros of dummies it would not be."""
    flip = 1 / (math.exp(3) + 1)
    real = RATE / mechanism.reporting_rate
    one = real * (bit * (1 - flip) + (1 - bit) * flip) + (1 - real) * flip
    expected = 0.0
    for first, chance in ((1, one), (0, 1 - one)):
        total = [first] + [0] * (mechanism.contribution_length - 1)
        expected += mechanism.reporting_rate * chance * mechanism.estimate(total, 1).values[0]
    assert expected == pytest.approx(bit, abs=1e-12)
    few = mechanism.estimate([5] * mechanism.contribution_length, 10)
    assert few.projection[0] <= 10 / mechanism.reporting_rate


def test_interval_with_dummies_holds_as_often_as_it_says(monkeypatch):
    """More misses have probability below 1e-6 if each collection misses with 5% at most."""
    collections, most = 100, 18
    assert binomial.upper_tail(most + 1, collections, 0.05, 0.95) < 1e-6
    monkeypatch.setattr(exact, "LEVELS", LEVELS[:1])
    mechanism, source, flip = counting(1.0), random.Random(20), 1 / (math.e + 1)
    having, devices, misses = 40, 150, 0
    for _ in range(collections):
        taking_part = sum(source.random() < RATE for _ in range(having))
        reports = taking_part + sum(source.random() < RATE for _ in range(devices - having))
        reports += sum(source.random() < DUMMY_RATE for _ in range(devices - reports))
        ones = sum(source.random() < 1 - flip for _ in range(taking_part))
        ones += sum(source.random() < flip for _ in range(reports - taking_part))
        interval = mechanism.estimate((ones,), reports).intervals[0]
        misses += not interval.low[0] <= having <= interval.high[0]
    assert misses <= most


def test_statistic_whose_answer_dummies_would_change_takes_none():
    parameters = MeanParameters(epsilon=1.0, k=2, guarantee="local", **COMMON)
    with field_refused("hidden_count", "would change its answer"):
        statistic_of("mean", parameters, dummies=DUMMIES)


def test_guarantees_name_the_number_of_reports_for_dishonest_halves_too():
    statistic = RecipeDraft.from_mapping(FILE).calibrated_statistic()
    honest, half = [g for g in statistic.open_guarantees() if g.model is Model.COUNT]
    assert {honest.relation, half.relation} == {Relation.PARTICIPATION}
    assert (honest.dishonest_fraction, half.dishonest_fraction) == (0.0, 0.5)
    assert honest.epsilon == pytest.approx(1.0, rel=1e-6)
    assert half.epsilon > 1.5
    assert honest.delta == 1e-6
    assert "5,000 devices" in half.assumption
    without = RecipeDraft.from_mapping({**FILE, "hidden_count": None}).calibrated_statistic()
    assert all(g.model is not Model.COUNT for g in without.open_guarantees())
    # What is said of answers is the same: a dummy is noise more.
    assert statistic.local_guarantees() == without.local_guarantees()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"population_size": None}, "population_size"),
        ({"population_size": 20}, "population_size"),
        ({"sampling_rate": 1}, "hidden_count"),
        ({"hidden_count": 1}, "hidden_count"),
        ({"hidden_count": {"epsilon": 1}}, "hidden_count"),
        ({"hidden_count": {**TARGET, "rate": 0.1}}, "hidden_count"),
        ({"hidden_count": {**TARGET, "epsilon": 0}}, "hidden_count.epsilon"),
        ({"hidden_count": {**TARGET, "epsilon": "1"}}, "hidden_count.epsilon"),
        ({"hidden_count": {**TARGET, "delta": 1}}, "hidden_count.delta"),
        ({"segments": ["a", "b"]}, "hidden_count"),
        ({"statistic": "mean", "k": 5, "guarantee": "local"}, "hidden_count"),
    ],
)
def test_file_in_which_a_hidden_number_cannot_work_names_the_field(changes, field):
    with field_refused(field):
        _ = RecipeDraft.from_mapping({**FILE, **changes}).dummies


def published(**changes: Any) -> PublishedRecipe:
    return RecipeDraft.from_mapping({**FILE, **changes}).publish(one_server(), NOW)


def test_document_states_the_rate_and_comes_back_equal():
    draft = RecipeDraft.from_mapping(FILE)
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft
    recipe = published()
    stated = recipe.document["hidden_count"]
    assert stated == {**TARGET, "population_size": 10_000, "dummy_rate": stated["dummy_rate"]}
    again = PublishedRecipe.from_document(recipe.document)
    assert again == recipe
    again.calibrated_statistic.require_promise()
    assert again.calibrated_statistic.reporting_rate == 0.1 + 0.9 * stated["dummy_rate"]
    assert "hidden_count" not in published(hidden_count=None).document


def test_document_whose_rate_breaks_its_promise_is_refused_by_devices():
    recipe = published()
    too_low = replace(recipe.dummies, dummy_rate=recipe.dummies.dummy_rate * 0.9)
    with field_refused("hidden_count"):
        recipe.having(hidden_count=too_low).calibrated_statistic.require_promise()


def test_device_tosses_one_coin_for_reports_and_dummies():
    algorithm = ClientAlgorithm(published())
    rate = algorithm.mechanism.reporting_rate

    class Coin(random.Random):
        def random(self) -> float:
            return self.value

    for value, phase in ((rate * 0.999, Phase.COLLECTING), (rate * 1.001, Phase.NOT_SAMPLED)):
        source = Coin(1)
        source.value = value
        assert algorithm.start(source).phase is phase
