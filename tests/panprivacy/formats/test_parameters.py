"""Bounds of parameters, and what is said to people who leave them."""

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.catalogue import STATISTICS, statistic_class
from panprivacy.statistics.events.mean import MeanParameters
from tests.refusals import field_refused

MEMBERS = {
    "steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 5, "sampling_rate": 1.0, "k": 3,
    "guarantee": "local",
}  # fmt: skip
NUMBERS = [name for name in MEMBERS if name != "guarantee"]
NO_VALUES = [
    10**400, -(10**400), 10**5000, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), -0.0, 0, True,
    None, "4", [], {},
]  # fmt: skip


@pytest.mark.parametrize("value", NO_VALUES, ids=range(len(NO_VALUES)))
@pytest.mark.parametrize("name", NUMBERS)
def test_parameters_with_an_impossible_value_name_field_and_range(name, value):
    with pytest.raises(FieldError, match="must be a") as refused:
        MeanParameters.from_mapping(MEMBERS | {name: value})
    assert refused.value.field == name
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("value", NO_VALUES, ids=range(len(NO_VALUES)))
def test_draft_with_a_step_length_no_field_can_take_names_the_field(value):
    members = {"name": "Crashes", "question": "How many?", "statistic": "mean", **MEMBERS}
    with field_refused("step_seconds"):
        RecipeDraft.from_mapping(members | {"step_seconds": value})


def test_parameters_with_whole_numbers_written_as_floats_are_whole_numbers():
    found = MeanParameters.from_mapping(MEMBERS | {"steps": 4.0, "epsilon": 2})
    assert (type(found.steps), type(found.epsilon)) == (int, float)


def test_check_of_a_number_beyond_every_float_is_refused():
    unbounded = Description(label="Level", help="Any number.")
    with pytest.raises(FieldError, match="must be a number"):
        unbounded.check("level", float, 10**400)
    assert unbounded.check("level", int, 10**400) == 10**400


@pytest.mark.parametrize("name", ["median", "", None, 3, "x" * 1_000_000, ["a"] * 10_000], ids=range(6))
def test_an_unknown_statistic_is_refused_by_those_there_are_in_few_words(name):
    with pytest.raises(FieldError, match="must be one of ") as refused:
        statistic_class(name)
    assert refused.value.field == "statistic"
    assert ", ".join(STATISTICS) in refused.value.message
    assert len(refused.value.message) < 400
