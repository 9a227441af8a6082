"""`results bundle`: what a result of a recipe with a joint key is recomputed from."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panprivacy.formats.errors import FieldError
from panprivacy.recompute.bundle import BundleError
from recipes.models import Recipe
from results.bundles import NoBundleError, bundle_write
from storage.database import require_migrated_database

INPUT_ERROR = 2


class Command(BaseCommand):
    help = "Write the bundle of a result into a folder; check it with `python -m panprivacy.recompute`."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        bundle = actions.add_parser("bundle", help="write the bundle of a recipe's result")
        bundle.add_argument("recipe", help="identifier of the recipe")
        bundle.add_argument("folder", type=Path, metavar="DIR", help="the folder, new or without a bundle")

    def handle(self, *args: Any, **options: Any) -> None:
        require_migrated_database()
        recipe = Recipe.objects.filter(identifier=options["recipe"]).first()
        if recipe is None:
            error = FieldError("recipe", "must be the identifier of a published recipe")
            raise CommandError(str(error), returncode=INPUT_ERROR)
        try:
            bundle_write(recipe, options["folder"])
        except NoBundleError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        except (BundleError, OSError) as error:
            raise CommandError(f"{options['folder']}: {error}") from error
        self.stdout.write(f"Wrote {options['folder']}.")
