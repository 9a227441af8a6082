"""A result shows how many devices a target has only where it is the cited one, and of the same devices."""

import json

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.recipe.targeting.evidence import CitationRefusedError, cited_sizes
from tests.panprivacy.recipe.targeting.results import (
    LABELS,
    NOW,
    categories_recipe,
    cited,
    members_of,
    result_of,
)
from tests.panprivacy.recipe.targeting.test_target_request import published
from tests.panprivacy.statistics.test_servers import two_servers

REPORTS = 100_000
ONES = (60_000, 40_000, 20_000)


@pytest.fixture(scope="module")
def result():
    return result_of(categories_recipe(), ONES, REPORTS)


def check(result, citation=None, **changes):
    asked = {"attribute": "os", "population": "everyone", "simulation": False, "values": LABELS, **changes}
    return cited_sizes(result, citation or cited(result), **asked)


def refused(match, result, citation=None, **changes):
    with pytest.raises(CitationRefusedError, match=match):
        check(result, citation, **changes)


def test_a_cited_result_bounds_every_value_around_its_estimate(result):
    sizes = check(json.loads(json.dumps(result)))
    for label, value in zip(LABELS, result["estimate"], strict=True):
        low, high = sizes.values[label]
        assert 0 <= low < max(value, 1)
        assert value < high
    assert sizes.population_size[0] < REPORTS / 0.5 < sizes.population_size[1]
    assert check(result, values=None) == sizes, "a device takes the labels for the values"


def test_a_forged_result_is_refused(result):
    """Somebody shows larger estimates than were signed, under the hash of the signed ones."""
    forged = {**result, "estimate": [value * 2 for value in result["estimate"]]}
    refused("another hash", forged, cited(result))


def test_a_recipe_in_the_result_that_was_never_asked_is_refused(result):
    other = categories_recipe(question="What else?")
    # With the true recipe's identifier on it, and a hash that goes with the forgery.
    forged = {**result, "recipe": other.document}
    refused("another recipe", forged)
    refused("another recipe", result, Citation(recipe=other.identifier, result=cited(result).result))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        # Without tokens, a script reports `os = linux` as often as it likes.
        ({"admission": None}, "admission: token"),
        ({"population": "clinics"}, "population clinics"),
        ({"simulation": True}, "nothing of real devices"),
        # Else what was counted as one value would be taken for another.
        ({"event": "browser"}, "cited recipe"),
        ({"event": None}, "cited recipe"),
        ({"labels": ["mac", "linux", "other"]}, "cited recipe"),
        ({"labels": None}, "cited recipe"),
    ],
)
def test_a_result_of_another_recipe_than_is_needed_is_refused(changes, match):
    refused(match, result_of(categories_recipe(**changes), ONES, REPORTS))


def test_simulations_cite_simulations_and_values_must_all_be_labels(result):
    refused("cites simulations", result, simulation=True)
    assert check(result_of(categories_recipe(simulation=True), ONES, REPORTS), simulation=True)
    refused("labels", result, values=(*LABELS, "new"))
    assert check({**result, "admission": {"verdict": "flagged"}})


def rare_categories():
    asked = members_of(
        admission=None, statistic="rare_categories", trust="two_server", k=2, labels=None, sampling_rate=None,
        participation="cover", devices=4_000, counted_devices=2_000, rare_share=0.25,
    )  # fmt: skip
    return RecipeDraft.from_mapping(asked).publish(
        two_servers(leader_key_members=None, helper_key_members=None), NOW
    )


@pytest.mark.parametrize(
    ("recipe", "match"),
    [
        (categories_recipe(statistic="count_nonzero", steps=1, k=None, labels=None), "must be of categories"),
        # Its devices report at rates of their own, which the bounds of categories do not know.
        (rare_categories(), "must be of categories"),
        # Its numbers are of that part: those of all devices and of other parts are not bounded by them.
        (published(target={"region": {"value": "eu", "recipe": "a" * 64}}), "a part of the population"),
    ],
    ids=["count", "rare categories", "part"],
)
def test_a_result_of_another_statistic_or_of_a_part_is_refused(result, recipe, match):
    refused(match, {**result, "id": recipe.identifier, "recipe": recipe.document})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        # The log has the hash of a withheld result as it has that of a released one.
        ({"outcome": "withheld"}, "released no result"),
        # An administrator may release it; who sent such reports could have made a value look common.
        ({"admission": {"verdict": "held"}}, "tokens explain"),
        ({"reports": 999}, "fewer reports"),
        ({"reports": "100000"}, "fewer reports"),
        ({"reports": True}, "fewer reports"),
        ({"estimate": None}, "no estimates"),
        ({"estimate": [1.0, "2", 3.0]}, "no estimates"),
        ({"estimate": [1.0, 2.0]}, "cannot be"),
        ({"estimate": [1e9, 0.0, 0.0]}, "cannot be"),
        ({"estimate": [0.123, 0.0, 0.0]}, "cannot be"),
        ({"estimate": [1e308, -1e308, 0.0]}, "cannot be"),
        ({"recipe": None}, "no recipe"),
        ({"recipe": {"format": "panapp-recipe-9"}}, "cannot be read"),
    ],
)
def test_numbers_that_no_collection_gives_are_refused(result, change, match):
    refused(match, {**result, **change})


def test_a_citation_has_one_spelling(result):
    citation = cited(result)
    assert Citation.from_members("target.os", citation.members()) == citation
    for wrong in (None, {}, {**citation.members(), "more": 1}, {**citation.members(), "result": "AB"}):
        with pytest.raises(FieldError, match=r"target\.os"):
            Citation.from_members("target.os", wrong)
