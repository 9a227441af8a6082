"""The command that checks official vectors: it passes on them, and names what does not hold."""

import json
from pathlib import Path

import pytest

from panprivacy.recipe.log.__main__ import main

ROOT = Path(__file__).resolve().parents[4]
OFFICIAL = next(
    (found for parent in ROOT.parents if (found := parent / "shared" / "vectors" / "merkle").is_dir()), None
)
# Of the tree of CT's tests: its last entry, and that it grew from one entry.
INCLUSION = {
    "leafIdx": 0,
    "treeSize": 1,
    "root": "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=",
    "leafHash": "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=",
    "proof": None,
    "desc": "alone",
    "wantErr": False,
}
CONSISTENCY = {
    "size1": 1,
    "size2": 8,
    "root1": "bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=",
    "root2": "XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=",
    "proof": [
        "lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=",
        "Xwg/ChozygdqlSeYMlgNs+DvRYS9/x9UyKNg9Q3jAx4=",
        "a0eq8p7jwq+a+Im8H7klTavTEXfxYjLdaqsDXKOb9uQ=",
    ],
    "wantErr": False,
}


@pytest.mark.skipif(OFFICIAL is None, reason="the official vectors are not part of this repository")
def test_every_official_vector_comes_out_as_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert OFFICIAL is not None
    files = sorted(map(str, OFFICIAL.rglob("*.json")))
    assert len(files) > 40
    assert main(["check-vectors", *files]) == 0
    assert f"{len(files)} passed, 0 failed" in capsys.readouterr().out


def test_one_object_and_a_list_of_them_are_read(tmp_path: Path) -> None:
    one, several = tmp_path / "one.json", tmp_path / "several.json"
    one.write_text(json.dumps(INCLUSION))
    several.write_text(json.dumps([INCLUSION, CONSISTENCY]))
    assert main(["check-vectors", str(one), str(several)]) == 0


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (INCLUSION | {"wantErr": True}, "the proof holds, and should not"),
        (
            CONSISTENCY | {"root2": INCLUSION["root"]},
            "the proof should hold: the proof leads to",
        ),
        (INCLUSION | {"leafIdx": "0"}, "leafIdx: must be a whole number"),
        (INCLUSION | {"proof": "AA=="}, "proof: must be a list or null"),
        (INCLUSION | {"root": "?"}, "root: must be base64"),
        (INCLUSION | {"wantErr": 0}, "wantErr: must be true or false"),
        ({"size1": 1, "wantErr": False}, "has no field 'size2'"),
        ({"wantErr": False}, "is of nothing that is known here"),
        ([], "has no vectors"),
        ([INCLUSION, 3], "vector 1: must be an object"),
        ([INCLUSION | {"wantErr": True}], "vector 0 (alone): the proof holds"),
    ],
)
def test_what_does_not_hold_is_named_and_fails(vector, message, tmp_path, capsys):
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vector))
    assert main(["check-vectors", str(file)]) == 1
    assert message in capsys.readouterr().out
