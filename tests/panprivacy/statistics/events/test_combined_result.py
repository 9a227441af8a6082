import pytest

from panprivacy.statistics.events.combined_result import honest_devices


@pytest.mark.parametrize(
    ("devices", "fraction", "honest"),
    [(100, 0.0, 100), (100, 0.5, 50), (101, 0.5, 51), (100, 0.29, 71), (1, 0.5, 1), (2, 0.999, 1)],
)
def test_honest_devices_are_those_left_where_a_whole_number_colludes(devices, fraction, honest):
    """Also where the product, as 0.29 · 100 does, falls short of a whole number by its rounding."""
    assert honest_devices(devices, fraction) == honest


@pytest.mark.parametrize("fraction", [-0.1, 1.0, float("nan")])
def test_honest_devices_for_no_possible_part_are_refused(fraction):
    with pytest.raises(ValueError, match="dishonest_fraction"):
        honest_devices(10, fraction)
