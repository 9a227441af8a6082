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
from panprivacy.accounting.trust import Trust
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.shuffle import SHUFFLE_STATISTICS
from panprivacy.statistics.trust_models import trusts_of
from tests.panprivacy.statistics.intervals.left_out import leave_out_intervals
from tests.refusals import field_refused

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
    def test_statistic_is_registered_and_describes_itself(self, statistic):
        assert SHUFFLE_STATISTICS[statistic.statistic] is type(statistic)
        assert statistic_class(statistic.statistic) is type(statistic)
        assert trusts_of(statistic) == (Trust.SHUFFLER,)
        assert all((statistic.title, statistic.description, statistic.unit))
        assert statistic.scalar == (len(statistic.labels) == 1)
        assert tuple(map(statistic.label, range(len(statistic.labels)))) == statistic.labels

    def test_parameters_sent_as_json_come_back_equal_and_keep_the_promise(self, statistic):
        parameters = statistic.parameters
        members = json.loads(json.dumps(parameters.as_dict()))
        assert type(parameters).from_mapping(members) == parameters.calibrated() == parameters
        statistic.require_promise()

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

    def test_values_are_the_numbers_below_k_and_nothing_else(self, statistic):
        k = statistic.parameters.k
        assert [statistic.value_of(str(value)) for value in range(k)] == list(range(k))
        for text in (str(k), "", "-1", "1.5", " 1", "1 000 000", "١", "9" * 5_000, "x"):
            with field_refused("value", match=f"from 0 to {k - 1}"):
                statistic.value_of(text)
        for value in (-1, k, 10**6):
            with pytest.raises(ValueError, match="value must lie in"):
                statistic.randomize(value, random.Random(1))

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

    def test_estimate_with_a_number_that_is_no_message_is_refused(self, statistic):
        total = np.bincount([statistic.message_values]).tolist()
        with pytest.raises(ValueError, match="entries"):
            statistic.estimate(total, statistic.cohort_size)

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

    def test_guarantees_state_what_the_budget_is_charged_with(self, statistic):
        assert statistic.guarantees() == tuple(map(statistic.guarantee, (0.0, 0.5)))
        assert statistic.local_guarantees() == ()
        for fraction in (0.0, 0.5):
            event, guarantee = statistic.aggregator_event(fraction), statistic.guarantee(fraction)
            assert (guarantee.model, guarantee.trust) == (Model.SHUFFLE, Trust.SHUFFLER)
            assert guarantee.relation is event.neighbours is Relation.REPLACE
            assert (guarantee.dishonest_fraction, guarantee.found_epsilon) == (fraction, None)
            assert guarantee.epsilon == statistic.privacy_of(round(statistic.cohort_size * (1 - fraction)))[2]
            assert "RSP" in guarantee.source
            assert event.delta(guarantee.epsilon) == guarantee.delta
            if guarantee.delta < 1:
                assert event.epsilon(guarantee.delta) <= guarantee.epsilon
