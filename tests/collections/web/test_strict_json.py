"""JSON that is read here says one thing to every reader, or is refused."""

import json

import pytest

from web.strict_json import LONGEST_SHOWN, JSONRefusedError, json_of, json_problem

REFUSED = {
    "nothing": (b"", "JSONDecodeError"),
    "two values": (b"1 2", "JSONDecodeError"),
    "no number": (b'{"a": [NaN]}', "NotANumber"),
    "infinity": (b"-Infinity", "NotANumber"),
    "a number too long to be converted": (b"1" * 10_000, "ValueError"),
    "bytes that are no text": (b'"\xff"', "UnicodeDecodeError"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "UnicodeDecodeError"),
    "UTF-16 without a mark": ('{"a": 1}'.encode("utf-16-le"), "JSONDecodeError"),
    "lists in lists": (b"[" * 100_000, "RecursionError"),
    "objects in objects": (b'{"a":' * 100_000, "RecursionError"),
}


@pytest.mark.parametrize(("body", "kind"), REFUSED.values(), ids=REFUSED)
def test_body_that_is_no_json_is_refused_with_one_error(body: bytes, kind: str) -> None:
    with pytest.raises(JSONRefusedError) as refusal:
        json_of(body)
    assert (str(refusal.value), refusal.value.repeated) == (kind, None)
    assert json_problem(refusal.value, "Not JSON.").document()["detail"] == "Not JSON."


@pytest.mark.parametrize("body", [b'{"a": 1, "b": 2, "a": 1}', b'[{"c": {"a": 1, "\\u0061": 2}}]'])
def test_member_that_is_repeated_anywhere_is_named(body: bytes) -> None:
    with pytest.raises(JSONRefusedError) as refusal:
        json_of(body)
    assert refusal.value.repeated == "a"
    document = json_problem(refusal.value, "").document()
    assert (document["type"], document["field"]) == ("/problems/invalid-parameter", "a")
    assert document["detail"] == "a: occurs more than once."


@pytest.mark.parametrize(
    ("name", "shown"), [("x" * 10_000, "x" * LONGEST_SHOWN), ("a\0b", "a?b"), ("a\ud800b", "a?b")]
)
def test_repeated_name_is_cut_and_can_be_stored(name: str, shown: str) -> None:
    member = f"{json.dumps(name)}: 1"
    with pytest.raises(JSONRefusedError) as refusal:
        json_of(f"{{{member}, {member}}}".encode())
    assert refusal.value.repeated == shown


@pytest.mark.parametrize("value", [None, True, 1.5, "ß\U0001f600", [], {"a": [{"a": {"b": 1}}, {"a": 2}]}])
def test_json_of_what_python_writes_is_the_same(value: object) -> None:
    assert json_of(json.dumps(value).encode()) == value
    assert json_of(b"\xef\xbb\xbf " + json.dumps(value, ensure_ascii=False).encode()) == value
