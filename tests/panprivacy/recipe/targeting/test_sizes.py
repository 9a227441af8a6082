"""The bounds on targets hold for every population that the counts allow."""

import itertools
import math
import random

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.targeting.sizes import (
    Sizes,
    at_least,
    differ_by_at_least,
    require_apart,
    require_large,
    require_rest,
    smallest_target,
)
from panprivacy.recipe.targeting.target import ALL_DEVICES, Target

VALUES = {"os": ("l", "m", "o"), "region": ("e", "u"), "class": ("p", "d")}
LINUX = Target({"os": "linux"})
EU_LINUX = Target({"os": "linux", "region": "eu"})


def exact(**counts):
    """Sizes that are known: of each attribute, devices by value."""
    return {
        name: Sizes({value: (n, n) for value, n in of.items()}, (sum(of.values()),) * 2)
        for name, of in counts.items()
    }


def test_no_population_contradicts_what_is_said_of_it():
    """Random populations, with bounds that are loose by chance: 10 of them, every pair of targets."""
    source = random.Random(7)
    targets = [
        Target({name: value for name, value in zip(VALUES, choice, strict=True) if value})
        for choice in itertools.product(*((None, *values) for values in VALUES.values()))
    ]
    for _ in range(10):
        weights = {name: [source.random() ** 4 for _ in of] for name, of in VALUES.items()}
        devices = [
            {name: source.choices(of, weights[name])[0] for name, of in VALUES.items()} for _ in range(60)
        ]
        loose = {
            name: Sizes(
                {value: around(sum(d[name] == value for d in devices), source) for value in of},
                around(60, source),
            )
            for name, of in VALUES.items()
        }
        asked = [{n for n, device in enumerate(devices) if target.fits(device)} for target in targets]
        for target, fitting in zip(targets, asked, strict=True):
            assert at_least(target, loose) <= len(fitting)
        for one, other in itertools.combinations(range(len(targets)), 2):
            assert differ_by_at_least(targets[one], targets[other], loose) <= len(asked[one] ^ asked[other])


def around(number, source):
    return max(0, number - source.choice([0, 0, 3])), number + source.choice([0, 0, 3])


def test_a_conjunction_has_what_its_parts_leave_no_room_to_avoid():
    sizes = exact(os={"linux": 80, "other": 20}, region={"eu": 70, "us": 30})
    assert at_least(EU_LINUX, sizes) == 50
    assert at_least(ALL_DEVICES, sizes) == 100
    # The same target can be asked again.
    assert differ_by_at_least(EU_LINUX, Target(EU_LINUX.where), sizes) == math.inf


def test_a_target_that_nearly_every_device_fits_is_refused():
    sizes = exact(os={"linux": 9_995, "other": 5})
    require_large(LINUX, sizes, 1_000)
    with pytest.raises(FieldError, match=r"all devices\) by too few devices: 5 are sure"):
        require_apart(LINUX, [ALL_DEVICES], sizes, 1_000)


def test_a_chain_of_small_differences_is_refused_at_its_first_step():
    """{linux}, {linux, eu} and {linux, eu, phone} are large; each leaves out 30 of the one before at most."""
    sizes = exact(
        os={"linux": 6_000, "other": 4_000},
        region={"eu": 9_970, "us": 30},
        device={"phone": 9_970, "desktop": 30},
    )
    last = Target({**EU_LINUX.where, "device": "phone"})
    for target in (EU_LINUX, last):
        require_large(target, sizes, 1_000)
    with pytest.raises(FieldError, match="os = linux"):
        require_apart(EU_LINUX, [ALL_DEVICES, LINUX], sizes, 1_000)
    # Nor by leaving the middle out.
    with pytest.raises(FieldError, match="os = linux"):
        require_apart(last, [ALL_DEVICES, LINUX], sizes, 1_000)


def test_targets_far_apart_or_nested_with_enough_between_are_allowed():
    sizes = exact(os={"linux": 9_000, "other": 6_000}, region={"eu": 10_000, "us": 5_000})
    require_apart(EU_LINUX, [ALL_DEVICES, Target({"os": "other"})], sizes, 1_000)
    require_apart(LINUX, [Target({"os": "other"})], sizes, 1_000)
    sizes = exact(os={"linux": 9_000, "other": 1_000}, region={"eu": 5_000, "us": 5_000})
    assert differ_by_at_least(LINUX, EU_LINUX, sizes) == 4_000
    require_apart(EU_LINUX, [ALL_DEVICES, LINUX], sizes, 1_000)


@pytest.mark.parametrize("where", [{"cpu": "arm"}, {"os": "mac"}, {"os": "linux", "cpu": "arm"}])
def test_what_was_not_counted_is_refused(where):
    sizes = exact(os={"linux": 9_000, "other": 1_000})
    with pytest.raises(FieldError, match="needs a result"):
        require_large(Target(where), sizes, 10)
    with pytest.raises(FieldError, match="needs a result"):
        require_apart(LINUX, [Target({"cpu": "arm"})], sizes, 10)
    with pytest.raises(FieldError, match="target"):
        require_apart(LINUX, [ALL_DEVICES], {}, 10)


def test_a_target_has_ten_cohorts_by_default():
    assert smallest_target(None, 50, 0.5) == 500
    assert smallest_target(None, 50, 0.01) == 5_000
    assert smallest_target(100, 50, 0.5) == 100
    with pytest.raises(FieldError, match=r"smallest_target.*100"):
        smallest_target(99, 50, 0.5)


def test_values_that_no_target_names_are_many_together():
    """Everybody less a, b and c would be the few with d; so would a less its parts in all large regions."""
    sizes = exact(os={"a": 130, "b": 130, "c": 130, "d": 4}, region={"e": 190, "u": 200, "x": 4})
    a, b, c = (Target({"os": value}) for value in "abc")
    require_rest(b, (a, b), sizes, 100)
    with pytest.raises(FieldError, match="values of os that no target names: 4 are sure, and must be 100"):
        require_rest(c, (a, b), sizes, 100)
    parts = [Target({"os": "a", "region": region}) for region in "eu"]
    with pytest.raises(FieldError, match="values of region"):
        require_rest(parts[1], (a, parts[0]), sizes, 100)
