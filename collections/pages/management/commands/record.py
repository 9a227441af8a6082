"""`record`: a record of processing for data protection, from a recipe at this installation."""

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.loader import render_to_string

from pages.recipe.record import Record, record_of
from pages.recipe.record_markdown import record_markdown
from panprivacy.formats.errors import FieldError
from recipes.errors import UnreadableRecipeError
from recipes.models import Recipe
from results.selectors import with_release
from storage.database import require_migrated_database

INPUT_ERROR = 2

BEGINNING = re.compile(r"[0-9a-f]{1,64}")


def record_html(record: Record) -> str:
    """The record as a page of its own, which loads nothing."""
    return render_to_string("recipe/record_file.html", {"record": record})


FORMS = {"md": record_markdown, "html": record_html}


class Command(BaseCommand):
    help = "Print a draft of the records that Articles 30 and 35 GDPR ask for, as far as a recipe shows them."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("recipe", help="identifier of a published recipe, or its unique beginning")
        parser.add_argument("--format", choices=FORMS, default="md", help="default: %(default)s")

    def handle(self, *args: Any, **options: Any) -> None:
        require_migrated_database()
        try:
            text = FORMS[options["format"]](_record(options["recipe"]))
        except FieldError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        self.stdout.write(text.rstrip("\n"))


def _record(beginning: str) -> Record:
    if not BEGINNING.fullmatch(beginning):
        raise FieldError("recipe", "must be 1 to 64 hexadecimal digits in lower case")
    recipes = with_release(Recipe.objects.select_related("guarantees"))
    found = list(recipes.filter(identifier__startswith=beginning)[:2])
    if not found:
        raise FieldError("recipe", "no published recipe has this identifier")
    if len(found) > 1:
        raise FieldError("recipe", "several recipes begin with it; give more digits")
    try:
        return record_of(found[0])
    except UnreadableRecipeError as error:
        raise FieldError("recipe", str(error)) from None
