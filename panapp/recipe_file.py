"""Reading recipe files for the commands."""

import json
from pathlib import Path
from typing import Any

from panprivacy.errors import FieldError

MAX_BYTES = 1024 * 1024


def read_recipe_file(path: Path) -> dict[str, Any]:
    """The members of a recipe file, not yet validated.

    Raises:
        FieldError: named `file`, where it cannot be read or is not a JSON object.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FieldError("file", f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise FieldError("file", f"{path} is larger than {MAX_BYTES:,} bytes")
    try:
        members = json.loads(content, object_pairs_hook=_without_repetition)
    except FieldError:
        raise
    except (ValueError, RecursionError) as error:
        raise FieldError("file", f"{path} is not valid JSON: {error}") from None
    if not isinstance(members, dict):
        raise FieldError("file", f"{path} must hold one JSON object")
    return members


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise FieldError(repeated, "stands more than once in the file")
    return members
