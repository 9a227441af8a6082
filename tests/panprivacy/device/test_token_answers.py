"""For every problem that attester and issuer raise it is decided what a device does about it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from panprivacy.device.token_answers import OF_ATTESTER, OF_ISSUER, TokenRemedy, remedy
from panprivacy.protocols.oblivious_http.capsules import KEY_PROBLEM

ROOMS = Path(__file__).resolve().parents[3] / "collections"

LATER = {
    # A person has to do something first: enrol the device, set its clock, hand out another code.
    "not-attested",
    "code-refused",
    "key-known",
    "credential-refused",
    # It passes by itself.
    "issuer-failed",
    "too-many-requests",
    # The recipe may be registered late.
    "unrecognized-recipe",
}
"""What a device asks again about; these are of the enrolling, too."""


def raised(room: str) -> Iterator[str]:
    """The kinds of all problems that a room makes by name."""
    for path in (ROOMS / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            # A problem of its own class names its kind to its base.
            if ast.unparse(node.func) in ("Problem", "super().__init__"):
                kind = node.args[0]
                yield from [str(kind.value)] if isinstance(kind, ast.Constant) else []


def test_every_problem_of_attester_and_issuer_is_decided() -> None:
    found = {
        kind
        for room in ("tokens/attester", "tokens/issuer", "partners/ohttp/gateway")
        for kind in raised(room)
    }
    named = {kind.removeprefix("/problems/") for kind in (*OF_ATTESTER, *OF_ISSUER) if kind != KEY_PROBLEM}
    assert found == named | LATER
    assert not named & LATER


def test_type_that_is_named_nowhere_or_is_no_text_is_asked_about_again() -> None:
    for kind in (None, 1, ["/problems/already-issued"], {}, "/problems/new"):
        assert remedy(kind, OF_ATTESTER) is remedy(kind, OF_ISSUER) is TokenRemedy.LATER
