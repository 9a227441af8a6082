"""What every mechanism does, whatever its statistic and whatever the encryption scheme.

A test module inherits `MechanismContract` and provides the fixture `mechanism` (with T ≥ 4 steps). With a key
of a real scheme as `private_key` it inherits `CiphertextContract`: numbers do not depend on the scheme.
`HistoryContract` needs the transparent scheme.
"""

import random
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.encryption.interface import PrivateKey
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.events.interface import Mechanism, State
from panprivacy.statistics.interface import InvalidReportError
from tests.panprivacy.statistics.events.transparent import (
    FreshTransparentPublicKey,
    TransparentPrivateKey,
    TransparentPublicKey,
)

STREAMS = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 0), (1, 1, 1, 1)]
"""Streams of four steps with every count, events early and late."""


class CountingRandom(random.Random):
    """Notes how many bits each call draws."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.calls: list[int] = []

    def getrandbits(self, k: int, /) -> int:
        self.calls.append(k)
        return super().getrandbits(k)


def decrypted(private_key: PrivateKey, state: State) -> list[int]:
    return [private_key.decrypt(c, range(-(2**10), 2**10)) for c in state]


def run(mechanism: Mechanism[Any], public_key: Any, stream: tuple[int, ...], source: random.Random) -> State:
    state = mechanism.start(public_key, source)
    for step, event in enumerate(stream, start=1):
        state = mechanism.step(public_key, state, bool(event), step, source)
    return state


def full(mechanism: Mechanism[Any], stream: tuple[int, ...]) -> tuple[int, ...]:
    """The stream, filled up with steps without events to the mechanism's T."""
    return stream + (0,) * (mechanism.parameters.steps - len(stream))


class CiphertextContract:
    """What a mechanism does with states and reports, whatever they are encrypted with."""

    @pytest.fixture
    def private_key(self) -> PrivateKey:
        return TransparentPrivateKey()

    @pytest.fixture
    def source(self) -> random.Random:
        return random.Random(20250)

    @pytest.mark.parametrize("event", [False, True])
    def test_step_with_or_without_event_changes_every_ciphertext(self, mechanism, private_key, source, event):
        before = mechanism.start(private_key.public_key, source)
        after = mechanism.step(private_key.public_key, before, event, 1, source)
        assert len(after) == len(before) == mechanism.state_ciphertexts
        assert not {bytes(c) for c in before} & {bytes(c) for c in after}
        assert len({bytes(c) for c in after}) == len(after)

    def test_step_with_event_draws_as_many_random_bits_as_without(self, mechanism, private_key):
        public_key = private_key.public_key
        for step in (1, 2, mechanism.parameters.steps):
            drawn = []
            for event in (False, True):
                counting = CountingRandom(20250)
                state = mechanism.state_of_count(public_key, 0, step - 1, random.Random(step))
                mechanism.step(public_key, state, event, step, counting)
                drawn.append(counting.calls)
            assert drawn[0] == drawn[1]
            assert drawn[0]

    @pytest.mark.parametrize("stream", [(), *STREAMS])
    def test_steps_of_a_stream_lead_to_the_state_of_its_count(self, mechanism, private_key, source, stream):
        eager = run(mechanism, private_key.public_key, stream, source)
        lazy = mechanism.state_of_count(private_key.public_key, sum(stream), len(stream), source)
        assert decrypted(private_key, eager) == decrypted(private_key, lazy)

    @pytest.mark.parametrize("stream", STREAMS)
    def test_report_eager_or_lazy_is_accepted_by_the_server(self, mechanism, private_key, source, stream):
        public_key = private_key.public_key
        state = run(mechanism, public_key, full(mechanism, stream), source)
        for report in (
            mechanism.report(public_key, state, source),
            mechanism.report_of_count(public_key, sum(stream), source),
        ):
            assert len(report) == mechanism.report_ciphertexts
            assert not {bytes(c) for c in report} & {bytes(c) for c in state}
            received = [public_key.parse(bytes(c)) for c in report]
            values = [private_key.decrypt(c, mechanism.allowed_values) for c in received]
            assert len(mechanism.contribution(values)) == mechanism.contribution_length

    def test_state_of_another_shape_is_refused(self, mechanism, private_key, source):
        public_key = private_key.public_key
        state = (*mechanism.start(public_key, source), public_key.encrypt(0, source))
        with pytest.raises(ValueError, match=r"ciphertexts|unpack"):
            mechanism.step(public_key, state, False, 1, source)
        with pytest.raises(ValueError, match=r"ciphertexts|unpack"):
            mechanism.report(public_key, state, source)

    def test_impossible_step_or_count_is_refused(self, mechanism, private_key, source):
        public_key = private_key.public_key
        state = mechanism.start(public_key, source)
        for step in (0, -1, 10**6):
            with pytest.raises(ValueError, match="step must lie in"):
                mechanism.step(public_key, state, True, step, source)
        for count, step in ((-1, 2), (3, 2), (0, 10**6)):
            with pytest.raises(ValueError, match="impossible"):
                mechanism.state_of_count(public_key, count, step, source)
        for count in (-1, 10**6):
            with pytest.raises(ValueError, match="impossible"):
                mechanism.report_of_count(public_key, count, source)


