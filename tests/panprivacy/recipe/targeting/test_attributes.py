"""What a population declares, and what a device knows of itself."""

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.targeting.attributes import MOST_ATTRIBUTES, MOST_VALUES, Attributes, own_attributes
from tests.refusals import field_refused

MEMBERS = {"os": ["linux", "other"], "region": ["eu", "us", "elsewhere"]}


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ([], "attributes"),
        ({"OS": ["a", "b"]}, "attributes"),
        ({f"a{n}": ["a", "b"] for n in range(MOST_ATTRIBUTES + 1)}, "attributes"),
        ({"os": ["linux"]}, "attributes.os"),
        ({"os": "linux"}, "attributes.os"),
        ({"os": ["linux", "linux"]}, "attributes.os"),
        ({"os": ["linux", "a=b"]}, "attributes.os"),
        ({"os": ["linux", 1]}, "attributes.os"),
        ({"os": [str(n) for n in range(MOST_VALUES + 1)]}, "attributes.os"),
    ],
)
def test_what_cannot_be_declared_is_refused_by_name(members, field):
    with field_refused(field):
        Attributes.from_members(members)


def test_a_declaration_comes_back_and_may_be_extended_but_not_taken_back():
    before = Attributes.from_members(MEMBERS)
    assert before.members() == MEMBERS
    added = {**MEMBERS, "os": ["linux", "other", "new"], "class": ["phone", "desktop"]}
    Attributes.from_members(added).require_extends(before)
    with field_refused("attributes.os"):
        Attributes({}).require_extends(before)


@pytest.mark.parametrize("values", [["other", "linux"], ["linux", "mac"], ["new", "linux", "other"]])
def test_what_was_declared_never_means_something_else(values):
    with pytest.raises(FieldError, match="what was declared stays"):
        Attributes.from_members({**MEMBERS, "os": values}).require_extends(Attributes.from_members(MEMBERS))


def test_a_device_reads_its_own_attributes():
    assert own_attributes("os=linux, region=eu") == {"os": "linux", "region": "eu"}
    assert own_attributes("  ") == {}


@pytest.mark.parametrize("text", ["os", "os=", "=linux", "os=linux,os=other", "os=linux,", "os=a b"])
def test_a_device_is_told_what_it_cannot_say(text):
    with pytest.raises(FieldError, match="attributes"):
        own_attributes(text)
