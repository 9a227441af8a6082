"""Rows of results: what one of them says of privacy is what a budget is charged with."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from panprivacy.accounting.guarantees import Model, Relation, main_guarantee
from panprivacy.recipe.result_rows import ResultRow, result_rows
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.streams import STREAM_STATISTICS
from panprivacy.statistics.trust_models import statistic_under_trust, trusts_of, under_trust
from tests.statistic_members import every_choice

EVERY = [(name, trust) for name, statistic in STATISTICS.items() for trust in trusts_of(statistic)]


def asked(name: str, sampling_rate: float) -> list[Statistic[Any]]:
    """A statistic with small parameters and each of its choices."""
    given = {"epsilon": 0.5 if name in STREAM_STATISTICS else 2.0, "delta": 1e-6, "k": 4, "steps": 4}
    given |= {"cohort_size": 600, "n_max": 40, "announced_intrusions": 2, "sampling_rate": sampling_rate}
    kind = STATISTICS[name]
    choices = every_choice(kind, **given)
    for one in choices:
        if one.get("participation") == "relayed":
            one["sampling_rate"] = 1.0  # Its rates sample already.
    return [kind(kind.parameters_class.from_mapping(one).calibrated()) for one in choices]


def stated(statistic: Statistic[Any], trust: Any) -> list[dict[str, Any]]:
    """Its guarantees, as documents have them."""
    guarantees = under_trust(statistic_under_trust(statistic, trust).guarantees(), trust)
    return json.loads(json.dumps([one.as_dict() for one in guarantees]))  # type: ignore[no-any-return]


def result(**changes: Any) -> dict[str, Any]:
    """Fields of a signed document that rows are made from."""
    return {
        "id": "a" * 32,
        "released_at": "2026-11-30T12:00:00Z",
        "guarantees": [],
        "reports": 100,
        "labels": ["yes", "no"],
        "value_labels": None,
        "estimate": [40.0, -3.0],
        "standard_error": [2.0, 2.5],
        "interval": {"level": 0.95, "low": [36.0, None], "high": [44.0, 2.0]},
        "error_bound": None,
        "confidence": None,
        "segments": None,
        **changes,
    }


def rows(**changes: Any) -> list[ResultRow]:
    return list(result_rows(result(**changes)))


def guarantee(model: Model, relation: Relation, epsilon: float | None, **changes: Any) -> dict[str, Any]:
    known = {"epsilon": epsilon, "delta": 1e-6, "dishonest_fraction": 0.0, "intrusions": None}
    return {"model": model, "relation": relation, "announced_intrusions": 0, **known, **changes}


@pytest.mark.parametrize("sampling_rate", [1.0, 0.5])
@pytest.mark.parametrize(("name", "trust"), EVERY)
def test_epsilon_of_a_row_is_what_a_budget_is_charged_with(
    name: str, trust: Any, sampling_rate: float
) -> None:
    """By the event alone, not its guarantees: at this ε its δ is the row's, and at less it is more."""
    for statistic in asked(name, sampling_rate):
        (row, _) = rows(guarantees=stated(statistic, trust))
        if name == "pan_histogram":  # Its charge assumes that each person contributes one element.
            assert (row.epsilon, row.delta) == (None, None)
            continue
        assert row.epsilon is not None
        assert row.delta is not None
        event = statistic_under_trust(statistic, trust).aggregator_event()
        assert event.delta(row.epsilon) <= row.delta * (1 + 1e-6)
        assert row.epsilon == 0 or event.delta(row.epsilon * (1 - 1e-5)) > row.delta


