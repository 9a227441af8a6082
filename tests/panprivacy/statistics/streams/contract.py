"""What every stream algorithm does, whatever it counts.

A test module inherits `StreamContract` and provides

- the fixture `statistic`: of a size that takes tenths of a second, with `announced_intrusions` ≥ 1, and with
  a place in the state for every item of its universe, the numbers from 0;
- the fixture `tiny`: the same with at most a handful of places, for comparisons of distributions;
- `stream(statistic)`: a stream for it, as an array of cells in their order;
- `guaranteed(statistic, announced)`: (ε, δ) by a formula of the test's own.

It overrides `run_of` where cells are not the items themselves.

Every statistical test states its failure probability: at most FAILURE for each statistic.
"""

import math
import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.streams import STREAM_STATISTICS
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.trust_models import trusts_of

FAILURE = 1e-7
RUNS = 300
"""Of them one probability that differs by 0.24 at one half is noticed half of the time."""
REPETITIONS = 40
EMPTY = np.empty(0, dtype=np.int64)


def counts_of(cells):
    """Item → how often it appears, as `truth` takes it."""
    return dict(Counter(cells.tolist()))


def require_same_distribution(first, second):
    """Fisher's exact test, two-sided, of "the entry is at most v", for every entry and value.

    Args:
        first, second: one row for each run, one column for each entry. Rows are independent. If both have
            the same distribution, this fails with probability at most FAILURE (union bound).
    """
    comparisons = [
        (int((first[:, entry] <= value).sum()), int((second[:, entry] <= value).sum()))
        for entry in range(first.shape[1])
        for value in np.unique(np.concatenate([first[:, entry], second[:, entry]]))[:-1]
    ]
    for one, other in comparisons:
        runs = len(first), len(second)
        below = hypergeom.cdf(one, sum(runs), one + other, runs[0])
        above = hypergeom.sf(one - 1, sum(runs), one + other, runs[0])
        assert 2 * min(below, above) > FAILURE / len(comparisons)


def entries(state):
    """The state as one row of integers: every entry, and sums of neighbours, which betray dependence."""
    flat = np.concatenate([np.asarray(array, dtype=np.int64).ravel() for array in state.arrays.values()])
    return np.concatenate([flat, flat[:-1] + flat[1:]])


