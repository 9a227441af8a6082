"""The result of a check: what holds, what could not be checked, or what does not hold."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.json_objects import without_repetition


class CheckError(ValueError):
    """Something that does not hold; the message names it."""


class NotWitnessedError(CheckError):
    """A proof with the signatures of too few witnesses; there may be more of them later."""


@dataclass(frozen=True)
class Findings:
    """What holds of a file, and what could not be checked with the other given files."""

    sentences: tuple[str, ...]
    unchecked: tuple[str, ...]

    def __add__(self, other: "Findings") -> "Findings":
        """Both together."""
        return Findings(self.sentences + other.sentences, self.unchecked + other.unchecked)


def json_object(content: bytes, what: str = "file") -> Mapping[str, Any]:
    """A JSON object that every program reads alike; CheckError if it is none, or has a field twice.

    Args:
        what: it is, for people.
    """
    try:
        found = json.loads(content.decode(), object_pairs_hook=_members, parse_constant=_refuse_constant)
    except CheckError:
        raise
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CheckError(
            "the file is no proof or checkpoint, and not a JSON object as recipes and results are"
            if what == "file"
            else f"the {what} is not a JSON object"
        )
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Another program could show the one that was not checked.
    return without_repetition(pairs, _refuse_repeated)


def _refuse_constant(name: str) -> None:
    # Python alone reads NaN and Infinity: browsers would pass over an entry with one.
    raise ValueError(f"JSON has no {name}")


def _refuse_repeated(name: str) -> None:
    raise CheckError(f"the file has the field {name!r} twice")
