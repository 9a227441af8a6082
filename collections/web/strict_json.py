"""How JSON from any sender is parsed: in UTF-8, no field twice in an object, no NaN or Infinity."""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from panprivacy.formats.errors import FieldError
from panprivacy.formats.json_objects import without_repetition
from web.problems import Problem, invalid_field, malformed_body

LONGEST_SHOWN = 200
"""Most characters of a repeated name that are shown."""


UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""JSON can spell NUL and lone surrogates; no database takes them for text."""

CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates. Joiners and marks of direction are none: names have them."""


class JSONRefusedError(ValueError):
    """It is not JSON, or not as it is read here. The message names in a word or a clause what is wrong.

    Attributes:
        repeated: the name that an object has more than once, cut and printable; None if something else is
            wrong.
    """

    def __init__(self, kind: str, *, repeated: str | None = None) -> None:
        super().__init__(kind)
        self.repeated = repeated


def json_of(body: bytes, *, name_check: Callable[[str], None] | None = None) -> object:
    """The value of a JSON body. Lists and objects may be nested as deep as Python's own parser allows.

    Args:
        name_check: is called with the name of every field, in all objects, and may raise any error.

    Raises:
        JSONRefusedError: not JSON in UTF-8, nested too deep, a number that is none (NaN, Infinity), or an
            object that has a field twice.
    """
    decoder = _DECODER if name_check is None else _decoder(partial(_checked_object, name_check))
    try:
        # Half a surrogate pair can be spelled in plain JSON, too: who stores or shows a text refuses it.
        return decoder.decode(body.decode("utf-8-sig", "surrogatepass"))
    except JSONRefusedError:
        raise
    except (ValueError, RecursionError) as error:
        raise JSONRefusedError(type(error).__name__) from None


def json_of_base64(body: bytes, *, containers: int, members: int) -> object:
    """The value of a JSON body whose texts are base64 and names. It is bounded before anything of it is
    built.

    Args:
        containers: most objects and lists in the body, however they are nested: an empty one takes a byte in
            the body and a hundred in memory.
        members: most fields of all of them.

    Raises:
        JSONRefusedError: as of `json_of`; or more than that, or a character that base64 does not need.
    """
    # One character outside of ASCII makes a text of millions take four times as much memory.
    if not body.isascii() or b"\\u" in body:
        raise JSONRefusedError("not plain ASCII, or an escape with \\u")
    if body.count(b"[") + body.count(b"{") > containers:
        raise JSONRefusedError("too many objects and lists")
    if body.count(b",") > members:
        raise JSONRefusedError("too many fields")
    return json_of(body)


def json_problem(error: JSONRefusedError, otherwise: str) -> Problem:
    """The answer to a body that was refused: it names the repeated field; if there is none, its text is
    `otherwise`."""
    if error.repeated is None:
        return malformed_body(otherwise)
    return invalid_field(repeated_member(error.repeated))


def repeated_member(name: str) -> FieldError:
    """The message about a field that an object has more than once."""
    return FieldError(name, "occurs more than once")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return without_repetition(pairs, _refuse_repeated)


def _checked_object(name_check: Callable[[str], None], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, _ in pairs:
        name_check(name)
    return _object(pairs)


def _refuse_repeated(name: str) -> NoReturn:
    shown = (character if character.isprintable() else "?" for character in name[:LONGEST_SHOWN])
    raise JSONRefusedError("RepeatedMember", repeated="".join(shown))


def _refuse_constant(constant: str) -> NoReturn:
    raise JSONRefusedError("NotANumber")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):  # 1e400
        raise JSONRefusedError("NotANumber")
    return number


def _decoder(pairs_hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=pairs_hook, parse_constant=_refuse_constant, parse_float=_finite
    )


_DECODER = _decoder(_object)
"""Made once, for what comes often."""
