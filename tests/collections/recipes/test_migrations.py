"""Migrations that compute: from the state before, with rows in it."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from recipes.models import Recipe, RecipeGuarantees
from recipes.selectors import guarantees_of
from tests.factories import draft_recipe, published_recipe
from trust_models.publishing import recipe_close


def migrate(app: str, name: str) -> None:
    MigrationExecutor(connection).migrate([(app, name)])


@pytest.fixture
def _migrated_in_the_end() -> Iterator[None]:
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_migrated_in_the_end")
def test_migration_states_what_recipes_that_were_published_before_it_guarantee() -> None:
    open_recipe, closed = published_recipe(), recipe_close(recipe=published_recipe(epsilon=1.0), actor=None)
    draft, foreign = draft_recipe(), draft_recipe()
    foreign.status, foreign.identifier, foreign.document = (
        "published",
        "f" * 64,
        '{"format": "panapp-recipe-9"}',
    )
    foreign.published_at = foreign.closes_at = timezone.now()
    foreign.save()
    stated = {recipe.pk: guarantees_of(recipe) for recipe in (open_recipe, closed)}
    migrate("recipes", "0002_published_is_final")
    assert "recipes_recipeguarantees" not in connection.introspection.table_names()
    migrate("recipes", "0003_stated_guarantees")
    assert dict(RecipeGuarantees.objects.values_list("recipe", "stated")) == stated
    assert Recipe.objects.filter(pk__in=(draft.pk, foreign.pk), guarantees=None).count() == 2
    with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
        RecipeGuarantees.objects.update(stated=[])


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_migrated_in_the_end")
def test_migration_finds_population_and_event_of_recipes_that_stand_and_leaves_them_guarded() -> None:
    named = published_recipe(event="crash")
    migrate("recipes", "0006_asked_again")
    migrate("recipes", "0007_population_and_event")
    row = Recipe.objects.get(pk=named.pk)
    assert (row.population, row.event) == ("everyone", "crash")
    with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
        Recipe.objects.filter(pk=named.pk).update(population="clinics")
