"""The picture in docs/architecture.md shows the imports, and only them."""

import pytest

from tests.architecture.picture import BESIDE, ROOT, TARGET, difference, floors_of, reduced, rooms_of
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


def test_every_room_of_the_layers_stands_on_a_floor_in_their_order() -> None:
    floors = floors_of((ROOT / ".importlinter").read_text())
    shown = [room for floor in floors for layer in floor.layers for room in layer]
    assert shown == [room for room in rooms_of(ROOT / ".importlinter") if room not in BESIDE.values()]
    assert ["public_log"] in floors[-3].layers


def test_layers_are_on_the_floor_that_the_comment_above_them_names() -> None:
    layers = (
        "\nlayers =\n    # Above: holds\n    # much.\n    a | b\n    c | research\n"
        "    # Low: pure\n    d\n\n# End\n"
    )
    above, low = floors_of(layers)
    assert (above.name, above.holds, above.layers) == ("Above", "holds much.", [["a", "b"], ["c"]])
    assert (low.name, low.holds, low.layers) == ("Low", "pure", [["d"]])
    with pytest.raises(ValueError, match="must stand above a"):
        floors_of(layers.replace("    # Above: holds\n    # much.\n", ""))


def test_an_arrow_that_others_imply_is_left_out() -> None:
    imports = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": set()}
    kept = reduced({room: frozenset(lower) for room, lower in imports.items()})
    assert kept == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}
