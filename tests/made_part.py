"""Parts of the docs that a command of the Makefile makes: what stands between two marks."""


def marks(target: str, name: str = "") -> tuple[str, str]:
    """The lines around what `make target` makes; with a name, where it makes several parts of a document."""
    maker = f"made by `make {target}`" + (f", {name}" if name else "")
    return f"<!-- {maker}: begin -->", f"<!-- {maker}: end -->"


def with_part(document: str, target: str, part: str, name: str = "") -> str:
    """The document with this part between its marks. Raises ValueError where it has none."""
    begin, end = marks(target, name)
    before, begun, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not (begun and ended):
        raise ValueError(f"the document must have the lines {begin} and {end}")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"
