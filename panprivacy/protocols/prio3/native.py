"""What `make native` has compiled for verification in batches, if it has.

Without it NumPy computes the same, bit for bit, and no other code depends on it. A compiled part that does
not load is an error, so that a site does not become slow unnoticed.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

_NAME = "panprivacy.protocols.prio3._native"

module: Any = import_module(_NAME) if find_spec(_NAME) else None
"""The functions of `_native.c`, or None."""


def in_use() -> str:
    """What computes in batches: "native code" or "NumPy"."""
    return "NumPy" if module is None else "native code"
