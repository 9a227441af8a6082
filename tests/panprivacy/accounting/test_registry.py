"""Reading events from stored data."""

import json

import pytest

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.registry import DEEPEST_NESTING, EVENTS, event_from_mapping
from panprivacy.formats.errors import FieldError
from tests.refusals import field_refused

STORED = [
    '{"kind": "randomized_response", "n": 100, "epsilon0": 2.0, "sampling_rate": 1.0}',
    '{"kind": "one_hot", "n": 100, "k": 5, "epsilon0": 2.0, "relation": "replace"}',
    '{"kind": "vector_coin", "n": 100, "k": 5, "epsilon0": 2.0, "relation": "replace"}',
    '{"kind": "discrete_gaussian_sum", "n": 100, "scale": 0.5, "value_range": 10}',
    '{"kind": "discrete_gaussian_vector", "n": 100, "scale": 2.5, "sensitivity": 130.5, "dimension": 64}',
    '{"kind": "gaussian", "sigma": 5.1, "sampling_rate": 0.02, "rounds": 3}',
    '{"kind": "shuffled", "n": 100, "epsilon0": 2.0}',
    '{"kind": "shuffled_2021", "n": 100, "epsilon0": 2.0}',
    '{"kind": "sampled", "event": {"kind": "shuffled", "n": 9, "epsilon0": 2.0}, "n": 9, '
    '"sampling_rate": 0.1}',
    '{"kind": "thinned_response", "n": 100, "epsilon0": 2.0, "rate": 0.1}',
    '{"kind": "importance_sampled", "event": {"kind": "shuffled", "n": 9, "epsilon0": 2.0}, "n": 99, '
    '"lowest_rate": 0.01, "highest_rate": 0.1}',
    '{"kind": "repeated", "event": {"kind": "shuffled", "n": 100, "epsilon0": 2.0}, "times": 2}',
    '{"kind": "failing", "event": {"kind": "shuffled", "n": 9, "epsilon0": 2.0}, "probability": 1e-12}',
    '{"kind": "redrawn", "event": {"kind": "shuffled", "n": 9, "epsilon0": 2.0}, "n": 9, '
    '"probability": 1e-12, "largest_epsilon": 2.0}',
    '{"kind": "given", "epsilon_given": 1.0, "delta_given": 1e-09, "relation": "replace"}',
]
"""What ledgers hold. These lines are never edited: a changed kind is a new kind."""


@pytest.mark.parametrize("stored", STORED)
def test_stored_events_are_read_and_written_back_as_they_were(stored):
    event = event_from_mapping(json.loads(stored))
    assert event.as_dict() == json.loads(stored)
    assert json.dumps(event.as_dict()) == stored


def subclasses(event_class):
    for subclass in event_class.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def test_every_event_with_a_kind_is_registered_and_has_a_stored_example():
    assert {json.loads(stored)["kind"] for stored in STORED} == set(EVENTS)
    with_kind = {
        found
        for found in subclasses(PrivacyEvent)
        if "kind" in vars(found) and found.__module__.startswith("panprivacy.")
    }
    assert with_kind == set(EVENTS.values())


@pytest.mark.parametrize(("members", "field"), [
    ([], "event"),
    ({}, "kind"),
    ({"kind": "laplace"}, "kind"),
    ({"kind": ["gaussian"]}, "kind"),
    ({"kind": "gaussian"}, "sigma"),
    ({"kind": "gaussian", "sigma": 1, "noise": 2}, "noise"),
    ({"kind": "repeated", "times": 2}, "event"),
    ({"kind": "repeated", "times": 2, "event": 3}, "event"),
    ({"kind": "repeated", "times": 2, "event": {"kind": "laplace"}}, "kind"),
])  # fmt: skip
def test_reading_what_is_no_event_names_the_field(members, field):
    with field_refused(field):
        event_from_mapping(members)


def test_reading_events_nested_without_end_is_refused():
    members = {"kind": "gaussian", "sigma": 1.0}
    for _ in range(DEEPEST_NESTING - 1):
        members = {"kind": "repeated", "event": members, "times": 2}
    assert event_from_mapping(members)
    with pytest.raises(FieldError, match="deep"):
        event_from_mapping({"kind": "repeated", "event": members, "times": 2})
