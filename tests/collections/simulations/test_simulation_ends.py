"""Simulations that are given up before they come to their end."""

from collections.abc import Callable

import pytest

from publishing.publication import recipe_publish_file
from recipes.models import Recipe, RecipeKey
from reports.models import ReportNonce, StoredReports
from results.aggregation.models import Chunk, SubAggregate
from results.models import Release
from simulations.collect.collection import FAILED, INTERRUPTED, reason_of
from simulations.simulation_ends import simulation_give_up
from streams.models import Stream
from tests.driving import collections_advance
from tests.factories import published_recipe, raw_reports_submit, report_of_values
from tests.scenes import stream_members

pytestmark = pytest.mark.django_db


def of_one_server() -> Recipe:
    """With reports of more than a cohort: left alone, it would be released."""
    recipe = published_recipe(simulation=True, cohort_size=2)
    reports = [report_of_values(recipe, [1]) for _ in range(3)]
    assert raw_reports_submit(recipe=recipe, reports=reports) == []
    return recipe


def of_a_stream() -> Recipe:
    return recipe_publish_file(members=stream_members(), actor=None, simulation=True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("simulation", [of_one_server, of_a_stream])
@pytest.mark.parametrize(
    ("error", "reason"),
    [(KeyboardInterrupt(), INTERRUPTED), (SystemExit(143), INTERRUPTED), (OSError(), FAILED)],
)
def test_given_up_simulation_is_withheld_and_leaves_nothing(
    simulation: Callable[[], Recipe], error: BaseException, reason: str
) -> None:
    recipe = simulation()
    simulation_give_up(recipe=recipe, reason=reason_of(error), actor=None)
    recipe.refresh_from_db()
    release = Release.objects.get(recipe=recipe)
    assert (recipe.status, release.outcome, release.cause) == ("closed", "withheld", Release.Cause.GIVEN_UP)
    assert release.reason == reason
    for model in (Chunk, SubAggregate, StoredReports, ReportNonce, RecipeKey, Stream):
        assert not model.objects.exists()


def test_given_up_simulation_in_the_middle_of_summing_leaves_no_chunk() -> None:
    recipe = of_one_server()
    collections_advance()
    assert Chunk.objects.exists()
    simulation_give_up(recipe=recipe, reason=reason_of(KeyboardInterrupt()), actor=None)
    assert not Chunk.objects.exists()
    collections_advance()
    assert Release.objects.get(recipe=recipe).outcome == "withheld"


def test_result_that_is_there_when_a_simulation_is_given_up_stays() -> None:
    recipe = of_one_server()
    simulation_give_up(recipe=recipe, reason=reason_of(OSError()), actor=None)
    simulation_give_up(recipe=recipe, reason=reason_of(KeyboardInterrupt()), actor=None)
    assert Release.objects.get(recipe=recipe).reason == FAILED