@pytest.mark.parametrize("sampling_rate", [1.0, 0.5])
@pytest.mark.parametrize(("name", "trust"), EVERY)
def test_epsilon_of_a_row_is_of_all_that_a_device_or_item_did(
    name: str, trust: Any, sampling_rate: float
) -> None:
    """And of readers who may know the participants, unless there is no number for them."""
    by_trust = {"curator": (Model.PAN, Relation.USER), "shuffler": (Model.SHUFFLE, Relation.REPLACE)}
    for statistic in asked(name, sampling_rate):
        model, relation = by_trust.get(trust, (Model.AGGREGATOR, Relation.REPLACE))
        if getattr(statistic.parameters, "participation", "") == "relayed":
            model = Model.SAMPLED
        listed = stated(statistic, trust)
        main = main_guarantee(listed)
        assert main is not None
        assert (main["model"], main["relation"], main["dishonest_fraction"]) == (model, relation, 0)
        alike = [one for one in listed if (one["model"], one["relation"]) == (model, relation)]
        honest = [one["epsilon"] for one in alike if not one["dishonest_fraction"]]
        assert main["epsilon"] == (None if name == "pan_histogram" else max(honest))


@pytest.mark.parametrize(
    "weaker",
    [
        guarantee(Model.AGGREGATOR, Relation.ADD_REMOVE, 1.0),
        guarantee(Model.AGGREGATOR, Relation.REPLACE, 1.0, dishonest_fraction=0.5),
        guarantee(Model.COUNT, Relation.PARTICIPATION, 1.0),
        guarantee(Model.COUNT, Relation.REPLACE, 1.0),
        guarantee(Model.LOCAL, Relation.ADD_REMOVE, 1.0),
        guarantee(Model.PAN, Relation.RECORD, 1.0, intrusions=1),
        guarantee(Model.PAN, Relation.REPLACE, 1.0),  # Of a device's state, which is not the result.
        guarantee(Model.AGGREGATOR, Relation.REPLACE, None),
    ],
)
def test_unknown_epsilon_is_empty_with_its_delta(weaker: dict[str, Any]) -> None:
    assert {(row.epsilon, row.delta) for row in rows(guarantees=[weaker])} == {(None, None)}
    assert {(row.epsilon, row.delta) for row in rows()} == {(None, None)}


def test_curators_epsilon_has_all_intrusions_that_may_be_announced() -> None:
    listed = [
        guarantee(Model.PAN, Relation.USER, epsilon, delta=0.0, intrusions=1, announced_intrusions=count)
        for count, epsilon in ((0, 1.0), (2, 2.0), (1, 1.5))
    ]
    assert {(row.epsilon, row.delta) for row in rows(guarantees=listed)} == {(2.0, 0.0)}


def test_rows_have_what_the_result_has_in_its_order() -> None:
    found = list(result_rows(result(value_labels=["Paris"]), 7))
    assert [(row.value, row.estimate, row.low, row.high) for row in found] == [
        ("Paris", 40.0, 36.0, 44.0),
        ("no", -3.0, None, 2.0),
    ]
    assert [row.standard_error for row in found] == [2.0, 2.5]
    assert {(row.round, row.segment, row.level, row.reports) for row in found} == {(7, None, 0.95, 100)}
    assert {row.released_at for row in found} == {datetime(2026, 11, 30, 12, tzinfo=UTC)}
    assert [row.more_than_noise for row in found] == [True, False]


def test_interval_that_is_not_stated_is_empty() -> None:
    """As of a test, whose bounds hold under its hypothesis alone."""
    unknown = rows(interval=None, error_bound=[5.0, 1.0], confidence=0.9, standard_error=None)
    assert {(row.low, row.high, row.level, row.more_than_noise) for row in unknown} == {(None,) * 4}
    assert {row.standard_error for row in unknown} == {None}


def test_shown_segments_follow_with_intervals_of_their_own() -> None:
    wide, narrow = ({"level": level, "answers": [[1.0, 9.0], [None, 4.0]]} for level in (0.95, 0.5))
    shown = {"label": "old", "shown": True, "answers": [5.0, 2.0], "intervals": [wide, narrow]}
    found = rows(segments=[{"label": "new", "shown": False}, shown], interval=None)
    assert [row.segment for row in found] == [None, None, "old", "old"]
    assert [(row.value, row.estimate, row.low, row.high) for row in found[2:]] == [
        ("yes", 5.0, 1.0, 9.0),
        ("no", 2.0, None, 4.0),
    ]
    assert {(row.level, row.standard_error, row.reports) for row in found[2:]} == {(0.95, None, 100)}
    assert len({row.cells()[-3:] for row in found}) == 1
