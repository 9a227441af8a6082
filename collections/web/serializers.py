"""Bodies of the API: what a serializer here reads or renders is what `extend_schema` describes."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request

from panprivacy.formats import base64_text
from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time
from web.json_requests import read_object, text_member
from web.refusals import as_problems


class ExactSerializer(serializers.Serializer[dict[str, Any]]):
    """A body that has these fields and no others."""

    additional: ClassVar[Any] = False
    most_bytes: ClassVar[int] = 8 * 1024
    """That the body may have."""

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The fields that the body of a request has.

        Texts, booleans, whole numbers and objects are of their types. Ranges, and what other fields hold, are
        for the operation that takes them to check.

        Raises:
            Problem: it cannot be read, or a field is missing, unknown or of another type.
        """
        fields = cls().fields
        members = read_object(request._request, cls.most_bytes, names=tuple(fields))
        with as_problems():
            return _checked(fields, members)


class OpenSerializer(serializers.Serializer[dict[str, Any]]):
    """A body that has these fields, and may have others, which generated programs keep."""

    additional: ClassVar[Any] = {}
    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "must be an object"}

    def to_representation(self, instance: Any) -> Any:
        return instance


class PagedSerializer(serializers.Serializer[dict[str, Any]]):
    """A page of a list."""

    next = serializers.CharField(allow_null=True, help_text="Address of the next page, or null.")


@cache
def paged(shown: type[serializers.BaseSerializer[Any]]) -> type[PagedSerializer]:
    """What `paging.api_results` answers of a list."""
    name = re.sub("(Summary)?Serializer$", "ListSerializer", shown.__name__)
    return type(name, (PagedSerializer,), {"results": shown(many=True)})


class ObjectField(serializers.DictField):
    """An object, unchanged."""

    def to_representation(self, value: Any) -> Any:
        return value


class ListedField(serializers.ListField):
    """A list, unchanged: there may be thousands of values."""

    def to_representation(self, data: Any) -> Any:
        return data


class SignatureField(serializers.CharField):
    """Bytes, in base64."""

    def to_representation(self, value: Any) -> str:
        return base64_text.encode(bytes(value))


class FiniteField(serializers.FloatField):
    """A number or null, which also means infinity: JSON has none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: float) -> Any:
        return None if math.isinf(value) else value


class SecondsField(serializers.DateTimeField):
    """A time, in whole seconds."""

    def to_representation(self, value: datetime) -> str:
        return format_time(value)


def _checked(fields: Mapping[str, Any], members: Mapping[str, object], where: str = "") -> dict[str, Any]:
    """Those of the fields that `fields` describe. Raises FieldError.

    Args:
        where: the field whose object this is; empty for the body itself.
    """
    checked = {}
    for name, field in fields.items():
        if name in members:
            checked[name] = _value(name, field, members)
        elif field.required:
            why = "; null means none" if field.allow_null else ""
            if where:
                needed = [other for other, each in fields.items() if each.required]
                why = f": a {where} needs {' and '.join(needed)}"
            raise FieldError(name, f"is missing{why}")
    return checked


def _value(name: str, field: serializers.Field[Any, Any, Any, Any], members: Mapping[str, object]) -> Any:
    value = members[name]
    if value is None and field.allow_null:
        return None
    if isinstance(field, serializers.CharField):
        return text_member(members, name)
    if isinstance(field, serializers.BooleanField) and not isinstance(value, bool):
        raise FieldError(name, f"must be true or false, not {as_typed(value)}")
    if isinstance(field, serializers.IntegerField) and (
        isinstance(value, bool) or not isinstance(value, int)
    ):
        low = "" if field.min_value is None else f" of at least {field.min_value:,}"
        high = "" if field.max_value is None else f"{' and' if low else ' of'} at most {field.max_value:,}"
        raise FieldError(name, f"must be a whole number{low}{high}, not {as_typed(value)}")
    if isinstance(field, OpenSerializer) and not isinstance(value, dict):
        raise FieldError(name, str(field.error_messages["invalid"]))
    if isinstance(field, ExactSerializer):
        if not isinstance(value, dict):
            or_null = "null or " if field.allow_null else ""
            raise FieldError(name, f"must be {or_null}an object, not {as_typed(value)}")
        checked = _checked(field.fields, value, name)
        for inner in value:
            if inner not in field.fields:
                *first, last = field.fields
                raise FieldError(inner, f"is unknown; a {name} has {', '.join(first)} and {last}")
        return checked
    return value
