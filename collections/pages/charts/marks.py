"""Shapes of marks as SVG paths."""

from collections.abc import Callable

OPEN = "-open"
"""At the end of a symbol's name: its outline alone."""


def rounded(value: float) -> str:
    """A place in SVG units, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def _diamond(half: float) -> str:
    r = rounded(1.3 * half)
    return f"m-{r} 0l{r} -{r} {r} {r} -{r} {r}z"


def _square(half: float) -> str:
    r, whole = rounded(0.9 * half), rounded(1.8 * half)
    return f"m-{r} -{r}h{whole}v{whole}h-{whole}z"


def _triangle(half: float) -> str:
    r, up = rounded(1.15 * half), rounded(1.1 * half)
    return f"m0 -{up}l{r} {rounded(2 * half)}h-{rounded(2.3 * half)}z"


def _cross(half: float) -> str:
    r, whole = rounded(0.8 * half), rounded(1.6 * half)
    return f"m-{r} -{r}l{whole} {whole}m0 -{whole}l-{whole} {whole}"


def _circle(half: float) -> str:
    r, whole = rounded(half), rounded(2 * half)
    return f"m-{r} 0a{r} {r} 0 1 0 {whole} 0a{r} {r} 0 1 0 -{whole} 0z"


_SHAPES: dict[str, Callable[[float], str]] = {
    "circle": _circle,
    "diamond": _diamond,
    "square": _square,
    "triangle-up": _triangle,
    "x": _cross,
    "line-ns": lambda half: f"m0 -{rounded(half)}v{rounded(2 * half)}",
    "line-ew": lambda half: f"m-{rounded(half)} 0h{rounded(2 * half)}",
}

STROKES = frozenset({"x", "line-ns", "line-ew"})
"""Symbols that have no inside."""


def mark_path(symbol: str, x: float, y: float, size: float) -> str:
    """A mark of this size around (x, y). KeyError for an unknown symbol."""
    return f"M{rounded(x)} {rounded(y)}{_SHAPES[symbol.removesuffix(OPEN)](size / 2)}"


def is_filled(symbol: str) -> bool:
    """Whether the mark's inside is coloured."""
    return symbol not in STROKES and not symbol.endswith(OPEN)
