"""Tokens: their form, and how a server recognizes them."""

import hashlib
import re

import pytest

from panprivacy.protocols.dap.tokens import (
    BEARER,
    DAP_AUTH,
    LONGEST_TOKEN,
    Token,
    TokenHash,
    TokenRefusedError,
)

BEARS = Token(BEARER, "abc-._~+/1=")
OLDER = Token(DAP_AUTH, "abc-._~+/1=")


@pytest.mark.parametrize("token", [BEARS, OLDER])
def test_token_is_recognized_by_its_hash(token: Token) -> None:
    for known in (token.hashed(), TokenHash.from_bytes(token.hashed().to_bytes())):
        known.require(Token.from_bytes(token.to_bytes()).headers())
        known.require({name.lower(): value for name, value in token.headers().items()})
    assert token.hashed().digest == hashlib.sha256(token.value.encode()).digest()
    assert token.value not in repr(token)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": BEARS.value},
        {"Authorization": f"Basic {BEARS.value}"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {BEARS.value}x"},
        {"Authorization": "Bearer \xff"},
        {"DAP-Auth-Token": BEARS.value},
        {"Authorization": "Bearer wrong", "DAP-Auth-Token": BEARS.value},
    ],
)
def test_another_token_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(TokenRefusedError):
        BEARS.hashed().require(headers)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        *((BEARER, value) for value in ("", "a b", "a\nb", "=", "é", "a" * (LONGEST_TOKEN + 1))),
        *((DAP_AUTH, value) for value in ("", "a b", "a\r\nHost: b", "\x7f")),
        ("Basic", "abc"),
    ],
)
def test_token_of_another_form_is_refused(type_: str, value: str) -> None:
    with pytest.raises(ValueError, match="must be a token"):
        Token(type_, value)
    with pytest.raises(ValueError, match="must"):
        TokenHash(type_, b"short")


@pytest.mark.parametrize(
    ("type_", "form"),
    [
        (BEARER, "1 to 1,000 letters, digits and -._~+/, with = only at the end"),
        (DAP_AUTH, "1 to 1,000 characters of visible ASCII"),
    ],
)
def test_refused_token_is_answered_with_the_form_it_must_have(type_: str, form: str) -> None:
    with pytest.raises(ValueError, match=f"^must be a token of type {type_}: {re.escape(form)}$"):
        Token(type_, "a b")
