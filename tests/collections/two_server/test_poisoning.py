"""A device that lies: whatever it shares instead of 0 or 1 changes nothing, and is counted."""

from collections.abc import Sequence

import pytest

from panprivacy.prio3.field import FIELD64
from recipes.models import Recipe
from releases.models import Release
from releases.operations import result_release
from tests.collections.two_server.scene import (
    poisoned_report,
    rejected,
    sealed_report,
    settle,
    two_server_recipe,
    upload,
)
from trust_models.publishing import recipe_close

pytestmark = [pytest.mark.django_db, pytest.mark.once]

LIES = {"two": 2, "minus one": FIELD64.modulus - 1, "huge": 2**63, "half": (FIELD64.modulus + 1) // 2}
HONEST = ((1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0))


def released(recipe: Recipe, lies: Sequence[Sequence[int]]) -> Release:
    """The result of the honest reports, with those of liars among them."""
    width = recipe.published.calibrated_statistic.report_ciphertexts
    reports = [sealed_report(recipe, bits[:width]) for bits in HONEST]
    reports[2:2] = [poisoned_report(recipe, elements) for elements in lies]
    assert upload(recipe, reports) == []
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    release = result_release(recipe=recipe)
    assert release is not None
    return release


def test_report_of_anything_but_0_or_1_changes_nothing_and_is_counted() -> None:
    honest = released(two_server_recipe(), [])
    for name, lie in LIES.items():
        poisoned = released(two_server_recipe(), [[lie]])
        assert (poisoned.values, poisoned.standard_errors) == (honest.values, honest.standard_errors), name
        assert poisoned.reports == honest.reports == len(HONEST), name
        assert rejected(poisoned.recipe) == [{}, {"vdaf_verify_error": 1}], name


def test_report_with_one_bad_bucket_is_rejected_as_a_whole() -> None:
    lies = [[1, lie, 0] for lie in LIES.values()]
    honest = released(two_server_recipe(statistic="histogram", k=2), [])
    poisoned = released(two_server_recipe(statistic="histogram", k=2), lies)
    assert (poisoned.values, poisoned.reports) == (honest.values, len(HONEST))
    assert rejected(poisoned.recipe) == [{}, {"vdaf_verify_error": len(LIES)}]
