"""What every shuffle statistic does.

A test module inherits `ShuffleContract` and provides the fixture `statistic`, for at most a hundred users
and five values, or for more users if they send few messages.
"""

import itertools
import json
import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.catalogue import statistic_class
from panprivacy.errors import FieldError
from panprivacy.shuffle import SHUFFLE_STATISTICS
from panprivacy.shuffle.pan_private import FixedDummies, UniformDummies
from panprivacy.shuffle.shuffler import permute
from panprivacy.streams.state import StreamState
from panprivacy.trust import Trust
from panprivacy.trust_models import trusts_of
from tests.panprivacy.bounds.left_out import leave_out_intervals

FAILURE = 1e-7
REPETITIONS = 200


def users_of(statistic):
    """Values of all users: of every value but the last, of some more than of others."""
    k, n = statistic.parameters.k, statistic.cohort_size
    return np.minimum(np.arange(n) % k, k - 2)


def totals(statistic, repetitions, source):
    values = users_of(statistic)
    return [statistic.randomize_all(values, source) for _ in range(repetitions)]


def slow_total(statistic, values, source):
    counts = Counter(message for value in values for message in statistic.randomize(int(value), source))
    return np.array([counts[message] for message in range(statistic.message_values)])


class ShuffleContract:
    def test_registry_looked_up_by_name_gives_the_class(self, statistic):
        assert SHUFFLE_STATISTICS[statistic.statistic] is type(statistic)
        assert statistic_class(statistic.statistic) is type(statistic)
        assert trusts_of(statistic) == (Trust.SHUFFLER,)

    def test_parameters_sent_as_json_come_back_equal(self, statistic):
        parameters = statistic.parameters
        members = json.loads(json.dumps(parameters.as_dict()))
        assert type(parameters).from_mapping(members) == parameters
        assert parameters.calibrated() == parameters

    def test_description_is_complete(self, statistic):
        assert statistic.title
        assert statistic.description
        assert statistic.unit
        assert statistic.scalar == (len(statistic.labels) == 1)
        assert tuple(map(statistic.label, range(len(statistic.labels)))) == statistic.labels

    def test_randomize_sends_as_many_messages_for_every_value(self, statistic):
        # The same randomness for each: so neither their number nor what is drawn depends on the value.
        k = statistic.parameters.k
        for seed in range(20):
            sources = [random.Random(seed) for _ in range(k)]
            numbers = {len(statistic.randomize(value, source)) for value, source in enumerate(sources)}
            assert len(numbers) == 1
            assert statistic.fewest_messages <= numbers.pop() <= statistic.most_messages
            assert len({source.getrandbits(64) for source in sources}) == 1

    def test_randomize_sends_only_messages_that_the_analyzer_takes(self, statistic):
        source = random.Random(3)
        for value in range(statistic.parameters.k):
            for message in statistic.randomize(value, source):
                contribution = statistic.contribution([message])
                assert sum(contribution) == contribution[message] == 1

    @pytest.mark.parametrize("value", [-1, 10**6])
    def test_randomize_of_an_impossible_value_is_refused(self, statistic, value):
        with pytest.raises(ValueError, match="value must lie in"):
            statistic.randomize(value, random.Random(1))

    @pytest.mark.parametrize("text", ["", "-1", "1.5", " 1", "1 000 000", "١", "9" * 5_000, "x"])
    def test_value_of_another_text_is_refused_by_name(self, statistic, text):
        with pytest.raises(FieldError) as refused:
            statistic.value_of(text)
        assert refused.value.field == "value"

    def test_value_of_a_number_below_k_is_that_number(self, statistic):
        k = statistic.parameters.k
        assert [statistic.value_of(str(value)) for value in range(k)] == list(range(k))
        with pytest.raises(FieldError, match=f"from 0 to {k - 1}"):
            statistic.value_of(str(k))

    @pytest.mark.statistical
    def test_randomize_all_is_distributed_as_randomize_of_each(self, statistic):
        # Two-sample Kolmogorov–Smirnov at level FAILURE/4 for four numbers: by the union bound right code
        # fails with probability at most FAILURE (less, as ties make the test conservative).
        source, values = random.Random(statistic.statistic), users_of(statistic)
        slow = np.array([slow_total(statistic, values, source) for _ in range(40)])
        fast = np.array(totals(statistic, 1_000, source))
        for number in (
            lambda total: total[:, 1],
            lambda total: total[:, -1],
            lambda total: total[:, 1] % 2,
            lambda total: total.sum(axis=1),
        ):
            assert ks_2samp(number(slow), number(fast)).pvalue > FAILURE / 4

    def test_analyze_of_shuffled_messages_is_the_estimate_of_their_counts(self, statistic):
        source = random.Random(5)
        sent = [m for value in users_of(statistic) for m in statistic.randomize(int(value), source)]
        total = np.bincount(sent, minlength=statistic.message_values)
        shuffled = permute(np.array(sent, dtype=np.uint8), source)
        assert statistic.analyze(shuffled) == statistic.estimate(total.tolist(), statistic.cohort_size)

    def test_analyze_of_a_number_that_is_no_message_is_refused(self, statistic):
        with pytest.raises(ValueError, match="entries"):
            statistic.analyze(np.array([statistic.message_values]))

    def test_estimate_has_one_entry_per_label_and_plain_details(self, statistic):
        (total,) = totals(statistic, 1, random.Random(6))
        estimate = statistic.estimate(total.tolist(), statistic.cohort_size)
        lengths = {len(estimate.values), len(estimate.standard_errors), len(estimate.projection)}
        assert lengths == {len(statistic.labels)}
        assert json.loads(json.dumps(dict(estimate.details))) == estimate.details
        assert (estimate.confidence is None) == (not estimate.error_bounds)

    @pytest.mark.statistical
    def test_estimate_is_right_on_average(self, statistic, monkeypatch):
        leave_out_intervals(monkeypatch)
        # The mean of 1,000 is within 6 of its own standard errors of the truth: by the normal approximation
        # right code fails with probability 2e-9 per value, of which there are at most five.
        source, n = random.Random(statistic.statistic), statistic.cohort_size
        drawn = totals(statistic, 1_000, source)
        estimates = np.array([statistic.estimate(total.tolist(), n).values for total in drawn])
        truth = np.array(statistic.truth(Counter(users_of(statistic).tolist())))
        errors = estimates.std(axis=0, ddof=1) / np.sqrt(len(drawn))
        assert np.all(np.abs(estimates.mean(axis=0) - truth) <= 6 * errors)

    @pytest.mark.statistical
    def test_estimate_errs_by_more_than_its_bounds_no_oftener_than_stated(self, statistic):
        n, truth = statistic.cohort_size, statistic.truth(Counter(users_of(statistic).tolist()))
        misses = 0
        for total in totals(statistic, REPETITIONS, random.Random(statistic.statistic)):
            estimate = statistic.estimate(total.tolist(), n)
            if estimate.confidence is None:
                return
            misses += any(
                abs(value - true) > bound
                for value, true, bound in zip(estimate.values, truth, estimate.error_bounds, strict=True)
            )
        # Right bounds are missed oftener with probability at most FAILURE.
        assert misses <= binom.isf(FAILURE, REPETITIONS, 1 - estimate.confidence)

    def test_guarantee_falls_as_more_users_break_the_protocol(self, statistic):
        n = statistic.cohort_size
        given = [statistic.privacy_of(honest) for honest in range(n, 0, -max(1, n // 12))]
        for (epsilon, delta, exact), (weaker_epsilon, weaker_delta, _) in itertools.pairwise(given):
            assert exact <= epsilon <= weaker_epsilon
            assert delta <= weaker_delta
        assert given[0][:2] != given[-1][:2]

    def test_guarantees_state_model_relation_and_theorem_for_all_and_half_of_the_users(self, statistic):
        guarantees = statistic.guarantees()
        assert [guarantee.dishonest_fraction for guarantee in guarantees] == [0.0, 0.5]
        for guarantee in guarantees:
            assert guarantee == statistic.guarantee(guarantee.dishonest_fraction)
            assert (guarantee.model, guarantee.relation) == (Model.SHUFFLE, Relation.REPLACE)
            assert guarantee.trust is Trust.SHUFFLER
            assert (
                guarantee.epsilon
                == statistic.privacy_of(round(statistic.cohort_size * (1 - guarantee.dishonest_fraction)))[2]
            )
            assert guarantee.found_epsilon is None
            assert "RSP" in guarantee.source
        assert statistic.local_guarantees() == ()

    def test_budget_is_charged_with_the_stated_guarantee(self, statistic):
        for fraction in (0.0, 0.5):
            event, guarantee = statistic.aggregator_event(fraction), statistic.guarantee(fraction)
            assert event.neighbours is Relation.REPLACE
            assert event.delta(guarantee.epsilon) == guarantee.delta
            if guarantee.delta < 1:
                assert event.epsilon(guarantee.delta) <= guarantee.epsilon

    def test_require_promise_accepts_what_was_calibrated(self, statistic):
        statistic.require_promise()

    @pytest.mark.parametrize("wrapper", [FixedDummies, UniformDummies])
    def test_pan_private_run_keeps_its_state_through_bytes(self, statistic, wrapper):
        algorithm, source = wrapper(statistic), random.Random(9)
        state = algorithm.start(source)
        for element in range(3):
            state = StreamState.from_bytes(state.to_bytes())
            algorithm.process(state, element % statistic.parameters.k, source)
        before = state.to_bytes()
        estimate = algorithm.estimate(state, source)
        assert state.to_bytes() == before
        assert len(estimate.values) == len(statistic.labels)

    def test_pan_private_guarantee_is_that_of_a_third_of_the_users(self, statistic):
        guarantee = FixedDummies(statistic).guarantee()
        third = -(-statistic.cohort_size // 3)
        assert (guarantee.delta, guarantee.epsilon) == statistic.privacy_of(third)[1:]
        assert (guarantee.model, guarantee.relation) == (Model.PAN, Relation.RECORD)
        assert guarantee.intrusions == 1
        assert guarantee.dishonest_fraction == 0
