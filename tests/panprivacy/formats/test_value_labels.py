"""Values by number or by label, and by what is both."""

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.formats.value_labels import numbers_of, value_of

LABELS = ("phone", "tablet, large", "7", "3")


@pytest.mark.parametrize(
    ("text", "value"), [("phone", 0), ("0", 0), ("tablet, large", 1), ("2", 2), ("7", 2), ("3", 3)]
)
def test_value_is_read_by_its_number_and_by_its_label(text: str, value: int) -> None:
    assert value_of(text, 4, numbers_of(LABELS)) == value


@pytest.mark.parametrize("text", ["", "Phone", "4", "-1", "1.0", "\u0663", "9" * 5_000])
def test_text_that_is_neither_is_refused_by_what_is_allowed(text: str) -> None:
    with pytest.raises(FieldError, match="from 0 to 3 or a label of the recipe"):
        value_of(text, 4, numbers_of(LABELS))
    with pytest.raises(FieldError, match="from 0 to 3, not"):
        value_of(text, 4, {})


def test_text_that_is_a_number_and_another_values_label_is_refused() -> None:
    with pytest.raises(FieldError, match="is the number of one value, and the label of value 0"):
        value_of("1", 2, numbers_of(("1", "0")))
