import random
from dataclasses import replace

import pytest

from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.issuance import (
    InvalidRequestError,
    InvalidResponseError,
    InvalidTokenError,
    OtherPurposeError,
)
from panprivacy.protocols.privacy_pass.rsa_keys import PublicKey
from panprivacy.protocols.privacy_pass.tokens import Token, TokenChallenge, TokenRequest, TokenResponse
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.panprivacy.protocols.privacy_pass.rfc9578 import CHALLENGE, PUBLIC_KEY, TOKEN

SOURCE = random.Random(578)
PURPOSE = TokenChallenge(2, b"issuer.example", bytes(range(32)), b"site.example,helper.example")


def new_token() -> Token:
    key = seeded_key()
    pending = issuance.ask(key.public, PURPOSE, SOURCE)
    return pending.finish(issuance.issue(key, pending.request, SOURCE))


def test_token_of_rfc_9578_is_accepted_for_its_challenge() -> None:
    key, challenge = PublicKey.decode(PUBLIC_KEY), TokenChallenge.decode(CHALLENGE)
    issuance.verify(key, challenge.digest, Token.decode(TOKEN))


def test_token_that_was_issued_is_accepted_and_has_the_lengths_of_the_rfc() -> None:
    key = seeded_key()
    pending = issuance.ask(key.public, PURPOSE, SOURCE)
    response = issuance.issue(key, pending.request, SOURCE)
    token = pending.finish(response)
    issuance.verify(key.public, PURPOSE.digest, token)
    assert [len(part.encode()) for part in (pending.request, response, token)] == [259, 256, 354]


def test_token_with_any_bit_changed_is_refused() -> None:
    """Every byte of it; one bit of each, another one as the bytes go on."""
    key, token = seeded_key(), new_token().encode()
    for position in range(len(token)):
        changed = bytearray(token)
        changed[position] ^= 1 << position % 8
        with pytest.raises((OtherPurposeError, InvalidTokenError, InvalidMessageError)):
            issuance.verify(key.public, PURPOSE.digest, Token.decode(bytes(changed)))


@pytest.mark.parametrize(
    "other",
    [
        replace(PURPOSE, issuer_name=b"other.example"),
        replace(PURPOSE, redemption_context=bytes(32)),
        replace(PURPOSE, redemption_context=b""),
        replace(PURPOSE, origin_info=b"site.example"),
    ],
)
def test_token_for_another_challenge_is_refused(other: TokenChallenge) -> None:
    with pytest.raises(OtherPurposeError):
        issuance.verify(seeded_key().public, other.digest, new_token())


def test_token_of_another_key_is_refused_also_where_it_names_ours() -> None:
    other, token = seeded_key(1), new_token()
    with pytest.raises(OtherPurposeError):
        issuance.verify(other.public, PURPOSE.digest, token)
    renamed = replace(token, key_id=other.public.key_id)
    with pytest.raises(InvalidTokenError):
        issuance.verify(other.public, PURPOSE.digest, renamed)


def test_issue_refuses_requests_that_name_another_key_or_are_no_number() -> None:
    key = seeded_key()
    request = issuance.ask(key.public, PURPOSE, SOURCE).request
    with pytest.raises(InvalidRequestError, match="another key"):
        issuance.issue(key, replace(request, truncated_key_id=request.truncated_key_id ^ 1), SOURCE)
    with pytest.raises(InvalidRequestError, match="below the modulus"):
        issuance.issue(key, replace(request, blinded_message=b"\xff" * 256), SOURCE)


def test_finish_refuses_what_the_issuer_did_not_sign() -> None:
    key = seeded_key()
    pending, other = (issuance.ask(key.public, PURPOSE, SOURCE) for _ in range(2))
    for answer in (issuance.issue(key, other.request, SOURCE), TokenResponse(bytes(256))):
        with pytest.raises(InvalidResponseError):
            pending.finish(answer)


def test_ask_with_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="2048 bits"):
        issuance.ask(seeded_key(1, 1024).public, PURPOSE, SOURCE)


def test_messages_of_another_type_or_with_a_short_context_are_refused() -> None:
    token, request = new_token().encode(), issuance.ask(seeded_key().public, PURPOSE, SOURCE).request.encode()
    for message, encoded in ((Token, token), (TokenRequest, request), (TokenChallenge, CHALLENGE)):
        with pytest.raises(InvalidMessageError, match="token_type"):
            message.decode(b"\0\1" + encoded[2:])
    with pytest.raises(InvalidMessageError, match="redemption_context"):
        replace(PURPOSE, redemption_context=bytes(31)).encode()
