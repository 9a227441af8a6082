"""A result shows how many devices a target has only where it is the cited one, and of the same devices."""

import json

import pytest

from panprivacy.errors import FieldError
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.targeting.citation import Citation
from panprivacy.targeting.evidence import CitationRefusedError, cited_sizes
from tests.panprivacy.targeting.results import (
    LABELS,
    NOW,
    categories_recipe,
    cited,
    members_of,
    result_of,
)
from tests.panprivacy.targeting.test_asked_target import published
from tests.panprivacy.test_servers import two_servers

REPORTS = 100_000
ONES = (60_000, 40_000, 20_000)


@pytest.fixture(scope="module")
def result():
    return result_of(categories_recipe(), ONES, REPORTS)


def look(result, citation=None, **changes):
    asked = {"attribute": "os", "population": "everyone", "simulation": False, "values": LABELS, **changes}
    return cited_sizes(result, citation or cited(result), **asked)


def refused(match, result, citation=None, **changes):
    with pytest.raises(CitationRefusedError, match=match):
        look(result, citation, **changes)


def test_a_cited_result_bounds_every_value_around_its_estimate(result):
    sizes = look(json.loads(json.dumps(result)))
    for label, value in zip(LABELS, result["estimate"], strict=True):
        low, high = sizes.values[label]
        assert 0 <= low < max(value, 1)
        assert value < high
    assert sizes.everybody[0] < REPORTS / 0.5 < sizes.everybody[1]


def test_a_device_takes_the_labels_for_the_values(result):
    assert look(result, values=None) == look(result)


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


def test_a_withheld_result_is_refused(result):
    """The log has its hash as it has that of a released one."""
    refused("released no result", {**result, "outcome": "withheld"})


def test_a_result_that_anybody_could_forge_is_refused():
    """Without tokens, a script reports `os = linux` as often as it likes."""
    refused("admission: token", result_of(categories_recipe(admission=None), ONES, REPORTS))


def test_a_result_of_another_population_is_refused():
    refused("population clinics", result_of(categories_recipe(population="clinics"), ONES, REPORTS))


def test_a_simulation_shows_nothing_of_real_devices():
    simulated = result_of(categories_recipe(simulation=True), ONES, REPORTS)
    refused("nothing of real devices", simulated)
    assert look(simulated, simulation=True)


def test_a_simulation_cites_simulations(result):
    refused("cites simulations", result, simulation=True)


@pytest.mark.parametrize(
    "changes",
    [{"event": "browser"}, {"event": None}, {"labels": ["mac", "linux", "other"]}, {"labels": None}],
)
def test_changed_labels_are_refused(changes):
    """Else what was counted as one value would be taken for another."""
    refused("cited recipe", result_of(categories_recipe(**changes), ONES, REPORTS))


def test_values_that_were_declared_later_need_a_new_result(result):
    refused("labels", result, values=(*LABELS, "new"))


def test_a_result_of_another_statistic_is_refused():
    recipe = categories_recipe(statistic="count_nonzero", steps=1, k=None, labels=None)
    refused("must be of categories", {**result_of(categories_recipe(), ONES, REPORTS), **told(recipe)})


def test_a_result_with_reports_that_no_token_explains_is_refused(result):
    """An administrator may release it; whoever sent them could have made a value look common."""
    refused("tokens explain", {**result, "admission": {"verdict": "held"}})
    assert look({**result, "admission": {"verdict": "flagged"}})


def test_a_result_of_rare_categories_is_refused():
    """Its devices report at rates of their own, which the bounds of categories do not know."""
    rates = {"participation": "cover", "devices": 4_000, "counted_devices": 2_000, "rare_share": 0.25}
    asked = members_of(
        admission=None,
        statistic="rare_categories",
        trust="two_server",
        k=2,
        labels=None,
        sampling_rate=None,
        **rates,
    )
    recipe = RecipeDraft.from_mapping(asked).publish(
        two_servers(leader_key_members=None, helper_key_members=None), NOW
    )
    refused("must be of categories", {**result_of(categories_recipe(), ONES, REPORTS), **told(recipe)})


def test_a_result_of_a_part_of_the_population_is_refused(result):
    """Its numbers are of that part: everybody's and other parts' are not bounded by them."""
    recipe = published(target={"region": {"value": "eu", "recipe": result["id"]}})
    refused("a part of the population", {**result_of(categories_recipe(), ONES, REPORTS), **told(recipe)})


def told(recipe):
    return {"id": recipe.identifier, "recipe": recipe.document}


@pytest.mark.parametrize(
    ("change", "match"),
    [
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
