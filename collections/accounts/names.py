"""Names of accounts and groups that people can distinguish.

After Unicode's report on security (UTS #39), with what Python knows of characters: a name has letters of one
script, only characters that can be seen, and is not confusable with a name that is taken. Two names that are
made at the same moment are not compared.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db.models import Model

EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")
"""Written together in one word, and like no letters of other scripts."""

_SAME_SCRIPT = {"EXTENDED": "ARABIC"}
"""First words of names of characters that belong to another one's script: Persian digits."""

_LOOKS_LIKE = str.maketrans(
    "АВЕКМНОРСТУХІЈЅԚԜӀавегкмнопрстухьіјѕһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορτυχωɑɡıɩ",
    "ABEKMHOPCTYXIJSQWlaberkmhonpctyxbijshdqwlABEZHIKMNOPTYXaikvoptuxwagii",
)
"""Cyrillic, Greek and rare Latin letters, with the plain ones that they are taken for."""

_INVISIBLE = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks without a glyph (Unicode's Default_Ignorable_Code_Point), and the blank of Braille."""


class OnlyVisible:
    """A validator of Django: no characters without a glyph, and no spaces but plain ones."""

    def __call__(self, name: str) -> None:
        for character in name:
            if _is_invisible(character):
                code = f"U+{ord(character):04X}"
                raise ValidationError(
                    f"It must have visible characters only, and plain spaces: {code} is none.",
                    code="invisible",
                )


class OfOneScript:
    """A validator of Django: letters and digits are of one script. ASCII characters other than letters may be
    combined with any script."""

    def __call__(self, name: str) -> None:
        scripts = sorted({_script(character) for character in _plain(name) if _has_script(character)})
        if len(scripts) > 1:
            raise ValidationError(
                f"Its letters must be of one script: it mixes {' and '.join(scripts)}.", code="mixed_scripts"
            )


class LikeNoOther:
    """Refuses a name if another row's name is confusable with it, in any script or case."""

    def __init__(self, model: type[Model], field: str) -> None:
        self.model, self.field = model, field

    def __call__(self, name: str, own: Model | None = None) -> None:
        """ValidationError if it is confusable with another's.

        Args:
            own: the row that is named, which may get another case of its own name; None if it is not known.
        """
        others: Any = self.model._default_manager.exclude(**{self.field: name})
        if own is not None and own.pk is not None:
            others = others.exclude(pk=own.pk)
        looks = looks_like(name)
        if any(looks & looks_like(other) for other in others.values_list(self.field, flat=True).iterator()):
            raise ValidationError("It looks like a name that is taken.", code="looks_taken")


def looks_like(name: str) -> set[str]:
    """How a name is read, with a capital I as one or as a small L; names that people can hardly distinguish
    have a reading in common."""
    plain = _plain(name)
    readings = (plain, plain.replace("I", "l"))
    return {reading.translate(_LOOKS_LIKE).lower().translate(_LOOKS_LIKE) for reading in readings}


def names_guard() -> None:
    """Have forms, commands and API refuse such names wherever accounts and groups are made or renamed: all
    ask the field to clean them."""
    for model, field in ((User, "username"), (Group, "name")):
        named: Any = model._meta.get_field(field)
        named.validators += [OnlyVisible(), OfOneScript()]
        named.clean = _cleaning(named.clean, LikeNoOther(model, field))


def _cleaning(clean: Callable[[Any, Model | None], Any], check: LikeNoOther) -> Callable[..., Any]:
    """`Field.clean`, which knows the named row, unlike validators."""

    def cleaned(value: Any, model_instance: Model | None) -> Any:
        found = clean(value, model_instance)
        check(found, model_instance)
        return found

    return cleaned


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name)


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return (
        category[0] == "C" or (category[0] == "Z" and character != " ") or bool(_INVISIBLE.match(character))
    )


def _has_script(character: str) -> bool:
    return character.isalpha() or (character.isalnum() and not character.isascii())


def _script(character: str) -> str:
    """By the first word of its name, such as `LATIN SMALL LETTER A`."""
    first = re.split("[ -]", unicodedata.name(character, "UNKNOWN"))[0]
    first = _SAME_SCRIPT.get(first, first)
    return "East Asian" if first in EAST_ASIAN else first.capitalize()
