"""`recipe publish` and `recipe close`: the life of a recipe from the command line."""

import base64
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panapp.database import require_migrated_database
from panapp.recipe_file import read_recipe_file
from panprivacy.errors import FieldError
from recipes.models import Recipe
from recipes.operations import RecipeStateError, recipe_close, recipe_publish_file

INPUT_ERROR = 2


class Command(BaseCommand):
    help = "Publish a recipe file for real devices, or close a published recipe."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        publish = actions.add_parser("publish", help="publish a recipe file")
        publish.add_argument("file", type=Path, help="recipe file (JSON)")
        publish.add_argument("--json", action="store_true", help="print the published recipe as JSON")
        close = actions.add_parser("close", help="close a published recipe, so that its result is released")
        close.add_argument("identifier", help="identifier of the recipe")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            members = read_recipe_file(options["file"]) if options["action"] == "publish" else {}
            require_migrated_database()
            if options["action"] == "publish":
                self.publish(members, as_json=options["json"])
            else:
                self.close(options["identifier"])
        except (FieldError, RecipeStateError) as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None

    def publish(self, members: dict[str, Any], *, as_json: bool) -> None:
        recipe = recipe_publish_file(members=members, actor=None)
        if not as_json:
            self.stdout.write(f"Published {recipe.name!r}: {recipe.identifier}")
            return
        published = {
            "id": recipe.identifier,
            "document": recipe.published.document,
            "signature": base64.b64encode(bytes(recipe.signature)).decode(),
            "status": "open",
        }
        self.stdout.write(json.dumps(published, ensure_ascii=False))

    def close(self, identifier: str) -> None:
        recipe = Recipe.objects.filter(identifier=identifier).first()
        if recipe is None:
            raise FieldError("identifier", "no recipe has this identifier")
        recipe_close(recipe=recipe, actor=None)
        self.stdout.write(f"Closed {recipe.name!r}: {recipe.identifier}")
