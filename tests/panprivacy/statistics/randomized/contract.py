"""What every randomizer does, whatever its values.

A test module inherits `RandomizerContract` and provides the fixtures `randomizer` (calibrated) and `cells`:
the texts of at least two different values.
"""

import random
from collections import Counter
from dataclasses import replace

import pytest

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.vdafs import PRIO3
from panprivacy.statistics.interface import InvalidReportError


class RandomizerContract:
    @pytest.fixture
    def source(self):
        return random.Random(20261123)

    @pytest.fixture
    def measurements(self, randomizer, cells, source):
        """Of devices that send, some for each value."""
        drawn = [randomizer.randomize(randomizer.value_of(each), source) for each in cells for _ in range(20)]
        return [measurement for measurement in drawn if measurement is not None]

    def test_measurement_is_one_that_a_server_takes(self, randomizer, measurements):
        assert measurements
        for measurement in measurements:
            assert len(measurement) == randomizer.report_ciphertexts == randomizer.contribution_length
            assert set(measurement) <= set(randomizer.allowed_values)
            assert len(randomizer.contribution(measurement)) == randomizer.contribution_length

    def test_two_servers_verify_what_devices_send(self, randomizer, measurements):
        message, vdaf_class = PRIO3[randomizer.vdaf_type]
        assert isinstance(randomizer.vdaf_message, message)
        assert message.decode(randomizer.vdaf_message.encode()) == randomizer.vdaf_message
        vdaf = vdaf_class(**vars(randomizer.vdaf_message))
        assert vdaf.circuit.output_length == randomizer.contribution_length
        for measurement in measurements:
            encoded = vdaf.circuit.encode(measurement)  # refuses what is no measurement
            assert tuple(vdaf.circuit.truncate(encoded)) == measurement

    def test_value_of_other_texts_is_refused_by_name(self, randomizer, cells):
        named = {"value", *randomizer.columns}
        assert all(len(each) == len(randomizer.columns) for each in cells)
        for wrong in ("", " ", "nobody", "-1e999", "9" * 5_000, "\x00", "nan"):
            with pytest.raises(FieldError) as refused:
                randomizer.value_of([*cells[0][:-1], wrong])
            assert refused.value.field in named

    def test_contribution_of_another_length_or_range_is_refused_by_reason(self, randomizer):
        allowed = randomizer.allowed_values
        good = [allowed[0]] * randomizer.report_ciphertexts
        for wrong, reason in (
            (good[1:], "wrong_length"),
            ([*good, allowed[0]], "wrong_length"),
            ([allowed[-1] + 1, *good[1:]], "value_out_of_range"),
            ([allowed[0] - 1, *good[1:]], "value_out_of_range"),
        ):
            with pytest.raises(InvalidReportError) as refused:
                randomizer.contribution(wrong)
            assert refused.value.reason == reason

    def test_random_values_are_those_of_a_report_that_counts(self, randomizer, source):
        for _ in range(20):
            randomizer.contribution(randomizer.random_values(source))

    def test_estimate_has_one_entry_per_label(self, randomizer, measurements, cells):
        total = [sum(entries) for entries in zip(*measurements, strict=True)]
        estimate = randomizer.estimate(total, len(measurements))
        truth = randomizer.truth_of({tuple(each): 1 for each in cells})
        lengths = {len(x) for x in (estimate.values, estimate.projection, randomizer.labels, truth)}
        assert len(lengths) == 1
        assert len(estimate.standard_errors) in {0, *lengths}
        assert all(error > 0 for error in estimate.standard_errors)
        assert randomizer.scalar == (lengths == {1})
        assert tuple(map(randomizer.label, range(len(randomizer.labels)))) == randomizer.labels
        for interval in randomizer.estimate(total, len(measurements)).intervals:
            for value, low, high in zip(estimate.projection, interval.low, interval.high, strict=True):
                assert low is None or low <= value + 1e-6 * (1 + abs(value))
                assert high is None or high >= value - 1e-6 * (1 + abs(value))

    def test_estimate_without_reports_or_of_another_length_is_refused(self, randomizer):
        length = randomizer.contribution_length
        for total, reports in (([0] * length, 0), ([0] * (length + 1), 10)):
            with pytest.raises(ValueError, match="total"):
                randomizer.estimate(total, reports)

    def test_report_of_a_dishonest_device_moves_the_estimate_as_stated(self, randomizer, measurements):
        honest = [sum(entries) for entries in zip(*measurements, strict=True)]
        before = randomizer.estimate(honest, len(measurements)).values
        robustness = randomizer.robustness
        assert 0 < robustness.each <= robustness.together
        assert robustness.sentence.endswith(".")
        for wanted in self.hostile(randomizer):
            randomizer.contribution(wanted)
            moved = [
                entry - mine + theirs
                for entry, mine, theirs in zip(honest, measurements[0], wanted, strict=True)
            ]
            after = randomizer.estimate(moved, len(measurements)).values
            steps = [new - old for new, old in zip(after, before, strict=True)]
            assert max(map(abs, steps)) <= robustness.each * (1 + 1e-9)
            assert sum(map(abs, steps)) <= robustness.together * (1 + 1e-9)

    def hostile(self, randomizer):
        """Reports that count and that no honest device need send: overridden where there are more extreme."""
        return [randomizer.random_values(random.Random(seed)) for seed in range(5)]

    def test_guarantees_say_what_they_rely_on_and_more_colluders_never_help(self, randomizer):
        guarantees = randomizer.guarantees()
        keys = Counter((each.model, each.relation, each.dishonest_fraction) for each in guarantees)
        assert set(keys.values()) == {1}
        # Of everybody who reports, or, where values decide who does, against those who do not know who.
        assert {Model.AGGREGATOR, Model.SAMPLED} & {model for model, _, _ in keys}
        assert Model.PAN not in {model for model, _, _ in keys}  # nothing is kept
        for guarantee in guarantees:
            assert guarantee.source
            assert guarantee.assumption
            assert guarantee.epsilon >= 0
            assert 0 <= guarantee.delta < 1
        by_key = {(each.model, each.relation, each.dishonest_fraction): each.epsilon for each in guarantees}
        for (model, relation, part), epsilon in by_key.items():
            if part:
                assert by_key[model, relation, 0.0] <= epsilon

    def test_aggregator_event_is_what_the_guarantee_under_replacement_states(self, randomizer):
        for guarantee in randomizer.open_guarantees():
            if (guarantee.model, guarantee.relation) == (Model.AGGREGATOR, Relation.REPLACE):
                event = randomizer.aggregator_event(guarantee.dishonest_fraction)
                assert event.proved
                found = event.epsilon(randomizer.parameters.delta)
                assert found == pytest.approx(guarantee.epsilon, rel=1e-5)

    def test_aggregator_target_that_is_not_met_is_refused(self, randomizer):
        reached = randomizer.aggregator_event().epsilon(randomizer.parameters.delta)
        for factor, met in ((1.01, True), (0.5, False)):
            target = min(20.0, factor * reached)
            limited = randomizer.having(replace(randomizer.parameters, aggregator_epsilon=target))
            if met:
                limited.require_promise()
            else:
                with pytest.raises(FieldError, match="aggregator_epsilon"):
                    limited.require_promise()

    def test_expected_error_covers_that_of_an_estimate(self, randomizer, measurements):
        total = [sum(entries) for entries in zip(*measurements, strict=True)]
        rate = randomizer.parameters.sampling_rate
        population = round(len(measurements) / rate)
        estimate = randomizer.estimate(total, len(measurements))
        expected = randomizer.expected_standard_error(population)
        assert max(estimate.standard_errors, default=0.0) <= expected * (1 + 1e-6)
        with pytest.raises(ValueError, match="population"):
            randomizer.expected_standard_error(0)


class OneHotContract(RandomizerContract):
    """Of bits for at least six categories, of which a report has at most `max_weight`."""

    @pytest.fixture
    def cells(self):
        return [("0",), ("5",)]

    def hostile(self, randomizer):
        k, weight = randomizer.parameters.k, randomizer.parameters.max_weight
        heavy = [1] * weight + [0] * (k - weight)
        return [heavy, heavy[::-1], [0] * k, [1] + [0] * (k - 1)]