class StreamContract:
    @pytest.fixture
    def source(self) -> random.Random:
        return random.Random(20260)

    def stream(self, statistic):
        raise NotImplementedError

    def guaranteed(self, statistic, announced):
        raise NotImplementedError

    def run_of(self, statistic, run):
        """The cells of one of several independent runs, and the truth: by default the same in all."""
        cells = self.stream(statistic)
        return cells, statistic.truth(counts_of(cells))

    def test_statistic_is_registered_and_describes_itself(self, statistic):
        assert STREAM_STATISTICS[statistic.statistic] is STATISTICS[statistic.statistic] is type(statistic)
        assert type(statistic.parameters).from_mapping(statistic.parameters.as_dict()) == statistic.parameters
        assert statistic.title[0].isupper()
        assert statistic.description.endswith(".")
        assert statistic.unit
        assert tuple(map(statistic.label, range(len(statistic.labels)))) == statistic.labels
        assert trusts_of(statistic) == (Trust.CURATOR,)
        assert (statistic.counts_devices, statistic.cohort_size) == (False, 0)
        assert statistic.local_guarantees() == ()

    def test_state_is_integer_arrays_of_one_length_and_nothing_else(self, statistic, source):
        state, cells = statistic.start(source), self.stream(statistic)
        length = len(state.to_bytes())
        for _ in range(3):
            statistic.process_batch(state, cells, source)
            assert len(state.to_bytes()) == length
        assert vars(state).keys() == {"statistic", "announced_intrusions", "arrays"}
        assert (state.statistic, state.announced_intrusions) == (statistic.statistic, 0)
        assert {array.dtype.kind for array in state.arrays.values()} <= {"i", "u"}

    def test_state_read_back_from_bytes_goes_on_as_if_nothing_had_been(self, statistic):
        cells = self.stream(statistic)
        half = len(cells) // 2
        results = []
        for carried in (lambda state: state, lambda state: StreamState.from_bytes(state.to_bytes())):
            source = random.Random(1)
            state = statistic.start(source)
            statistic.process_batch(state, cells[:half], source)
            statistic.announce_intrusion(state, source)
            state = carried(state)
            statistic.process_batch(state, cells[half:], source)
            results.append((state.to_bytes(), statistic.estimate(state, source)))
        assert results[0] == results[1]

    def test_runs_with_one_seed_are_equal_and_with_another_are_not(self, statistic):
        cells = self.stream(statistic)
        states = []
        for seed in (5, 5, 6):
            source = random.Random(seed)
            state = statistic.start(source)
            statistic.process_batch(state, cells, source)
            states.append((state.to_bytes(), statistic.estimate(state, source)))
        assert states[0] == states[1]
        assert states[0][0] != states[2][0]

    def test_runs_with_the_randomness_of_the_system_work_as_with_a_seed(self, tiny):
        source = random.SystemRandom()
        state = tiny.start(source)
        tiny.process_batch(state, self.stream(tiny), source)
        tiny.process(state, int(self.stream(tiny)[0]), source)
        tiny.announce_intrusion(state, source)
        assert len(tiny.estimate(state, source).values) == len(tiny.labels)

    def test_empty_batch_and_estimate_leave_the_state_as_it_is(self, statistic, source):
        state, cells = statistic.start(source), self.stream(statistic)
        cells.flags.writeable = False
        statistic.process_batch(state, cells, source)
        before = state.to_bytes()
        statistic.process_batch(state, EMPTY, source)
        statistic.estimate(state, source)
        assert state.to_bytes() == before

    def states_after(self, statistic, processed):
        """One row for each of RUNS independent states."""
        source = random.Random(f"{statistic.statistic} {processed.__name__}")
        rows = []
        for _ in range(RUNS):
            state = statistic.start(source)
            processed(state, source)
            rows.append(entries(state))
        return np.array(rows)

    @pytest.mark.statistical
    def test_batch_is_distributed_as_its_items_one_by_one(self, tiny):
        # Each comparison fails for a right algorithm with at most FAILURE.
        cells = self.stream(tiny)

        def one_by_one(state, source):
            for cell in cells.tolist():
                tiny.process(state, cell, source)

        def at_once(state, source):
            tiny.process_batch(state, cells, source)

        def in_parts_and_another_order(state, source):
            shuffled = cells.tolist()
            source.shuffle(shuffled)
            third = len(cells) // 3
            for part in (shuffled[:third], shuffled[third : third + 1], shuffled[third + 1 :]):
                tiny.process_batch(state, np.array(part, dtype=np.int64), source)

        expected = self.states_after(tiny, one_by_one)
        require_same_distribution(expected, self.states_after(tiny, at_once))
        require_same_distribution(expected, self.states_after(tiny, in_parts_and_another_order))

    @pytest.mark.statistical
    def test_batch_after_an_announced_intrusion_is_distributed_as_its_items(self, tiny):
        cells = self.stream(tiny)
        half = len(cells) // 2

        def one_by_one(state, source):
            for cell in cells[:half].tolist():
                tiny.process(state, cell, source)
            tiny.announce_intrusion(state, source)
            for cell in cells[half:].tolist():
                tiny.process(state, cell, source)

        def at_once(state, source):
            tiny.process_batch(state, cells[:half], source)
            tiny.announce_intrusion(state, source)
            tiny.process_batch(state, cells[half:], source)

        require_same_distribution(self.states_after(tiny, one_by_one), self.states_after(tiny, at_once))

    def test_intrusions_announced_are_counted_and_more_than_allowed_refused(self, statistic, source):
        state = statistic.start(source)
        allowed = statistic.parameters.announced_intrusions
        assert allowed >= 1
        for announced in range(1, allowed + 1):
            before = state.to_bytes()
            statistic.announce_intrusion(state, source)
            assert state.announced_intrusions == announced
            assert state.to_bytes() != before
        before = state.to_bytes()
        with pytest.raises(ValueError, match="intrusion"):
            statistic.announce_intrusion(state, source)
        assert state.to_bytes() == before

    def test_estimate_reads_the_cells_through_its_noisy_counts_only(self, statistic, source, monkeypatch):
        state = statistic.start(source)
        noisy = statistic.noisy_counts(state, source)
        monkeypatch.setattr(statistic, "noisy_counts", lambda *_: noisy)
        before = statistic.estimate(state, source)
        statistic.process_batch(state, self.stream(statistic), source)
        assert statistic.estimate(state, source) == before

    @pytest.mark.statistical
    def test_estimates_of_one_state_differ_by_noise_of_its_own_in_every_count(self, statistic, source):
        # No value of any noise is likelier than 1/4 (tanh(1/4) at ε = 1/2). So two draws differ with
        # probability 3/4 at least, and 17 of one count, or the differences of two counts, are all equal
        # with probability 4⁻¹⁶ at most: one of so many is with at most FAILURE.
        state = statistic.start(source)
        statistic.process_batch(state, self.stream(statistic), source)
        drawn = np.array([statistic.noisy_counts(state, source) for _ in range(17)])
        counts = drawn.shape[1]
        assert (counts + math.comb(counts, 2) + 1) / 4**16 <= FAILURE
        noise = drawn - drawn[0]
        assert noise.any(axis=0).all()
        assert np.unique(noise, axis=1).shape[1] == counts
        assert len({statistic.estimate(state, source).values for _ in range(17)}) > 1

    @pytest.mark.parametrize("announced", [0, 1])
    def test_estimate_states_one_bound_for_each_value(self, statistic, source, announced):
        state = statistic.start(source)
        statistic.process_batch(state, self.stream(statistic), source)
        for _ in range(announced):
            statistic.announce_intrusion(state, source)
        estimate = statistic.estimate(state, source, 0.9)
        values = len(statistic.labels)
        assert statistic.scalar == (values == 1)
        assert len(statistic.truth({})) == values
        assert len(estimate.values) == len(estimate.projection) == len(estimate.error_bounds) == values
        assert len(estimate.standard_errors) in (0, values)
        assert estimate.standard_error_note
        assert estimate.confidence == 0.9
        assert all(math.isfinite(number) for number in (*estimate.values, *estimate.projection))
        assert all(0 < bound < math.inf for bound in estimate.error_bounds)
        assert all(0 < error < math.inf for error in estimate.standard_errors)

    def test_error_bounds_grow_with_the_confidence(self, statistic):
        bounds = []
        state = statistic.start(random.Random(1))
        statistic.process_batch(state, self.stream(statistic), random.Random(2))
        for confidence in (0.5, 0.95, 0.999):
            estimate = statistic.estimate(state, random.Random(3), confidence)
            bounds.append(max(estimate.error_bounds))
        assert bounds[0] < bounds[1] < bounds[2]
        expected = [statistic.expected_error_bound(confidence) for confidence in (0.5, 0.95, 0.999)]
        assert expected[0] < expected[1] < expected[2]

    @pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, math.nan])
    def test_confidence_that_is_no_probability_is_refused(self, statistic, source, confidence):
        state = statistic.start(source)
        with pytest.raises(ValueError, match="confidence"):
            statistic.estimate(state, source, confidence)
        with pytest.raises(ValueError, match="confidence"):
            statistic.expected_error_bound(confidence)

    def test_expected_error_bound_covers_that_of_an_estimate(self, statistic, source):
        for cells in (EMPTY, self.stream(statistic)):
            state = statistic.start(source)
            statistic.process_batch(state, cells, source)
            bounds = statistic.estimate(state, source).error_bounds
            assert max(bounds) <= statistic.expected_error_bound() * (1 + 1e-9)

    @pytest.mark.statistical
    @pytest.mark.parametrize("announced", [1, pytest.param(0, marks=pytest.mark.long)])
    def test_estimates_lie_within_their_bounds_as_often_as_stated(self, statistic, announced):
        # Misses of independent runs are at most Bin(REPETITIONS, 1 − confidence): more than the quantile
        # come with probability at most FAILURE.
        confidence, misses = 0.95, 0
        for run in range(REPETITIONS):
            cells, truth = self.run_of(statistic, run)
            half = len(cells) // 2
            source = random.Random(f"{run} {confidence} {announced}")
            state = statistic.start(source)
            statistic.process_batch(state, cells[:half], source)
            for _ in range(announced):
                statistic.announce_intrusion(state, source)
            statistic.process_batch(state, cells[half:], source)
            estimate = statistic.estimate(state, source, confidence)
            # No bound is stated where more must have come than may come, which is wrong here.
            misses += not estimate.error_bounds or any(
                abs(value - true) > bound
                for value, true, bound in zip(estimate.values, truth, estimate.error_bounds, strict=True)
            )
        allowed = int(binom.isf(FAILURE, REPETITIONS, 1 - confidence))
        assert allowed < REPETITIONS
        assert misses <= allowed

    def test_guarantee_after_announced_intrusions_is_that_of_the_formula(self, statistic):
        found = []
        for announced in range(statistic.parameters.announced_intrusions + 1):
            guarantee = statistic.guarantee(announced)
            assert (guarantee.model, guarantee.trust) == (Model.PAN, Trust.CURATOR)
            assert guarantee.relation in (Relation.USER, Relation.RECORD)
            assert (guarantee.intrusions, guarantee.announced_intrusions) == (1, announced)
            assert guarantee.source
            assert (guarantee.epsilon, guarantee.delta) == pytest.approx(
                self.guaranteed(statistic, announced), rel=1e-9
            )
            found.append((guarantee.epsilon, guarantee.delta))
        assert found == sorted(found)
        assert all(epsilon > 0 for epsilon, _ in found)

    def test_guarantees_and_budget_are_of_all_intrusions_allowed_and_no_more(self, statistic):
        allowed = statistic.parameters.announced_intrusions
        guarantee, guarantees = statistic.guarantee(allowed), statistic.guarantees()
        assert guarantee in guarantees
        assert {each.model for each in guarantees} == {Model.PAN}
        assert len(set(guarantees)) == len(guarantees)
        for announced in (-1, allowed + 1):
            with pytest.raises(ValueError, match="intrusion"):
                statistic.guarantee(announced)
        event = statistic.aggregator_event()
        assert event.proved
        assert event.neighbours == Relation.REPLACE
        assert event.epsilon(max(guarantee.delta, 1e-12)) == pytest.approx(guarantee.epsilon, rel=1e-9)

        statistic.require_promise()

    def test_epsilon_beyond_a_half_is_refused(self, statistic):
        members = statistic.parameters.as_dict() | {"epsilon": 0.6}
        with pytest.raises(FieldError, match="epsilon"):
            type(statistic.parameters).from_mapping(members)
