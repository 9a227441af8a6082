"""Serializers made of dataclasses, so that every field, its type and its words are written once."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from functools import partial
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from rest_framework import serializers


class _PlainSerializer(serializers.Serializer[Any]):
    def to_representation(self, instance: Any) -> Any:
        return instance if isinstance(instance, dict) else asdict(instance)


_FIELDS: Mapping[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    bool: serializers.BooleanField,
    float: serializers.FloatField,
    int: serializers.IntegerField,
    str: serializers.CharField,
}
_MADE: dict[type, type[serializers.Serializer[Any]]] = {}


def serializer_of(
    shown: type, name: str = "", **given: Callable[..., serializers.Field[Any, Any, Any, Any]]
) -> type[serializers.Serializer[Any]]:
    """A serializer for what `dataclasses.asdict` makes of a dataclass: types are those of the annotations,
    help texts those of `Attributes:` in the docstring.

    Args:
        name: in the description; by default that of the dataclass.
        given: makes a field whose annotation is not specific enough.
    """
    words = _attributes(shown)
    fields = {
        member: (given.get(member) or partial(_field, hint))(help_text=words.get(member, ""))
        for member, hint in get_type_hints(shown).items()
    }
    made = type(f"{name or shown.__name__}Serializer", (_PlainSerializer,), fields)
    return _MADE.setdefault(shown, made)


def _field(hint: Any, **options: Any) -> Any:
    """The field for a type, such as `list[float] | None`."""
    inner = get_args(hint)
    if NoneType in inner:
        (hint,) = (one for one in inner if one is not NoneType)
        return _field(hint, allow_null=True, **options)
    origin = get_origin(hint)
    if origin in (list, tuple):
        if is_dataclass(inner[0]):
            return _field(inner[0], many=True, **options)
        return serializers.ListField(child=_field(inner[0]), **options)
    if origin in (dict, Mapping):
        return serializers.DictField(child=_field(inner[1]), **options)
    if isinstance(hint, type) and is_dataclass(hint):
        return (_MADE.get(hint) or serializer_of(hint))(**options)
    if issubclass(hint, Enum):
        return serializers.ChoiceField([one.value for one in hint], **options)
    return _FIELDS[hint](**options)


def _attributes(shown: type) -> dict[str, str]:
    """Name → its description in the docstring, in words of JSON."""
    listed = (inspect.getdoc(shown) or "").partition("Attributes:\n")[2]
    found = {}
    for entry in re.split(r"^    (?=\S)", listed, flags=re.MULTILINE)[1:]:
        names, _, text = entry.partition(": ")
        words = " ".join(text.split()).replace("None", "null")
        if words[0].isascii():  # no capital ε
            words = words[0].upper() + words[1:]
        found.update(dict.fromkeys(names.split(", "), words))
    return found
