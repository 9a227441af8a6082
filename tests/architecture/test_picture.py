"""The picture in docs/architecture.md shows the imports, and only them."""

import pytest

from tests.architecture.picture import TARGET, difference, reduced
from tests.made_part import marks, with_part

BEGIN, END = marks(TARGET)
DRAWING = "    above --> below\n\n- **`below`** (398 lines): Below all.\n  Imports `ground`."
DOCUMENT = with_part(f"Words.\n\n{BEGIN}\n{END}\n\nMore.\n", TARGET, DRAWING)


@pytest.mark.parametrize(
    ("now", "differs"),
    [
        (DRAWING, False),
        (DRAWING.replace("398 lines", "1,401 lines").replace("Below all.\n ", "Below\n  all."), False),
        (DRAWING.replace("above --> below", "above --> ground"), True),
        (DRAWING.replace("`ground`", "`ground`, `attic`"), True),
    ],
)
def test_check_objects_to_other_imports_but_not_to_other_sizes(now: str, differs: bool) -> None:
    assert bool(difference(DOCUMENT, now)) == differs
    assert with_part(DOCUMENT, TARGET, now).startswith("Words.")
    assert with_part(DOCUMENT, TARGET, now).endswith("More.\n")


def test_an_arrow_that_others_imply_is_left_out() -> None:
    imports = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": set()}
    kept = reduced({room: frozenset(lower) for room, lower in imports.items()})
    assert kept == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}
