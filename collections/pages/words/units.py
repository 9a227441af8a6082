"""Figures and what they are in, as statistics state it: devices, or a part "of all items"."""

from web.numbers import significant


def in_unit(unit: str) -> str:
    """What figures are in: devices → "in devices", of all items → "as parts of all items"."""
    return f"as parts {unit}" if unit.startswith("of ") else f"in {unit}"


def within(half_width: float, unit: str) -> str:
    """190, devices → "within ± 190 devices of the truth"; of fractions the unit comes last."""
    if unit.startswith("of "):
        return f"within ± {significant(half_width)} of the truth, {in_unit(unit)}"
    return f"within ± {significant(half_width)} {unit} of the truth"