class MechanismContract(CiphertextContract):
    def counted(self, count: int, devices: int) -> dict[Any, int]:
        """So many devices with this count of events, as `truth` takes them."""
        return {count: devices}

    def test_registry_looked_up_by_statistic_gives_the_class(self, mechanism):
        assert MECHANISMS[mechanism.statistic] is type(mechanism)

    def test_parameters_sent_as_a_mapping_come_back_equal(self, mechanism):
        parameters = mechanism.parameters
        assert isinstance(parameters, mechanism.parameters_class)
        assert type(parameters).from_mapping(parameters.as_dict()) == parameters

    def test_contribution_of_impossible_values_is_refused_with_the_reason(self, mechanism):
        allowed, size = mechanism.allowed_values, mechanism.report_ciphertexts
        for last in (allowed[0] - 1, allowed[-1] + 1):
            with pytest.raises(InvalidReportError) as refused:
                mechanism.contribution([allowed[0]] * (size - 1) + [last])
            assert refused.value.reason == "value_out_of_range"
        for wrong_size in (size - 1, size + 1):
            with pytest.raises(InvalidReportError) as refused:
                mechanism.contribution([allowed[0]] * wrong_size)
            assert refused.value.reason == "wrong_length"

    def test_random_values_are_uniform_among_those_of_a_report(self, mechanism, source):
        """Every position takes its first and its last allowed half: 60 draws miss one with 2^−60."""
        draws = [mechanism.random_values(source) for _ in range(60)]
        allowed = mechanism.allowed_values
        middle = allowed[len(allowed) // 2]
        for values in draws:
            assert len(mechanism.contribution(values)) == mechanism.contribution_length
        for position in zip(*draws, strict=True):
            assert {value < middle for value in position} == {False, True}

    def test_estimate_has_one_entry_per_label(self, mechanism):
        estimate = mechanism.estimate([0] * mechanism.contribution_length, 100)
        lengths = {
            len(entries)
            for entries in (
                estimate.values, estimate.standard_errors, estimate.projection, mechanism.labels,
                mechanism.truth(self.counted(0, 1)),
            )
        }  # fmt: skip
        assert len(lengths) == 1
        assert mechanism.scalar == (lengths == {1})
        assert len(set(mechanism.labels)) == len(mechanism.labels)
        assert tuple(map(mechanism.label, range(len(mechanism.labels)))) == mechanism.labels
        assert all(error > 0 for error in estimate.standard_errors)
        assert estimate.standard_error_note

    def test_interval_at_a_stated_level_is_the_stated_one(self, mechanism):
        reports = mechanism.cohort_size + 21
        total = [reports // 3] * mechanism.contribution_length
        estimate = mechanism.estimate(total, reports)
        for stated in estimate.intervals:
            found = mechanism.interval_at(stated.level, estimate.values, reports)
            assert found in (None, stated)

    def test_truth_of_a_statistic_that_counts_devices_grows_with_their_number(self, mechanism):
        truths = [sum(mechanism.truth(self.counted(4, devices))) for devices in (1, 10)]
        assert truths[1] == truths[0] * (10 if mechanism.counts_devices else 1)

    def test_estimate_of_nobody_or_of_another_length_is_refused(self, mechanism):
        with pytest.raises(ValueError, match="population"):
            mechanism.expected_standard_error(0)
        with pytest.raises(ValueError, match="total"):
            mechanism.estimate([0] * mechanism.contribution_length, 0)
        with pytest.raises(ValueError, match="total"):
            mechanism.estimate([0] * (mechanism.contribution_length + 1), 10)

    def test_guarantees_cover_every_model_and_say_what_they_rely_on(self, mechanism):
        guarantees = mechanism.guarantees()
        keys = Counter((g.model, g.relation, g.dishonest_fraction) for g in guarantees)
        expected = {(Model.LOCAL, relation, 0.0) for relation in (Relation.REPLACE, Relation.ADD_REMOVE)}
        expected |= {
            (Model.AGGREGATOR, relation, part)
            for relation in (Relation.REPLACE, Relation.ADD_REMOVE)
            for part in (0.0, 0.5)
        }
        if mechanism.parameters.sampling_rate < 1:
            expected |= {(Model.SAMPLED, Relation.REPLACE, part) for part in (0.0, 0.5)}
            keys -= Counter({(Model.SAMPLED, Relation.ADD_REMOVE, part): 1 for part in (0.0, 0.5)})
        assert keys == Counter({*expected, (Model.PAN, Relation.REPLACE, 0.0)})
        for guarantee in guarantees:
            assert guarantee.assumption
            assert guarantee.source
            if guarantee.model == Model.PAN:
                # No ε measures what encryption hides; a program that read 0 would take it for perfect.
                assert (guarantee.epsilon, guarantee.delta) == (None, None)
                assert "semantic security" in guarantee.assumption
                assert "private key" in guarantee.assumption
                assert "computational" in guarantee.source
                continue
            assert guarantee.epsilon >= 0
            assert 0 <= guarantee.delta < 1
            assert guarantee.found_epsilon is None or 0 <= guarantee.found_epsilon <= guarantee.epsilon

    def test_guarantees_with_colluders_are_weaker_than_without(self, mechanism):
        by_key = {(g.model, g.relation, g.dishonest_fraction): g.epsilon for g in mechanism.guarantees()}
        for relation in (Relation.REPLACE, Relation.ADD_REMOVE):
            alone = by_key[Model.LOCAL, relation, 0.0]
            assert by_key[Model.AGGREGATOR, relation, 0.0] <= by_key[Model.AGGREGATOR, relation, 0.5]
            # What is computed from a report gives away no more than the report.
            assert by_key[Model.AGGREGATOR, relation, 0.5] <= alone * (1 + 1e-6)
            # And who does not know who took part learns no more than who does.
            for part in (0.0, 0.5):
                sampled = by_key.get((Model.SAMPLED, relation, part))
                assert sampled is None or sampled <= by_key[Model.AGGREGATOR, relation, part]

    def test_aggregator_event_is_what_the_guarantee_under_replacement_states(self, mechanism):
        stated = {
            g.dishonest_fraction: g.epsilon
            for g in mechanism.guarantees()
            if (g.model, g.relation) == (Model.AGGREGATOR, Relation.REPLACE)
        }
        for fraction, epsilon in stated.items():
            event = mechanism.aggregator_event(fraction)
            assert event.proved
            assert event.neighbours == Relation.REPLACE
            assert event.epsilon(mechanism.parameters.delta) == pytest.approx(epsilon, rel=1e-5)

    def test_aggregator_target_that_is_met_is_kept_or_else_refused(self, mechanism):
        (reached,) = (
            g.epsilon
            for g in mechanism.guarantees()
            if (g.model, g.relation, g.dishonest_fraction) == (Model.AGGREGATOR, Relation.REPLACE, 0.0)
        )
        # The composition of few devices' coordinates is known from above only, hence the half.
        for factor, met in ((1.01, True), (0.5, False)):
            parameters = replace(mechanism.parameters, aggregator_epsilon=min(20.0, factor * reached))
            with nullcontext() if met else pytest.raises(FieldError, match="aggregator_epsilon"):
                mechanism.having(parameters).require_promise()

    def test_expected_standard_error_covers_that_of_an_estimate_in_the_middle(self, mechanism):
        population = 10_000
        reports = round(population * mechanism.parameters.sampling_rate)
        allowed = mechanism.allowed_values
        middle = mechanism.contribution([sum(allowed) // len(allowed)] * mechanism.report_ciphertexts)
        estimate = mechanism.estimate([reports * entry for entry in middle], reports)
        assert max(estimate.standard_errors) <= mechanism.expected_standard_error(population) * (1 + 1e-9)


class HistoryContract:
    """No step and no report leaves a trace of the data in what was done to a ciphertext, or how often."""

    @pytest.mark.parametrize("public_key_class", [TransparentPublicKey, FreshTransparentPublicKey])
    def test_step_with_event_takes_as_many_operations_as_without(self, mechanism, source, public_key_class):
        counted = []
        for event in (False, True):
            for step in (1, mechanism.parameters.steps):
                public_key = public_key_class()
                state = mechanism.state_of_count(public_key, 0, step - 1, source)
                public_key.operations.clear()
                mechanism.step(public_key, state, event, step, source)
                # Which of `encrypt` and `rerandomize` is called would be for a clock to see.
                assert set(public_key.operations) <= {"replace_or_rerandomize", "rerandomize"}
                counted.append(public_key.operations)
        assert counted == [counted[0]] * 4
        assert counted[0].total() == len(state)

    @pytest.mark.parametrize("stream", STREAMS)
    def test_state_after_t_steps_has_been_rerandomized_t_times(self, mechanism, source, stream):
        public_key = TransparentPublicKey()
        for t in range(len(stream) + 1):
            eager = run(mechanism, public_key, stream[:t], source)
            lazy = mechanism.state_of_count(public_key, sum(stream[:t]), t, source)
            assert {c.history for c in (*eager, *lazy)} == {(t, ())}

    @pytest.mark.parametrize("public_key_class", [TransparentPublicKey, FreshTransparentPublicKey])
    def test_report_has_one_history_and_cost_whatever_data_and_coin(
        self, mechanism, source, public_key_class
    ):
        histories, counted = set(), []
        for stream in STREAMS * 10:
            public_key = public_key_class()
            state = run(mechanism, public_key, full(mechanism, stream), source)
            public_key.operations.clear()
            report = mechanism.report(public_key, state, source)
            counted.append(public_key.operations.copy())
            lazy = mechanism.report_of_count(public_key, sum(stream), source)
            histories |= {tuple(c.history for c in made) for made in (report, lazy)}
        assert len(histories) == 1
        assert counted == [counted[0]] * len(counted)
