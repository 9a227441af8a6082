"""Which devices a target asks, and how two targets lie to each other."""

import itertools

import pytest

from panprivacy.errors import FieldError
from panprivacy.targeting.attributes import Attributes
from panprivacy.targeting.target import EVERYBODY, Target

DECLARED = Attributes.from_members({"os": ["linux", "other"], "region": ["eu", "us"]})
EVERY_DEVICE = [dict(zip(("os", "region"), pair, strict=True)) for pair in itertools.product("lo", "eu")]


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        "os=linux",
        {"os": ["linux"]},
        {"os": None},
        {"Os": "linux"},
        {"a": "1", "b": "1", "c": "1", "d": "1"},
    ],
)
def test_what_is_no_target_is_refused(value):
    with pytest.raises(FieldError, match="target"):
        Target.from_members(value)


@pytest.mark.parametrize(("where", "field"), [({"cpu": "arm"}, "target.cpu"), ({"os": "mac"}, "target.os")])
def test_only_what_is_declared_can_be_asked(where, field):
    with pytest.raises(FieldError) as refusal:
        Target.from_members(where).require_declared(DECLARED)
    assert refusal.value.field == field


def test_declared_values_can_be_asked():
    Target.from_members({"os": "linux", "region": "us"}).require_declared(DECLARED)


def test_a_device_that_lacks_an_attribute_is_not_asked():
    assert not Target({"os": "linux"}).fits({})
    assert EVERYBODY.fits({})


def test_narrower_and_excluding_targets_are_what_their_devices_say():
    """Every pair of targets, against the devices that fit them."""
    choices = itertools.product([None, "l", "o"], [None, "e", "u"])
    targets = [
        Target({name: value for name, value in zip(("os", "region"), choice, strict=True) if value})
        for choice in choices
    ]
    for one, other in itertools.product(targets, targets):
        mine = [device for device in EVERY_DEVICE if one.fits(device)]
        both = [device for device in mine if other.fits(device)]
        assert one.narrows(other) == (mine == both)
        assert one.excludes(other) == (both == [])
