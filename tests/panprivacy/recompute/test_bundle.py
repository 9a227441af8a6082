"""Bundles are read strictly: what is no bundle is refused by the name of its file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from panprivacy.formats import base64_text
from panprivacy.recipe.accepted_list import RECORD_BYTES
from panprivacy.recompute.__main__ import main
from panprivacy.recompute.bundle import MOST_REPORTS, NAMES, Bundle, BundleError, write_bundle
from tests.panprivacy.recompute.scene import Files, edit, the_scene, valid_files, written

Tamper = Callable[[Files], object]


def replaced(name: str, content: bytes) -> Tamper:
    return lambda files: files.update({name: content})


def edited(name: str, **members: Any) -> Tamper:
    return lambda files: edit(files, name, lambda content: content.update(members))


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (lambda files: files.pop("list.proof"), "list.proof: is missing"),
        (replaced("extra.json", b"{}"), "extra.json: is no file of a bundle"),
        (replaced("reports.bin", b""), "reports.bin: has 0 bytes, and must be made of 1 or more whole"),
        (replaced("reports.bin", bytes(RECORD_BYTES - 1)), "reports.bin: has 1,281 bytes, and must be made"),
        (replaced("recipe.json", b"{"), "recipe.json: the content is not a JSON object"),
        (replaced("recipe.json", b"\xff"), "recipe.json: the content is not a JSON object"),
        (replaced("recipe.json", b"[]"), "recipe.json: the content is not a JSON object"),
        (replaced("recipe.json", b'{"id":NaN}'), "recipe.json: the content is not a JSON object"),
        (replaced("recipe.json", b'{"id":' + b"9" * 5_000 + b"}"), "recipe.json: the content is not a JSON"),
        (replaced("recipe.json", b'{"a":' * 100_000), "recipe.json: the content is not a JSON object"),
        (replaced("recipe.json", b"{}"), "recipe.json: must have the fields id and document"),
        (replaced("result.json", b'{"id":1,"id":2}'), "result.json: the file has the field 'id' twice"),
        (replaced("bundle.json", b" " * 4_097), "bundle.json: has more than 4,096 bytes"),
        (edited("bundle.json", format="panapp-bundle-2"), "bundle.json: format must be panapp-bundle-1"),
        (edited("bundle.json", more=1), "bundle.json: must have the fields format, verification_key"),
        (edited("bundle.json", verification_key="?"), "bundle.json: verification_key must be 32 bytes in"),
        (
            edited("bundle.json", verification_key=base64_text.encode(bytes(32))),
            "bundle.json: verification_key must be an Ed25519 key",
        ),
        (edited("recipe.json", signature="AAAA"), "recipe.json: signature must be 64 bytes in base64"),
        (edited("recipe.json", helper_signature=1), "recipe.json: helper_signature must be 64 bytes in"),
        (edited("recipe.json", document=[]), "recipe.json: must have the fields id and document"),
        *(
            (
                edited("list.json", reports=number),
                "list.json: reports must be a whole number from 1 to 100,000,000",
            )
            for number in (True, 12.0, "12", 0, -1, MOST_REPORTS + 1, None)
        ),
        (edited("list.json", recipe="A" * 64), "list.json: recipe must be 64 hexadecimal digits"),
        (edited("list.json", list="0" * 63), "list.json: list must be 64 hexadecimal digits"),
        (edited("list.json", signatures=[]), "list.json: signatures must be an object with the fields"),
        (edited("list.json", signatures={"issuer": ""}), "list.json: signatures must be an object with"),
        (edited("list.json", signatures={"leader": ""}), "list.json: signatures.leader must be 64 bytes"),
        (edited("decryptions.json", helper=None), "decryptions.json: helper must be 112 bytes in base64"),
        (
            edited("decryptions.json", third=""),
            "decryptions.json: must have the fields leader, helper",
        ),
        (replaced("list.proof", b""), "list.proof: a proof must begin with"),
        (replaced("list.proof", b"c2sp.org/tlog-proof@v1\nindex 0\n\nx"), "list.proof: a note must have"),
    ],
)
def test_what_is_no_bundle_fails_by_the_name_of_its_file(
    tamper: Tamper, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = valid_files()
    tamper(files)
    assert main([str(written(tmp_path / "bundle", files))]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"fails  files:              {message}")


def test_what_is_no_regular_file_is_refused_unread(tmp_path: Path) -> None:
    for name, make in (("reports.bin", Path.mkdir), ("list.json", os.mkfifo)):
        folder = written(tmp_path / name, valid_files())
        (folder / name).unlink()
        make(folder / name)
        with pytest.raises(BundleError, match=rf"{name}: is no file"):
            Bundle.read(folder)


def test_more_reports_than_any_recipe_has_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, valid_files())
    os.truncate(folder / "reports.bin", (MOST_REPORTS + 1) * RECORD_BYTES)
    with pytest.raises(BundleError, match=r"reports\.bin: has more than 128,200,000,000 bytes"):
        Bundle.read(folder)


def test_bundle_is_read_as_it_was_written(tmp_path: Path) -> None:
    scene, folder = the_scene(), tmp_path / "new" / "bundle"
    content = scene.content()
    write_bundle(folder, content, iter(scene.records))
    assert {place.name for place in folder.iterdir()} == set(NAMES)
    links = tmp_path / "links"
    links.mkdir()
    for name in NAMES:
        (links / name).symlink_to(folder / name)
    for place in (folder, links):
        found = Bundle.read(place)
        assert found.reports == len(scene.records)
        assert found.document == scene.recipe.document
        assert found.accepted == content.accepted
        assert found.list_signatures == content.list_signatures
        assert found.decryptions == content.decryptions
        assert found.result == content.result
        assert found.list_proof.encode() == content.list_proof


def test_writer_refuses_other_reports_than_the_list_has(tmp_path: Path) -> None:
    scene = the_scene()
    with pytest.raises(BundleError, match=r"reports\.bin: 14,102 bytes were written, not 12 reports"):
        write_bundle(tmp_path, scene.content(), scene.records[1:])
    with pytest.raises(FileExistsError):
        write_bundle(tmp_path, scene.content(), scene.records)
