"""Numbers in sentences."""

import re

_EXPONENT = re.compile(r"e([+-])0*(?=\d)")


def plain(value: float, form: str = "g") -> str:
    """`value` in a format of Python, with the exponent as people write it: 1e-06 → 1e-6, 2e+20 → 2e20."""
    return _EXPONENT.sub(lambda found: f"e{found[1].removeprefix('+')}", format(value, form))
