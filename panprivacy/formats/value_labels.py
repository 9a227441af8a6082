"""Values that people write by their names in a recipe."""

from collections.abc import Mapping, Sequence

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed


def numbers_of(labels: Sequence[str]) -> Mapping[str, int]:
    """Label → the number of its value, 0..len(labels) − 1."""
    return {label: number for number, label in enumerate(labels)}


def value_of(text: str, k: int, numbers: Mapping[str, int]) -> int:
    """The value that a text names: by its number in ASCII digits, or by its label.

    Args:
        text: of any length.
        k: how many values there are (≥ 2).
        numbers: by `numbers_of`; empty if values have no labels.

    Returns:
        0..k − 1.

    Raises:
        FieldError naming `value`: it is neither a number nor a label; or it is both, for two different
            values.
    """
    labelled = numbers.get(text)
    # Longer texts are not converted: int() is slow for them, and refuses more than 4,300 digits.
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(k)) and int(text) < k
    if not is_number and labelled is None:
        or_label = " or a label of the recipe" if numbers else ""
        raise FieldError(
            "value", f"must be a whole number from 0 to {k - 1:,}{or_label}, not {as_typed(text)}"
        )
    if is_number and labelled is not None and labelled != int(text):
        raise FieldError(
            "value",
            f"must be written otherwise: {as_typed(text)} is the number of one value, and the label of "
            f"value {labelled:,}",
        )
    return int(text) if labelled is None else labelled
