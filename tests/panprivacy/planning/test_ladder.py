from hypothesis import given
from hypothesis import strategies as st

from panprivacy.parameters import Description
from panprivacy.planning.ladder import Ladder


@given(st.floats(1e-9, 1e6), st.floats(1.0, 1e6))
def test_ladder_holds_every_number_with_four_digits_within_its_bounds(low: float, factor: float) -> None:
    high = low * factor
    ladder = Ladder.of(Description(label="x", help="", minimum=low, maximum=high), float)
    if ladder.length < 1:  # no such number between the bounds
        return
    first, last = ladder.value(0), ladder.value(ladder.length - 1)
    assert low <= first
    assert last <= high
    assert first <= low * 1.001
    assert last >= high / 1.001
    for index in {0, ladder.length // 2, ladder.length - 1}:
        assert float(f"{ladder.value(index):.3e}") == ladder.value(index)
    if ladder.length > 1:
        assert first < ladder.value(1) <= first * 1.001000001


@given(st.integers(0, 9_999), st.booleans())
def test_ladder_searched_for_a_threshold_finds_it(threshold: int, rising: bool) -> None:
    ladder = Ladder.of(Description(label="x", help="", minimum=1, maximum=10_000), int)
    if rising:
        assert ladder.first_where(lambda value: value > threshold) == threshold
    else:
        assert ladder.last_where(lambda value: value <= threshold) == (threshold - 1 if threshold else None)
