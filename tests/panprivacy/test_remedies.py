"""The values suggested in place of those that do not meet a target meet it, and nearly no others do."""

import pytest

from panprivacy.errors import FieldError
from panprivacy.mechanisms import MECHANISMS
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.remedies import keeps_promise, nearest_value, remedies

MEMBERS = {
    "name": "r",
    "question": "q?",
    "steps": 4,
    "epsilon": 4,
    "delta": 1e-6,
    "cohort_size": 10_000,
}
OF = {
    "count_nonzero": {"aggregator_epsilon": 0.2},
    # So few devices that their two coordinates are composed in no time.
    "histogram": {"k": 3, "epsilon": 2, "delta": 1e-2, "cohort_size": 20, "aggregator_epsilon": 1.6},
    "mean": {"k": 3, "guarantee": "local", "aggregator_epsilon": 0.02},
}


def mechanism_of(statistic, **changed):
    statistic_class = MECHANISMS[statistic]
    members = {name: value for name, value in MEMBERS.items() if name not in ("name", "question")}
    parameters = statistic_class.parameters_class.from_mapping({**members, **OF[statistic], **changed})
    return statistic_class(parameters.calibrated())


@pytest.mark.parametrize("statistic", OF)
@pytest.mark.parametrize(("name", "larger"), [("epsilon", False), ("cohort_size", True)])
def test_nearest_value_meets_the_target_and_two_percent_back_does_not(statistic, name, larger):
    refused = mechanism_of(statistic)
    with pytest.raises(FieldError, match="aggregator_epsilon"):
        refused.require_promise()
    found = nearest_value(refused, name, keeps_promise, larger=larger)
    mechanism_of(statistic, **{name: found}).require_promise()
    back = found * (0.98 if larger else 1.02)
    with pytest.raises(FieldError, match="aggregator_epsilon"):
        mechanism_of(statistic, **{name: int(back) if larger else back}).require_promise()


def test_remedies_name_no_cohort_size_where_the_noise_is_divided_among_any_cohort():
    refused = mechanism_of("mean", guarantee="aggregator", aggregator_epsilon=0.2)
    assert remedies(refused) == "ε = 0.199 would do"


@pytest.mark.parametrize("statistic", OF)
def test_recipe_that_misses_its_target_is_refused_with_the_numbers_that_meet_it(statistic):
    members = {**MEMBERS, **OF[statistic], "statistic": statistic}
    with pytest.raises(FieldError, match=r"is not met.* or a cohort size of .* would do") as refusal:
        RecipeDraft.from_mapping(members).calibrated_statistic()
    assert refusal.value.field == "aggregator_epsilon"
