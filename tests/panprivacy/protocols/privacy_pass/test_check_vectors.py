"""The command that checks vectors: official ones where they are, changed ones, and one made here."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from panprivacy.formats.vector_files import VectorError
from panprivacy.protocols.privacy_pass import blind_rsa
from panprivacy.protocols.privacy_pass.__main__ import main
from panprivacy.protocols.privacy_pass.blind_rsa import VARIANTS
from panprivacy.protocols.privacy_pass.vectors import check_file
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key

ROOT = Path(__file__).resolve().parents[4]
OFFICIAL = next(
    (found for parent in ROOT.parents if (found := parent / "shared" / "vectors" / "rfc").is_dir()), None
)
FILES = ("rfc9474.json", "rfc9578_public.json")


def own_vector(name: str) -> dict[str, Any]:
    """A vector as RFC 9474 has them, of a short key: good for what the checks themselves do."""
    key, variant, source = seeded_key(1, 1024), VARIANTS[name], random.Random(name)
    prefix, salt = source.randbytes(variant.prefix_bytes), source.randbytes(variant.salt_bytes)
    factor = source.randrange(1, key.public.n)
    blinded = blind_rsa.blind_with(key.public, prefix + b"message", salt, factor)
    answer = blind_rsa.blind_sign(key, blinded.message, source)
    signature = blind_rsa.finalize(variant, key.public, prefix + b"message", answer, blinded.inverse)
    return {
        "name": name,
        **{member: hex(getattr(key, member)) for member in ("p", "q", "e")},
        "n": hex(key.public.n),
        "d": hex(pow(key.e, -1, (key.p - 1) * (key.q - 1))),
        "msg": b"message".hex(),
        "msg_prefix": prefix.hex(),
        "salt": salt.hex(),
        "inv": hex(blinded.inverse),
        "blinded_msg": blinded.message.hex(),
        "blind_sig": answer.hex(),
        "sig": signature.hex(),
    }


def written(path: Path, vectors: object) -> Path:
    file = path / "vectors.json"
    file.write_text(json.dumps(vectors))
    return file


@pytest.mark.skipif(OFFICIAL is None, reason="the official vectors do not lie beside the project")
@pytest.mark.parametrize("name", FILES)
def test_official_vectors_hold(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert OFFICIAL is not None
    assert main(["check-vectors", str(OFFICIAL / name)]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


@pytest.mark.skipif(OFFICIAL is None, reason="the official vectors do not lie beside the project")
@pytest.mark.parametrize("name", FILES)
def test_official_vectors_with_a_digit_changed_in_any_member_fail(name: str, tmp_path: Path) -> None:
    assert OFFICIAL is not None
    vector = json.loads((OFFICIAL / name).read_bytes())[0]
    for member, text in vector.items():
        if member in ("name", "skS") or not text:  # skS ends with what PEM does not read
            continue
        last = "1" if text[-1] == "0" else "0"
        with pytest.raises(VectorError):
            check_file(written(tmp_path, [{**vector, member: text[:-1] + last}]), random.Random(1))


def test_vectors_of_all_variants_hold(tmp_path: Path) -> None:
    check_file(written(tmp_path, [own_vector(name) for name in VARIANTS]), random.Random(1))


def test_first_difference_is_named_with_exit_status_1(tmp_path, capsys):
    good, bad = own_vector("RSABSSA-SHA384-PSS-Randomized"), own_vector("RSABSSA-SHA384-PSS-Deterministic")
    bad["blind_sig"] = "00" + bad["blind_sig"][2:]
    assert main(["check-vectors", str(written(tmp_path, [good, bad]))]) == 1
    shown = capsys.readouterr().out
    assert "vector 1 (RSABSSA-SHA384-PSS-Deterministic): blind_sig: is " in shown
    assert "0 passed, 1 failed" in shown


def test_names_in_a_file_reach_the_terminal_without_control_characters(tmp_path, capsys):
    assert main(["check-vectors", str(written(tmp_path, [{"name": "\ud800\x1b[31m"}]))]) == 1
    assert "(??[31m)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([], "at least one"),
        ({}, "must be a list"),
        (["text"], "must be an object"),
        ([{"msg": 1}], "must be an object whose fields are text"),
        ([{"msg": "00"}], "nothing that is known"),
        ([{"blinded_msg": "00"}], "no field 'name'"),
        ([{"blinded_msg": "00", "name": "RSABSSA"}], "must be one of"),
        ([{**own_vector("RSABSSA-SHA384-PSS-Randomized"), "msg": "xy"}], "hexadecimal"),
        ([{**own_vector("RSABSSA-SHA384-PSS-Randomized"), "p": "0x10"}], "primes"),
        ([{**own_vector("RSABSSA-SHA384-PSS-Randomized"), "salt": ""}], "bytes of salt"),
        ([{"token_request": "00", "skS": "00"}], "vector 0"),
    ],
)
def test_files_of_anything_else_fail_with_the_reason(vectors: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(VectorError, match=words):
        check_file(written(tmp_path, vectors), random.Random(1))
