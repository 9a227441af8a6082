"""What `make check` asks of the tables of the docs: that they list what the registries have."""

from pathlib import Path

import pytest

from tests.made_part import marks
from tests.tables import TABLES, TARGET, main


@pytest.mark.parametrize("changed", list(TABLES))
def test_check_objects_to_a_missing_row_and_not_to_what_was_made(
    tmp_path: Path, changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    begin, end = marks(TARGET)
    for name in TABLES:
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"Before.\n\n{begin}\n{end}\n\nAfter.\n")
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    place = tmp_path / changed
    *rows, last = (line for line in place.read_text().splitlines() if line.startswith("|"))
    assert len(rows) >= 4
    place.write_text(place.read_text().replace(f"{last}\n", ""))
    assert main(["--check"], tmp_path) == 1
    assert f"+{last}" in capsys.readouterr().err
    assert main([], tmp_path) == main(["--check"], tmp_path) == 0
    assert place.read_text().startswith("Before.")
    assert place.read_text().endswith("After.\n")
