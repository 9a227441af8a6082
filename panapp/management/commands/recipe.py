"""`recipe publish` and `recipe close`: the life of a recipe from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panapp.database import require_migrated_database
from panapp.recipe_file import read_recipe_file, take_universe
from panprivacy import base64_text
from panprivacy.errors import FieldError
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.models import Recipe
from recipes.selectors import helper_signature_of, shuffler_signature_of
from releases.operations import result_withhold
from trust_models import configured_partners
from trust_models.publishing import recipe_close, recipe_publish_file

INPUT_ERROR = 2
LONGEST_REASON = 200


class Command(BaseCommand):
    help = "Publish a recipe file for real devices, close a published recipe, or withhold a result for good."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        publish = actions.add_parser("publish", help="publish a recipe file")
        publish.add_argument("file", type=Path, help="recipe file (JSON)")
        publish.add_argument("--json", action="store_true", help="print the published recipe as JSON")
        close = actions.add_parser("close", help="close a published recipe, so that its result is released")
        close.add_argument("identifier", help="identifier of the recipe")
        withhold = actions.add_parser(
            "withhold", help="give up the result of a closed recipe, e.g. where its helper is gone for good"
        )
        withhold.add_argument("identifier", help="identifier of the recipe")
        withhold.add_argument("--reason", required=True, help="why, in words; it is public")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            members, universe = {}, None
            if options["action"] == "publish":
                members = read_recipe_file(options["file"])
                universe = take_universe(members, options["file"].parent)
            require_migrated_database()
            if options["action"] == "publish":
                self.publish(members, universe, as_json=options["json"])
            elif options["action"] == "close":
                self.close(options["identifier"])
            else:
                self.withhold(options["identifier"], options["reason"].strip())
        except PartnerUnavailableError as error:
            raise CommandError(str(error)) from error
        except (FieldError, RecipeStateError) as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None

    def publish(self, members: dict[str, Any], universe: Sequence[str] | None, *, as_json: bool) -> None:
        recipe = recipe_publish_file(
            members=members, actor=None, partners=configured_partners(), universe=universe
        )
        if not as_json:
            self.stdout.write(f"Published {recipe.name!r}: {recipe.identifier}")
            return
        signatures = {
            "helper_signature": helper_signature_of(recipe),
            "shuffler_signature": shuffler_signature_of(recipe),
        }
        published = {
            "id": recipe.identifier,
            "document": recipe.published.document,
            "signature": base64_text.encode(bytes(recipe.signature)),
            **{
                name: None if signature is None else base64_text.encode(signature)
                for name, signature in signatures.items()
            },
            "status": "open",
        }
        self.stdout.write(json.dumps(published, ensure_ascii=False))

    def close(self, identifier: str) -> None:
        recipe = recipe_close(recipe=_recipe(identifier), actor=None)
        self.stdout.write(f"Closed {recipe.name!r}: {recipe.identifier}")

    def withhold(self, identifier: str, reason: str) -> None:
        if not 1 <= len(reason) <= LONGEST_REASON:
            raise FieldError("reason", f"must have 1 to {LONGEST_REASON} characters")
        recipe = _recipe(identifier)
        result_withhold(recipe=recipe, reason=reason, actor=None)
        self.stdout.write(f"Withheld the result of {recipe.name!r}: {recipe.identifier}")


def _recipe(identifier: str) -> Recipe:
    recipe = Recipe.objects.filter(identifier=identifier).first()
    if recipe is None:
        raise FieldError("identifier", "no recipe has this identifier")
    return recipe
