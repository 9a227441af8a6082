"""Computed numbers as a JSON document that is committed, so that pages read it and compute nothing."""

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

RELATIVE_TOLERANCE = 1e-4
"""Up to which two computations of a number are the same: processors, and grids of privacy losses, differ."""


@cache
def committed(file: Path) -> dict[str, Any]:
    """The committed document in a file."""
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def document_of(libraries: Iterable[str], **members: Any) -> dict[str, Any]:
    """The document of these fields: no times, no names of machines, but the versions of libraries."""
    return plain({"libraries": {name: version(name) for name in libraries}, **members})


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as JSON gives it back, with numbers rounded to 6 significant digits."""
    found: dict[str, Any] = json.loads(json.dumps(_rounded(document)))
    return found


def text_of(document: Mapping[str, Any]) -> str:
    """The form for a commit: readable, and the same for the same numbers."""
    return _text(document, 0) + "\n"


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """The differences of two documents: another text, or a number that moved by more than the tolerance."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = [*before, *(key for key in now if key not in before)]
        return [
            found
            for key in keys
            for found in differences(before.get(key), now.get(key), f"{place}.{key}".lstrip("."))
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = enumerate(zip(before, now, strict=True))
        return [found for at, (one, other) in pairs for found in differences(one, other, f"{place}[{at}]")]
    if _is_number(before) and _is_number(now):
        same = math.isclose(before, now, rel_tol=RELATIVE_TOLERANCE)
    else:
        same = type(before) is type(now) and before == now
    return [] if same else [f"{place}: {before!r} before, {now!r} now"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(member) for member in value]
    return value


def _text(value: Any, depth: int) -> str:
    """JSON with one field a line, but lists of numbers on one."""
    flat = isinstance(value, list) and not any(isinstance(member, Mapping | list) for member in value)
    if not isinstance(value, Mapping | list) or flat or not value:
        return json.dumps(value, ensure_ascii=False)
    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, Mapping):
        members = [f"{json.dumps(key)}: {_text(member, depth + 1)}" for key, member in value.items()]
        return "{\n" + ",\n".join(inner + member for member in members) + f"\n{outer}}}"
    return "[\n" + ",\n".join(inner + _text(member, depth + 1) for member in value) + f"\n{outer}]"
