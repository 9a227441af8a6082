"""Everything that takes CSV from people takes the same, and refuses the rest in the same words."""

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from devices_sim.devices import simulated_class
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.events_file import events_csv
from devices_sim.workloads.values_file import values_csv
from pages.populations.forms import AttributesField
from pages.publish.fields import LabelsField
from panprivacy.formats import base64_text
from panprivacy.formats.csv_table import ROW_BYTES
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from recipes.item_lists import typed_universe
from recipes.items_file import read_items
from simulations.collect import series_simulation
from simulations.workloads import planned
from tests.collections.tokens.attester.scene import KeyedDevice
from tests.factories import recipe_members
from tokens.attester.models import Device

pytestmark = pytest.mark.django_db

KEYS = [base64_text.encode(KeyedDevice().public) for _ in range(2)]


class SeenError(Exception):
    """The devices with which a command would have gone on."""


def of_events(content: bytes, folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    with events_csv(_file(folder, content), 4) as workload:
        return [name for name, _ in workload]


def of_located_events(content: bytes, folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    with events_csv(_file(folder, content), 4, ("old", "new")) as workload:
        return [name for name, _ in workload]


def of_values(content: bytes, folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    with values_csv(_file(folder, content), lambda _: None) as workload:
        return [name for name, _ in workload]


def of_attributes(content: bytes, folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    return list(FleetAttributes.parse(str(_file(folder, content))).of_device)


def of_items(content: bytes, folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    return [item for _, item in read_items(_file(folder, content), field="items")]


def of_universe(content: bytes, _folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    return typed_universe(content.decode("utf-8", "surrogateescape"))


def of_simulation(content: bytes, _folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    draft = RecipeDraft.from_mapping(recipe_members())
    workload = {"kind": "events", "csv": content.decode("utf-8", "surrogateescape")}
    plan = planned(workload, simulated_class(draft)(draft.calibrated))
    return [name for chunk in plan.cut(10) for name, _ in json.loads(chunk.listed)]


def of_series(content: bytes, folder: Path, patch: pytest.MonkeyPatch, **changes: Any) -> list[str]:
    def seen(*, workload: Any, **_: Any) -> None:
        raise SeenError([name for name, _ in workload])

    patch.setattr(series_simulation, "shared_installation", lambda **_: nullcontext())
    patch.setattr(series_simulation, "collection_run", seen)
    recipe = folder / "series.json"
    recipe.write_text(json.dumps(recipe_members(every="week", rounds=1, **changes)))
    events = str(_file(folder, content))
    with pytest.raises(SeenError) as found:
        call_command("series", "simulate", str(recipe), "--events", events, "--rounds", "1")
    names: list[str] = found.value.args[0]
    return names


def of_roster(content: bytes, folder: Path, _: pytest.MonkeyPatch) -> list[str]:
    call_command("attester", "enrol", str(_file(folder, content)), stdout=io.StringIO())
    return list(Device.objects.values_list("name", flat=True))


def of_piped_roster(content: bytes, _folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
    call_command("attester", "enrol", "-", stdout=io.StringIO())
    return list(Device.objects.values_list("name", flat=True))


@dataclass(frozen=True)
class Entry:
    """One of the places.

    Attributes:
        columns: of its header.
        own: of a row, the cells after the first, which is a text.
        read: gives the first cells.
    """

    read: Callable[[bytes, Path, pytest.MonkeyPatch], list[str]]
    columns: tuple[str, ...]
    own: tuple[tuple[str, ...], tuple[str, ...]]

    def text(self, *names: str) -> str:
        rows = [self.columns, *((name, *own) for name, own in zip(names, self.own, strict=False))]
        return "".join(",".join(row) + "\n" for row in rows)


ROSTER = (("name", "key"), tuple((key,) for key in KEYS))
EVENTS = (("device", "step", "events"), (("1", "1"), ("2", "0")))
LOCATED = (("device", "step", "events", "segment"), (("1", "1", "old"), ("2", "0", "new")))
ENTRIES = {
    "events": Entry(of_events, *EVENTS),
    "events with segments": Entry(of_located_events, *LOCATED),
    "values": Entry(of_values, ("device", "value"), (("1",), ("2",))),
    "attributes": Entry(of_attributes, ("device", "os"), (("linux",), ("mac",))),
    "items": Entry(of_items, ("item",), ((), ())),
    "universe": Entry(of_universe, ("item",), ((), ())),
    "simulation": Entry(of_simulation, *EVENTS),
    "series": Entry(of_series, *EVENTS),
    "series with rounds": Entry(of_series, (*EVENTS[0], "round"), (("1", "1", "1"), ("2", "0", "1"))),
    "series with segments and rounds": Entry(
        partial(of_series, segments=["old", "new"]),
        (*LOCATED[0], "round"),
        (("1", "1", "old", "1"), ("2", "0", "new", "1")),
    ),
    "roster": Entry(of_roster, *ROSTER),
    "piped roster": Entry(of_piped_roster, *ROSTER),
}
WITH_HEADER = [name for name in ENTRIES if name != "universe"]
"""A text without the header is a plain list elsewhere."""


@pytest.fixture(params=ENTRIES)
def entry(request: pytest.FixtureRequest, settings: Any) -> Entry:
    settings.ATTESTATION = "roster"
    return ENTRIES[request.param]


@contextmanager
def refused(message: str) -> Iterator[None]:
    with pytest.raises((FieldError, CommandError)) as error:
        yield
    assert str(error.value).endswith(f": {message}") or str(error.value).endswith(f"\n{message}")


FORMS: dict[str, Callable[[str], bytes]] = {
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "quoted with mark and CRLF": lambda text: (
        re.sub(r"[^,\n]+", r'"\g<0>"', text).replace("\n", "\r\n").encode("utf-8-sig")
    ),
    "blank lines": lambda text: text.replace("\n", "\n\n").encode(),
    "Ctrl-Z without end": lambda text: text.rstrip("\n").encode() + b"\x1a",
    "capitals and spaces": lambda text: re.sub(
        r"\A.*", lambda header: header[0].upper().replace(",", " , "), text
    ).encode(),
}
"""Some of what `tests/panprivacy/formats/test_csv_table.py` gives to the reader that all should have."""


@pytest.mark.parametrize("form", FORMS)
def test_csv_in_any_usual_form_has_the_same_rows(entry, form, tmp_path, monkeypatch):
    content = FORMS[form](entry.text("ada", "bø b"))
    assert sorted(entry.read(content, tmp_path, monkeypatch)) == ["ada", "bø b"]


def test_cells_in_quotes_may_have_commas_and_quotes(entry, tmp_path, monkeypatch):
    content = entry.text('"a, ""b"""', "c").encode()
    assert sorted(entry.read(content, tmp_path, monkeypatch)) == ['a, "b"', "c"]


@pytest.mark.parametrize("entry", WITH_HEADER, indirect=True)
def test_header_that_is_missing_repeated_or_longer_is_refused(entry, tmp_path, monkeypatch):
    last = entry.columns[-1]
    twice = f'line 1: must name each column once, not "{last}" twice'
    with refused(twice):
        entry.read(f"{','.join(entry.columns)},{last}\n".encode(), tmp_path, monkeypatch)
    for header in ("", "\n", "nothing\n", ",".join(("x", *entry.columns))):
        with pytest.raises((FieldError, CommandError), match=r"line 1:? must be the header "):
            entry.read(header.encode(), tmp_path, monkeypatch)


def test_universe_whose_header_has_more_columns_is_refused(tmp_path, monkeypatch):
    for header in ("item,count", "id,item", '"item","count"'):
        found = json.dumps(header.replace('"', ""))
        with refused(f"line 1: must be the header item, not {found}"):
            of_universe(f"{header}\na,1\n".encode(), tmp_path, monkeypatch)
    with refused('line 1: must name each column once, not "item" twice'):
        of_universe(b"item,item\na,1\n", tmp_path, monkeypatch)


def test_row_that_is_too_short_or_too_long_is_refused(entry, tmp_path, monkeypatch):
    columns = len(entry.columns)
    cells = f"{columns} cells" if columns > 1 else "1 cell"
    wrong = [columns + 1] if columns == 1 else [columns - 1, columns + 1]
    for number in wrong:
        row = ",".join(["x"] * number)
        with refused(f"line 3: must have {cells} ({','.join(entry.columns)}), not {number}"):
            entry.read(f"{entry.text('ada')}{row}\n".encode(), tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            b'x"y',
            ", column 1: has a quote that is not doubled, or that is in a cell without quotes around it",
        ),
        (b'"xy', ", column 1: begins with a quote that is not closed"),
        (b"x\0", ": must be UTF-8 text without NUL characters"),
        (
            b"x" * (ROW_BYTES + 1),
            f": must be shorter than {ROW_BYTES:,} bytes, with all lines within its quotes",
        ),
    ],
    ids=["stray", "open", "NUL", "long"],
)
def test_row_that_is_no_csv_is_refused_in_the_same_words(entry, cell, message, tmp_path, monkeypatch):
    row = b",".join([cell, *(text.encode() for text in entry.own[1])])
    with refused(f"line 3{message}"):
        entry.read(entry.text("ada").encode() + row + b"\n", tmp_path, monkeypatch)


def test_text_that_is_not_utf_8_is_refused_in_the_same_words(entry, tmp_path, monkeypatch):
    latin = entry.text("ada", "b\xf8").encode("latin-1")
    with pytest.raises((FieldError, CommandError), match=r"line 3: must be UTF-8 text \(invalid "):
        entry.read(latin, tmp_path, monkeypatch)
    if entry.read in (of_universe, of_simulation):
        return  # what a browser or a program sends is decoded already
    with refused("line 1: must be UTF-8 text, not UTF-16 or UTF-32"):
        entry.read(entry.text("ada").encode("utf-16"), tmp_path, monkeypatch)


def test_roster_with_a_line_break_in_a_name_is_refused_not_dropped(tmp_path, settings, monkeypatch):
    settings.ATTESTATION = "roster"
    content = f'name,key\n"a\nb",{KEYS[0]}\nc,{KEYS[1]}\n'.encode()
    with refused("line 2: name: must have 1 to 200 printable characters"):
        of_roster(content, tmp_path, monkeypatch)
    assert not Device.objects.exists()


def test_rounds_of_a_file_with_line_breaks_keep_their_lines(tmp_path, monkeypatch):
    rows = '"a\r\nb",1,1,1\n"c\rd",1,1,1\n\n"e",1,1,2\n"f",9,1,1\n'
    content = f'"device","step","events","round"\n{rows}'.encode()
    recipe = tmp_path / "series.json"
    recipe.write_text(json.dumps(recipe_members(every="week", rounds=2)))
    events = str(_file(tmp_path, content))
    with refused('line 8, column 2: must be a whole number of at least 1 and at most 4, not "9"'):
        call_command("series", "simulate", str(recipe), "--events", events, "--rounds", "2")


def test_lines_of_a_box_end_as_those_of_a_file():
    labels, attributes = LabelsField(most=5, length=10), AttributesField()
    assert labels.clean("\ufeffa, b\r\n c\r\u2028d\n\n\x1a") == ["a, b", "c", "d"]
    found = attributes.clean("\ufeffos: linux, mac\r\rregion: eu, us\x1a")
    assert found.members() == {"os": ["linux", "mac"], "region": ["eu", "us"]}
    for box in (labels, attributes):
        with pytest.raises(ValidationError, match=r"Line 2: must be UTF-8 text without NUL characters\."):
            box.clean("a: b, c\n\0")


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content)
    return path
