"""`recipe draft`, `publish`, `close`, `withhold` and `result`: the life of a recipe from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import USUAL
from panprivacy.recipe.document import IDENTIFIER_PATTERN, PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from publishing.approvals import approval_needed
from publishing.publication import recipe_close, recipe_publish, recipe_publish_file
from recipes.api import ServedRecipeSerializer
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.models import Recipe
from recipes.operations import recipe_draft_save
from recipes.recipe_file import (
    WITHOUT_APPROVAL,
    read_recipe_file,
    require_recipe_file,
    take_universe,
)
from recipes.refusals import limit_errors
from results.exports import release_document
from results.models import Release, SimulatedTruth
from results.operations import result_withhold
from storage.database import require_migrated_database
from web.remote_site import TOKEN_VARIABLE, RemoteSite, SiteError

INPUT_ERROR = 2


class Command(BaseCommand):
    help = (
        "Draft, publish and close recipes, withhold a result for good, or print one: here, or at another "
        f"site with --site and a token in {TOKEN_VARIABLE}."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        draft = actions.add_parser("draft", help="store a recipe file as a draft, to be read on its page")
        draft.add_argument("file", help="recipe file (JSON)")
        publish = actions.add_parser("publish", help="publish a recipe file or a draft")
        publish.add_argument("file", help="recipe file (JSON), or the number of a draft")
        publish.add_argument("--json", action="store_true", help="print the published recipe as JSON")
        publish.add_argument(
            "--simulation",
            action="store_true",
            help="for simulated devices (`python -m devices_sim fleet`): real ones refuse it, it spends "
            "nothing, and is closed after a day at the latest",
        )
        close = actions.add_parser("close", help="close a published recipe, so that its result is released")
        withhold = actions.add_parser(
            "withhold", help="give up the result of a closed recipe, if, say, its helper is gone for good"
        )
        result = actions.add_parser("result", help="print a result as JSON")
        for action in (close, withhold, result):
            action.add_argument("identifier", help="identifier of the recipe")
        withhold.add_argument("--reason", required=True, help="why, in words; it is public")
        for action in (draft, publish, close, withhold, result):
            action.add_argument("--site", help="address of another site, e.g. https://telemetry.example")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            action, members, universe = options["action"], {}, None
            if "identifier" in options and not IDENTIFIER_PATTERN.fullmatch(options["identifier"]):
                raise FieldError("identifier", "must be 64 hexadecimal digits in lower case")
            if action in ("draft", "publish") and not options["file"].isdigit():
                file = Path(options["file"])
                members = read_recipe_file(file)
                require_recipe_file(members)
                universe = take_universe(members, file.parent)
                if warning := RecipeDraft.from_mapping(members).warning:
                    self.stderr.write(f"Warning: {warning}")
            elif action == "draft":
                raise FieldError("file", "must be the name of a recipe file")
            place: _Here | _Elsewhere
            if options["site"] is None:
                require_migrated_database()
                place = _Here()
            else:
                place = _Elsewhere(RemoteSite.from_environment(options["site"]))
            if action == "publish" and options["simulation"] and (options["site"] or not members):
                raise FieldError("simulation", "is for a recipe file, and for this installation only")
            if action == "draft":
                number = place.draft(members)
                self.stdout.write(f"Draft {number}: read it, then publish it with `recipe publish {number}`")
            elif action == "publish":
                number = 0 if members else int(options["file"])
                published = place.publish(number, members, universe, simulation=options["simulation"])
                self._publish(published, as_json=options["json"], here=options["site"] is None)
            elif action == "close":
                recipe = place.close(options["identifier"])
                self.stdout.write(f"Closed {recipe['document']['name']!r}: {recipe['id']}")
            elif action == "withhold":
                result = place.withhold(options["identifier"], options["reason"].strip())
                self.stdout.write(f"Withheld the result of {result['recipe']['name']!r}: {result['id']}")
            else:
                self.stdout.write(json.dumps(place.result(options["identifier"]), ensure_ascii=False))
        except PartnerUnavailableError as error:
            raise CommandError(str(error)) from error
        except SiteError as error:
            refused = error.status is not None and 400 <= error.status < 500
            raise CommandError(str(error), returncode=INPUT_ERROR if refused else 1) from None
        except (FieldError, RecipeStateError) as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None

    def _publish(self, recipe: dict[str, Any], *, as_json: bool, here: bool) -> None:
        published = PublishedRecipe.from_document(recipe["document"])
        statistic = published.calibrated_statistic
        if not published.simulation and statistic.device_input.has_devices:
            for error in limit_errors(statistic, USUAL, whose="devices that are not set otherwise"):
                self.stderr.write(f"Warning: devices may refuse it. {error}")
        if here and not published.simulation and approval_needed(published.population):
            self.stderr.write(WITHOUT_APPROVAL)
        if not as_json:
            self.stdout.write(f"Published {recipe['document']['name']!r}: {recipe['id']}")
            return
        self.stdout.write(json.dumps(recipe, ensure_ascii=False))


class _Here:
    """This installation: its database, for the operator who may open it."""

    def draft(self, members: dict[str, Any]) -> int:
        return recipe_draft_save(members=members, actor=None).pk

    def publish(
        self, number: int, members: dict[str, Any], universe: Sequence[str] | None, *, simulation: bool
    ) -> dict[str, Any]:
        if members:
            recipe = recipe_publish_file(
                members=members, actor=None, universe=universe, simulation=simulation
            )
        else:
            draft = Recipe.objects.filter(pk=number).first()
            if draft is None:
                raise FieldError("file", "no draft has this number")
            recipe = recipe_publish(recipe=draft, actor=None)
        return dict(ServedRecipeSerializer(recipe).data)

    def close(self, identifier: str) -> dict[str, Any]:
        closed = recipe_close(recipe=_recipe(identifier), actor=None)
        return dict(ServedRecipeSerializer(closed).data)

    def withhold(self, identifier: str, reason: str) -> dict[str, Any]:
        release = result_withhold(recipe=_recipe(identifier), reason=reason, actor=None)
        return _document(release)

    def result(self, identifier: str) -> dict[str, Any]:
        release = Release.objects.filter(recipe=_recipe(identifier)).first()
        if release is None:
            raise FieldError("identifier", "the recipe has no result yet")
        return _document(release)


class _Elsewhere:
    """Another site, by its API."""

    def __init__(self, site: RemoteSite) -> None:
        self._site = site

    def draft(self, members: dict[str, Any]) -> int:
        return int(self._site.post("recipes/", members, repeat=False)["number"])

    def publish(
        self, number: int, members: dict[str, Any], universe: Sequence[str] | None, *, simulation: bool
    ) -> dict[str, Any]:
        # For a file, the content that was sent, even if the draft is edited in between.
        if members:
            draft = self._site.post("recipes/", members, repeat=False)
        else:
            draft = self._site.get(f"recipes/drafts/{number}/")
        number, body = int(draft["number"]), {"reviewed": draft["reviewed"]}
        if universe is not None:
            body["universe"] = list(universe)
        try:
            return self._site.post(f"recipes/{number}/publish/", body)
        except SiteError as error:
            again = f"draft {number} is kept: review it, then `recipe publish {number}` tries again"
            raise SiteError(f"{error}; {again}", error.status) from None

    def close(self, identifier: str) -> dict[str, Any]:
        return self._site.post(f"recipes/{identifier}/close/", {})

    def withhold(self, identifier: str, reason: str) -> dict[str, Any]:
        return self._site.post(f"recipes/{identifier}/withhold/", {"reason": reason})

    def result(self, identifier: str) -> dict[str, Any]:
        return self._site.get(f"recipes/{identifier}/result/")


def _recipe(identifier: str) -> Recipe:
    recipe = Recipe.objects.filter(identifier=identifier).first()
    if recipe is None:
        raise FieldError("identifier", "no recipe has this identifier")
    return recipe


def _document(release: Release) -> dict[str, Any]:
    truth = SimulatedTruth.objects.filter(recipe=release.recipe).first()
    return release_document(release, truth)
