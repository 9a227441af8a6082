"""Automata on ciphertexts against a plaintext run, and each question against its definition in words."""

import random
from itertools import product

import pytest

from panprivacy.encryption.elgamal import ElGamalPrivateKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.structures import EventList, RisingNumbers, Tables
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.events.automaton import Automaton
from panprivacy.statistics.events.regular import Question
from tests.panprivacy.statistics.events.transparent import FreshTransparentPublicKey, TransparentPrivateKey


def question(statistic: str, **parameters: object) -> Question:
    members = {"epsilon": 2.0, "delta": 1e-6, "cohort_size": 100, **parameters}
    if statistic not in ("funnel", "both", "automaton"):
        members = {"event": "a", **members}
    return statistic_class(statistic).parameters_class.from_mapping(members).question  # type: ignore[attr-defined]


def random_automaton(source: random.Random, states: int = 16, names: int = 4, steps: int = 30) -> Automaton:
    states, names = source.randint(1, states), source.randint(1, names)

    def table() -> tuple[int, ...]:
        return tuple(source.randrange(states) for _ in range(states))

    return Automaton(
        start=source.randrange(states),
        on=tuple(table() for _ in range(names)),
        at={source.randint(1, steps): table() for _ in range(source.randint(0, 3))},
        otherwise=table() if source.random() < 0.25 else None,
    )


def plainly(automaton: Automaton, happened: list[int]) -> int:
    """The state by the definition, without any of the automaton's methods."""
    state = automaton.start
    for step, bits in enumerate(happened, start=1):
        for name, table in enumerate(automaton.on):
            if (bits >> name) % 2 == 1:
                state = table[state]
        if automaton.otherwise is not None and bits == 0:
            state = automaton.otherwise[state]
        if step in automaton.at:
            state = automaton.at[step][state]
    return state


class PlainKey(FreshTransparentPublicKey):
    """The same additions on numbers, without what ciphertexts remember: quick."""

    def encrypt(self, message, random_source, *, rerandomizations=0):
        return message

    def rerandomize(self, ciphertext, random_source):
        return ciphertext

    def add(self, ciphertexts):
        return sum(ciphertexts)


def stepped(automaton, key, happened, source):
    vector = automaton.vector_of(key, automaton.start, source)
    for step, bits in enumerate(happened, start=1):
        vector = automaton.stepped(key, vector, bits, step, source)
    return vector


