"""Reading recipe files for the commands."""

import json
from pathlib import Path
from typing import Any, NoReturn

from panprivacy.formats.errors import FieldError
from panprivacy.formats.json_objects import without_repetition
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.file_fields import SERIES_FIELDS
from panprivacy.recipe.rounds.draft import FIELDS as ROUNDS_FIELDS
from panprivacy.statistics.streams.parameters import ITEM_LIST
from recipes.item_lists import distinct_items
from recipes.items_file import read_items

MAX_BYTES = 1024 * 1024
WITHOUT_APPROVAL = "Published by the operator, without the approval of another analyst: so says the log."
"""The message of commands if a population needs four eyes: the shell is not bound by it."""

LONGEST_NAME = 200
"""Most characters of a field's name, or of the name of another file."""


def read_recipe_file(path: Path) -> dict[str, Any]:
    """The fields of a recipe file, not yet validated.

    Raises:
        FieldError: named `file`, if it cannot be read or is not a JSON object.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FieldError("file", f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise FieldError("file", f"{path} is larger than {MAX_BYTES:,} bytes")
    try:
        members = json.loads(content, object_pairs_hook=_named_members)
    except FieldError:
        raise
    except (ValueError, RecursionError) as error:
        raise FieldError("file", f"{path} is not valid JSON: {error}") from None
    if not isinstance(members, dict):
        raise FieldError("file", f"{path} must hold one JSON object")
    return members


def has_rounds(members: dict[str, Any]) -> bool:
    """Whether the file is of a recipe in rounds, one after the other."""
    return "every" not in members and any(name in members for name in ROUNDS_FIELDS)


def require_series_file(members: dict[str, Any]) -> None:
    """FieldError if the file is of one recipe."""
    if "every" not in members and not has_rounds(members):
        raise FieldError(
            "every",
            "is missing: this is a recipe file, which `collect` and `recipe publish` take. "
            "A series file also has `every`, and `rounds` or `until`",
        )


def require_clocked_file(members: dict[str, Any]) -> None:
    """FieldError if the file is not of a series by the clock."""
    require_series_file(members)
    if has_rounds(members):
        raise FieldError(
            "every",
            "is missing: the rounds of this file follow one another, and `collect` runs them on simulated "
            "devices. `series simulate` takes files with `every`",
        )


def require_recipe_file(members: dict[str, Any]) -> None:
    """FieldError if the file is of a series."""
    for name in SERIES_FIELDS:
        if name in members:
            raise FieldError(
                name, "makes this a series file, which `series publish` and `series simulate` take"
            )


def take_universe(members: dict[str, Any], folder: Path) -> list[str] | None:
    """The items in the file that `universe` names, next to the recipe file; None if there is no such field.

    It is taken out of the fields, and its consequences are put in: that items are listed, and how many.

    Args:
        folder: of the recipe file.

    Raises:
        FieldError: named `universe`, if it cannot be read or lists an item twice; or another field
            contradicts it.
    """
    if "universe" not in members:
        return None
    name = members.pop("universe")
    if not isinstance(name, str) or not _is_name(name):
        raise FieldError(
            "universe", f"must be the name of a CSV file with one column `item`, not {as_typed(name)}"
        )
    universe = distinct_items(read_items(folder / name, field="universe"))
    if not universe:
        raise FieldError("universe", f"{folder / name} lists no items")
    for field, follows in {"items": ITEM_LIST, "universe_size": len(universe)}.items():
        if members.setdefault(field, follows) != follows:
            raise FieldError(field, f"must be {follows} with this `universe`, or be left out")
    return universe


def _named_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if not all(_is_name(name) for name, _ in pairs):
        raise FieldError("file", f"has a field whose name is not 1 to {LONGEST_NAME} printable characters")
    return without_repetition(pairs, _refuse_repeated)


def _refuse_repeated(name: str) -> NoReturn:
    raise FieldError(name, "occurs more than once in the file")


def _is_name(text: str) -> bool:
    """Whether it can be shown on one line of a terminal, and be the name of something."""
    return 1 <= len(text) <= LONGEST_NAME and text.isprintable()
