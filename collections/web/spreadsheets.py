"""Cells of CSV files that people open in a spreadsheet."""

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def inert(value: object) -> object:
    """The value; a text that begins like a formula, which a spreadsheet would run, behind an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value
