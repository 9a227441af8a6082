"""Population and event in columns of their own, which an index finds."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from recipes.guards import PUBLISHED, PUBLISHED_AT_FIRST

BEFORE = PUBLISHED_AT_FIRST.operation()


def fill(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    recipes = apps.get_model("recipes", "Recipe").objects
    for recipe in recipes.only("draft").iterator(chunk_size=500):
        recipe.population = recipe.draft.get("population") or ""
        recipe.event = recipe.draft.get("event") or ""
        recipe.save(update_fields=["population", "event"])


class Migration(migrations.Migration):
    dependencies = [("recipes", "0006_asked_again")]
    operations = [
        # The rows of published recipes are filled, and SQLite may make the table anew, without its triggers.
        BEFORE.reversed(),
        migrations.AddField(
            model_name="recipe",
            name="population",
            field=models.CharField(default="", editable=False, max_length=60),
        ),
        migrations.AddField(
            model_name="recipe",
            name="event",
            field=models.CharField(
                blank=True,
                default="",
                editable=False,
                help_text="Its name; empty where none is named.",
                max_length=60,
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="recipe",
            index=models.Index(fields=["population", "id"], name="recipe_of_population"),
        ),
        migrations.AddIndex(
            model_name="recipe", index=models.Index(fields=["event", "id"], name="recipe_of_event")
        ),
        PUBLISHED.operation(),
    ]
