"""One question has one document: what drafts may leave out or spell in several ways is settled in it."""

from typing import Any

import pytest

from panprivacy.recipe.document import PublishedRecipe
from tests.panprivacy.recipe.scene import drafted, published
from tests.refusals import field_refused

FUNNEL: dict[str, Any] = {"statistic": "funnel", "events": ["search", "buy"]}
HISTOGRAM: dict[str, Any] = {"statistic": "histogram", "k": 2}
RETENTION: dict[str, Any] = {
    "statistic": "retention", "event": "open", "period_steps": 2, "periods": 2, "steps": None,
}  # fmt: skip
AUTOMATON: dict[str, Any] = {
    "statistic": "automaton",
    "events": ["open", "close"],
    "states": 3,
    "start": 0,
    "on": {"open": {"0": 1, "2": 1}},
    "at": {"3": {"1": 2}},
    "cells": {"no": [0], "yes": [1, 2]},
}
NAMED: dict[str, Any] = AUTOMATON | {
    "states": ["a", "b", "c"],
    "start": "a",
    "on": {"open": {"a": "b", "c": "b"}},
    "at": {"3": {"b": "c"}},
    "cells": {"no": ["a"], "yes": ["b", "c"]},
}
SPELLINGS: list[dict[str, Any]] = [
    {"on": {"open": {"0": 1, "1": 1, "2": 1}}},
    {"on": {"open": {"0": 1, "2": 1}, "close": {}}},
    {"on": {"open": {"0": 1, "2": 1}, "close": {"0": 0}}},
    {"on": {"open": {"2": "1", "0": "1"}}},
    {"at": {"3": {"1": 2}, "2": {}}},
    {"at": {"3": {"1": 2, "2": "2"}}},
    {"start": "0"},
    {"cells": {"yes": [2, 1], "no": [0]}},
    {"cells": {"yes": ["1", "2"], "no": ["0"]}},
]


@pytest.mark.parametrize("members", [FUNNEL, HISTOGRAM, RETENTION])
def test_document_without_the_coin_is_refused_but_a_draft_is_not(members):
    document = published(**members).document
    assert document["coin"] == "vector"
    without = {name: value for name, value in document.items() if name != "coin"}
    for unsettled in (without, document | {"coin": None}):
        with field_refused("coin", match="is missing"):
            PublishedRecipe.from_document(unsettled)


def test_document_without_steps_that_follow_is_refused():
    document = published(**RETENTION).document
    assert document["steps"] == 4
    with field_refused("steps", match="is missing"):
        PublishedRecipe.from_document({name: value for name, value in document.items() if name != "steps"})


@pytest.mark.parametrize("members", [AUTOMATON, NAMED])
def test_automaton_in_its_one_form_comes_back_as_it_was_written(members):
    document = published(**members).document
    assert {name: document[name] for name in members} == members
    assert PublishedRecipe.from_document(document).document == document


@pytest.mark.parametrize("changes", SPELLINGS)
def test_other_spelling_of_an_automaton_gives_the_same_document(changes):
    recipe = published(**AUTOMATON)
    assert published(**AUTOMATON | changes).identifier == recipe.identifier
    (name,) = changes
    with field_refused(name, match="must have its one published form"):
        PublishedRecipe.from_document(recipe.document | changes)


def test_clock_without_moves_is_left_out():
    members = {name: value for name, value in AUTOMATON.items() if name != "at"}
    recipe = published(**members)
    assert published(**members, at={"3": {"1": 1}}).document == recipe.document
    assert "at" not in recipe.document
    with field_refused("at", match="must have its one published form"):
        PublishedRecipe.from_document(recipe.document | {"at": {}})


@pytest.mark.parametrize(
    ("field", "members"),
    [
        ("events", FUNNEL | {"events": ["search", "-buy"]}),
        ("event", RETENTION | {"event": "--help"}),
        ("event", {"event": "-v"}),
    ],
)
def test_event_that_a_command_line_takes_as_an_option_is_refused(field, members):
    with field_refused(field, match="no - at the beginning"):
        drafted(**members)


@pytest.mark.parametrize("statistic", [HISTOGRAM, FUNNEL])
def test_vector_coin_by_segment_is_refused_with_the_reason(statistic):
    with field_refused("coin", match="devices of no segment report zeros"):
        drafted(**statistic, segments=["a", "b"], coin="vector")
    assert published(**statistic, segments=["a", "b"]).document["coin"] == "bucket"


def test_vector_coin_with_two_servers_is_refused_with_the_reason():
    with field_refused("coin", match="add up to that number"):
        drafted(**HISTOGRAM, trust="two_server", coin="vector")
    draft = drafted(**HISTOGRAM, trust="two_server", cohort_size=100)
    assert draft.settled_fields()["coin"] == "bucket"