@pytest.mark.parametrize("number", [2_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_vector_of_random_automata_follows_the_plaintext_run(number):
    source, key = random.Random(number), PlainKey()
    for _ in range(number):
        automaton, steps = random_automaton(source), source.randint(1, 30)
        happened = [source.getrandbits(len(automaton.on)) * (source.random() < 0.5) for _ in range(steps)]
        state = plainly(automaton, happened)
        vector = stepped(automaton, key, happened, source)
        assert list(vector) == [int(q == state) for q in range(automaton.states)]
        assert automaton.last_state(dict(enumerate(happened, start=1)), steps) == state


@pytest.mark.parametrize("number", [10, pytest.param(300, marks=pytest.mark.long)])
def test_ciphertexts_of_random_automata_follow_the_plaintext_run(number):
    source = random.Random(number)
    private_key = ElGamalPrivateKey.generate(source)
    for _ in range(number):
        automaton = random_automaton(source, states=6, names=3, steps=6)
        happened = [source.getrandbits(len(automaton.on)) for _ in range(6)]
        vector = stepped(automaton, private_key.public_key.with_tables(), happened, source)
        state = plainly(automaton, happened)
        assert [private_key.decrypt(entry, range(2)) for entry in vector] == [
            int(q == state) for q in range(automaton.states)
        ]


def test_step_does_the_same_operations_whatever_happened():
    source = random.Random(1)
    for _ in range(50):
        automaton = random_automaton(source)
        counted = set()
        for bits in range(1 << len(automaton.on)):
            key = FreshTransparentPublicKey()
            vector = automaton.vector_of(key, automaton.start, source)
            key.operations.clear()
            automaton.stepped(key, vector, bits, 1, source)
            counted.add(tuple(sorted(key.operations.items())))
        assert len(counted) == 1


def test_step_leaves_ciphertexts_without_history():
    source, key = random.Random(2), FreshTransparentPublicKey()
    automaton = random_automaton(source)
    vector = stepped(automaton, key, [1, 0, 1], source)
    assert {entry.history for entry in vector} == {(0, ())}
    assert sum(TransparentPrivateKey(key).decrypt(entry, range(2)) for entry in vector) == 1


def streams(steps: int, names: int = 1):
    return [dict(enumerate(bits, start=1)) for bits in product(range(1 << names), repeat=steps)]


def cell(asked: Question, events: dict[int, int], steps: int) -> int:
    return asked.cells[asked.automaton.last_state(events, steps)]


def test_funnel_counts_stages_in_order_within_and_across_steps():
    asked = question("funnel", events=["a", "b", "c"], steps=4)
    for events in streams(4, 3):
        stage = 0
        for step in range(1, 5):
            for name in range(3):
                if events[step] >> name & 1 and stage == name:
                    stage += 1
        assert cell(asked, events, 4) == stage


def test_retention_knows_the_last_period_of_devices_of_the_first():
    asked = question("retention", period_steps=2, periods=3)
    for events in streams(6):
        busy = {(step + 1) // 2 for step in events if events[step]}
        assert cell(asked, events, 6) == (max(busy) if 1 in busy else 0)


def test_time_to_first_finds_the_bound_of_the_first_event():
    asked = question("time_to_first", within=[1, 3, 4], steps=6)
    for events in streams(6):
        first = min((step for step in events if events[step]), default=7)
        expected = next((place for place, bound in enumerate((1, 3, 4)) if first <= bound), 3)
        assert cell(asked, events, 6) == expected


@pytest.mark.parametrize("longest", [2, 3, 4])
def test_longest_streak_counts_steps_in_a_row(longest):
    asked = question("longest_streak", longest=longest, steps=7)
    for events in streams(7):
        runs = "".join(map(str, (events[step] for step in range(1, 8)))).split("0")
        assert cell(asked, events, 7) == min(max(map(len, runs)), longest)


@pytest.mark.parametrize("names", [2, 3])
def test_both_tells_every_combination_apart(names):
    asked = question("both", events=["a", "b", "c"][:names], steps=2)
    for events in streams(2, names):
        assert cell(asked, events, 2) == events[1] | events[2]
    assert asked.labels[3] == "a and b"


TABLE = {
    "events": ["open", "close"],
    "states": ["shut", "open", "left"],
    "start": "shut",
    "on": {"open": {"shut": "open"}, "close": {"open": "shut"}},
    "at": {"2": {"open": "left"}},
    "cells": {"never left": ["shut", "open"], "left open": ["left"]},
    "steps": 4,
}


def test_automaton_follows_its_tables_and_clock():
    asked = question("automaton", **TABLE)
    assert asked.labels == ("never left", "left open")
    assert cell(asked, {1: 1, 2: 0}, 4) == 1
    assert cell(asked, {1: 1, 2: 2}, 4) == 0
    assert cell(asked, {3: 1}, 4) == 0
    assert cell(asked, {1: 3, 2: 1}, 4) == 1


def test_automaton_with_numbered_states_is_the_same():
    numbered = TABLE | {
        "states": 3,
        "start": 0,
        "on": {"open": {"0": 1}, "close": {"1": 0}},
        "at": {"2": {"1": 2}},
        "cells": {"never left": [0, 1], "left open": [2]},
    }
    assert question("automaton", **numbered) == question("automaton", **TABLE)


LARGE = TABLE | {
    "events": list("abcdefgh"),
    "states": 60,
    "start": 0,
    "on": {},
    "at": {},
    "cells": {"low": list(range(30)), "high": list(range(30, 60))},
}
"""60 states times 9 are more than 512."""


@pytest.mark.parametrize(
    ("statistic", "changed", "field"),
    [
        ("funnel", {"events": ["a"]}, "events"),
        ("funnel", {"events": ["a", "a"]}, "events"),
        ("funnel", {"events": ["a", "B"]}, "events"),
        ("funnel", {"events": "ab"}, "events"),
        ("funnel", {"events": [["a"], {}]}, "events"),
        ("funnel", {"events": list("abcdefg")}, "events"),
        ("both", {"events": list("abcd")}, "events"),
        ("retention", {"periods": 1, "period_steps": 2}, "periods"),
        ("retention", {"periods": 27, "period_steps": 2}, "periods"),
        ("retention", {"periods": 26, "period_steps": 50_000}, "period_steps"),
        ("retention", {"periods": 2, "period_steps": 2, "steps": 5}, "steps"),
        ("time_to_first", {"within": []}, "within"),
        ("time_to_first", {"within": [2, 2]}, "within"),
        ("time_to_first", {"within": [0, 2]}, "within"),
        ("time_to_first", {"within": [1, float("nan")]}, "within"),
        ("time_to_first", {"within": [1, 5]}, "within"),
        ("longest_streak", {"longest": 1}, "longest"),
        ("longest_streak", {"longest": 23}, "longest"),
        ("automaton", TABLE | {"states": 65}, "states"),
        ("automaton", TABLE | {"states": ["a", "a"]}, "states"),
        ("automaton", TABLE | {"start": "gone"}, "start"),
        ("automaton", TABLE | {"on": {"shut": {}}}, "on"),
        ("automaton", TABLE | {"on": {"open": {"shut": "gone"}}}, "on"),
        ("automaton", TABLE | {"on": {"open": []}}, "on"),
        ("automaton", TABLE | {"at": {"5": {}}}, "at"),
        ("automaton", TABLE | {"at": {"٢": {}}}, "at"),
        ("automaton", TABLE | {"cells": {"x": ["shut"], "y": ["open"]}}, "cells"),
        ("automaton", TABLE | {"cells": {"x": ["shut", "open"], "y": ["open", "left"]}}, "cells"),
        ("automaton", TABLE | {"cells": {"x": ["shut", "open", "left"]}}, "cells"),
        ("automaton", TABLE | {"cells": {" x": ["shut", "open"], "y": ["left"]}}, "cells"),
        ("automaton", LARGE, "states"),
        ("automaton", TABLE | {"events": list("abcdefghi")}, "events"),
    ],
)
def test_question_out_of_range_is_refused_by_its_field(statistic, changed, field):
    steps = {} if statistic == "retention" else {"steps": 4}
    with pytest.raises(FieldError) as refused:
        question(statistic, **(steps | changed))
    assert refused.value.field == field


@pytest.mark.parametrize("statistic", ["funnel", "both", "automaton"])
def test_neutral_names_change_no_automaton(statistic):
    members = TABLE if statistic == "automaton" else {"events": ["secret", "hidden"], "steps": 4}
    members = {"epsilon": 2.0, "delta": 1e-6, "cohort_size": 100, **members}
    parameters = statistic_class(statistic).parameters_class.from_mapping(members)
    neutral = parameters.without_names()
    assert neutral.question.automaton == parameters.question.automaton
    for word in ("secret", "hidden", "shut", "open", "left"):
        assert word not in str(neutral.as_dict())


def test_tables_in_forms_are_read_once_and_flat():
    tables = Tables("events", 8, 8)
    assert tables.of_text('{"a": {"0": 1}}') == {"a": {"0": 1}}
    for text in ("[" * 900, '{"a": {"0": [[1]]}}', '{"a": {}, "a": {}}', "[" * 100 + "]" * 100, "{"):
        assert tables.of_text(text) == text
    assert EventList(2, 6).of_text("a, b\nc") == ["a", "b", "c"]
    assert RisingNumbers(1, 3, 9).of_text(" 1,3 x") == [1, 3, "x"]
