"""Version of the numbers that this package computes, and the keys under which they are remembered."""

import hashlib
import json
from importlib.metadata import version
from typing import Any

VERSION = 6
"""Raise it whenever any number changes: what is remembered of other versions is not taken over."""

SOFTWARE = (f"numbers {VERSION}", *(f"{name} {version(name)}" for name in ("numpy", "scipy")))
"""What computes the numbers; another version's are not taken over."""


def number_key(*of: Any) -> str:
    """The key of what is computed of these: 64 hexadecimal digits, others for another version of it.

    Args:
        of: plain values for JSON, the first one a word for what is computed of the others. The order of
            fields does not matter.
    """
    content = json.dumps([SOFTWARE, *of], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
