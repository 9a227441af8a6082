"""Which devices a target asks, and how two targets lie to each other."""

import itertools

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.targeting.attributes import Attributes
from panprivacy.recipe.targeting.target import ALL_DEVICES, Target
from tests.refusals import field_refused

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
    with field_refused(field):
        Target.from_members(where).require_declared(DECLARED)
    Target.from_members({"os": "linux", "region": "us"}).require_declared(DECLARED)


def test_narrower_and_excluding_targets_are_what_their_devices_say():
    """Every pair of targets, against the devices that fit them."""
    choices = itertools.product([None, "l", "o"], [None, "e", "u"])
    targets = [
        Target({name: value for name, value in zip(("os", "region"), choice, strict=True) if value})
        for choice in choices
    ]
    # A device that lacks an attribute is not asked.
    assert [target for target in targets if target.fits({})] == [ALL_DEVICES]
    for one, other in itertools.product(targets, targets):
        mine = [device for device in EVERY_DEVICE if one.fits(device)]
        both = [device for device in mine if other.fits(device)]
        assert one.narrows(other) == (mine == both)
        assert one.excludes(other) == (both == [])
