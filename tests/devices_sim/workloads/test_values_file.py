"""CSV files of values: what is read, and what is refused by line and column."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devices_sim.workloads.values_file import values_csv
from panprivacy.device.value_reports.randomized import cells_of
from panprivacy.formats.errors import FieldError
from tests.panprivacy.device.shuffler import shuffler_recipe

STATISTIC = shuffler_recipe(k=4).calibrated_statistic
HASHED = shuffler_recipe(k=4, hashed="yes").calibrated_statistic


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, statistic=STATISTIC) -> list[tuple[str, str]]:
    with values_csv(path, lambda cells: statistic.value_of(*cells)) as workload:
        return list(workload)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), min_size=1, max_size=5).filter(
            str.strip
        ),
        st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=5),
        min_size=1,
    )
)
def test_values_csv_any_texts_are_values_where_they_are_hashed(tmp_path, values):
    path = tmp_path / "v.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("device", "value"), *values.items()])
    assert read(path, HASHED) == list(values.items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("device,step,events\na,1,1\n", "values: line 1: must be the header device,value, not"),
        ("device,value\n", "device: the file must name at least one device"),
        ("device,value\na,0\nb,4\n", "value: line 3, column 2: must be a whole number from 0 to 3"),
        ("device,value\na,blue\n", 'value: line 2, column 2: must be a whole number from 0 to 3, not "blue"'),
        (
            "device,value\na,1\nb,1\n\na,1\n",
            'device: line 5, column 1: "a" has its value in line 2 already; a device has one',
        ),
        ("device,value\n ,1\n", "device: line 2, column 1: must be a name"),
        ("device,value\na\n", "values: line 2: must have 2 cells (device,value), not 1"),
    ],
)
def test_values_csv_wrong_content_is_refused_with_line_and_column(tmp_path, content, message):
    with pytest.raises(FieldError) as caught:
        read(write(tmp_path / "v.csv", content))
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["0.5", "0.5 0.5", "0.1,0.2", "0.1,0.2,0.3,0.4"])
def test_vector_on_the_command_line_is_numbers_with_commas_between_them(text):
    assert cells_of("0.1,0.2,0.3", 3) == ("0.1", "0.2", "0.3")
    with pytest.raises(FieldError, match="value: must be 3 numbers with commas between them, not"):
        cells_of(text, 3)
