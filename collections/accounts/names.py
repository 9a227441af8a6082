"""Names of accounts and groups that people can tell apart.

After Unicode's report on security (UTS #39), with what Python knows of characters: a name has letters of one
script, and looks like no name that is taken. Two names that are made at the same moment are not compared.
"""

import re
import unicodedata
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


class OfOneScript:
    """A validator of Django: letters and digits are of one script. Those of ASCII that are no letters go with
    any."""

    def __call__(self, name: str) -> None:
        scripts = sorted({_script(character) for character in _plain(name) if _has_script(character)})
        if len(scripts) > 1:
            raise ValidationError(
                f"Its letters must be of one script: it mixes {' and '.join(scripts)}.", code="mixed_scripts"
            )


class LikeNoOther:
    """A validator of Django: no other row has a name that looks the same, in whatever script or case."""

    def __init__(self, model: type[Model], field: str) -> None:
        self.model, self.field = model, field

    def __call__(self, name: str) -> None:
        others: Any = self.model._default_manager.exclude(**{self.field: name})
        looks = looks_like(name)
        if any(looks & looks_like(other) for other in others.values_list(self.field, flat=True).iterator()):
            raise ValidationError("It looks like a name that is taken.", code="looks_taken")


def looks_like(name: str) -> set[str]:
    """How a name is read, with a capital I as one or as a small L; names that can hardly be told apart have a
    reading in common."""
    plain = _plain(name)
    readings = (plain, plain.replace("I", "l"))
    return {reading.translate(_LOOKS_LIKE).lower().translate(_LOOKS_LIKE) for reading in readings}


def names_guard() -> None:
    """Have forms, commands and API refuse such names wherever accounts and groups are made or renamed: all
    ask the field's validators."""
    for model, field in ((User, "username"), (Group, "name")):
        named: Any = model._meta.get_field(field)
        named.validators += [OfOneScript(), LikeNoOther(model, field)]


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name)


def _has_script(character: str) -> bool:
    return character.isalpha() or (character.isalnum() and not character.isascii())


def _script(character: str) -> str:
    """By the first word of its name, such as `LATIN SMALL LETTER A`."""
    first = re.split("[ -]", unicodedata.name(character, "UNKNOWN"))[0]
    first = _SAME_SCRIPT.get(first, first)
    return "East Asian" if first in EAST_ASIAN else first.capitalize()
