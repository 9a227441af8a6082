"""Bodies of the API: read strictly, rendered by what describes them."""

import json
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework import serializers
from rest_framework.request import Request

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.statistics.intervals.estimate import Interval
from web.dataclass_serializers import serializer_of
from web.problems import Problem
from web.serializers import ExactSerializer, paged


class BoxSerializer(ExactSerializer):
    height = serializers.FloatField()
    colour = serializers.CharField(required=False)


class ParcelSerializer(ExactSerializer):
    name = serializers.CharField()
    number = serializers.IntegerField(min_value=1)
    fragile = serializers.BooleanField(required=False)
    box = BoxSerializer(allow_null=True)


GOOD: dict[str, Any] = {"name": "a", "number": 1, "box": None}


def read(members: Any) -> dict[str, Any]:
    request = RequestFactory().post("/", json.dumps(members), content_type="application/json")
    return ParcelSerializer.read(Request(request))


@pytest.mark.parametrize("more", [{}, {"fragile": True}, {"box": {"height": 1.5}}])
def test_body_that_fits_is_read_as_sent(more: dict[str, Any]) -> None:
    assert read({**GOOD, **more}) == {**GOOD, **more}


@pytest.mark.parametrize(
    ("members", "detail"),
    [
        ({**GOOD, "name": 3}, "name: must be text."),
        ({**GOOD, "number": True}, "number: must be a whole number of at least 1, not true."),
        ({**GOOD, "fragile": None}, "fragile: must be true or false, not null."),
        ({**GOOD, "box": 3}, "box: must be null or an object, not 3."),
        ({**GOOD, "box": {}}, "height: is missing: a box needs height."),
        ({**GOOD, "box": {"height": 1, "lid": 2}}, "lid: is unknown; a box has height and colour."),
        ({"name": "a", "number": 1}, "box: is missing; null means none."),
        ({**GOOD, "lid": 2}, "lid: is unknown; known are name, number, fragile, box."),
    ],
)
def test_body_that_does_not_fit_is_refused_by_field(members: dict[str, Any], detail: str) -> None:
    with pytest.raises(Problem) as refused:
        read(members)
    assert refused.value.detail == detail


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Parcel:
    """What is sent.

    Attributes:
        name: as the sender wrote
            it.
        low, high: None if unknown.
        inner: those in it.
    """

    name: str
    low: float | None
    high: tuple[float | None, ...]
    colour: Colour
    inner: "tuple[Lid, ...]"


@dataclass(frozen=True)
class Lid:
    flat: bool


def test_serializer_of_a_dataclass_has_its_types_and_words() -> None:
    made = serializer_of(Parcel)
    found = {name: type(field).__name__ for name, field in made().fields.items()}
    assert list(found) == [field.name for field in fields(Parcel)]
    assert list(found.values()) == ["CharField", "FloatField", "ListField", "ChoiceField", "ListSerializer"]
    assert made().fields["name"].help_text == "As the sender wrote it."
    assert made().fields["high"].help_text == "Null if unknown."
    assert made().fields["low"].allow_null
    parcel = Parcel("a", None, (1.0, None), Colour.RED, (Lid(flat=True),))
    assert made(parcel).data == asdict(parcel)


@pytest.mark.parametrize("shown", [Guarantee, Interval])
def test_every_field_of_a_shown_dataclass_is_explained(shown: type) -> None:
    assert all(field.help_text for field in serializer_of(shown)().fields.values())


def test_page_of_a_list_is_named_after_what_it_lists() -> None:
    assert paged(ParcelSerializer).__name__ == "ParcelListSerializer"
    assert list(paged(ParcelSerializer)().fields) == ["next", "results"]
