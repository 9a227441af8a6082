"""A signature is of one recipe, one number and one purpose."""

from math import exp

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.accounting import noisy_count
from panprivacy.protocols.signed_count import CountRefusedError, IssuedTokens, ReleasedCount

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
COUNT = ReleasedCount("ab" * 32, 1_000)


def test_signed_message_is_canonical_json_after_its_context() -> None:
    assert COUNT.signed_message == b'panapp-counted-1\n{"recipe":"' + b"ab" * 32 + b'","reports":1000}'
    COUNT.verify(COUNT.sign(KEY), KEY.public_key())


def test_signature_of_tokens_is_none_of_reports() -> None:
    tokens = IssuedTokens("ab" * 32, 1_000)
    assert tokens.signed_message == b'panapp-issued-1\n{"issued":1000,"recipe":"' + b"ab" * 32 + b'"}'
    tokens.verify(tokens.sign(KEY), KEY.public_key())
    with pytest.raises(CountRefusedError):
        COUNT.verify(tokens.sign(KEY), KEY.public_key())


@pytest.mark.parametrize("other", [ReleasedCount("ab" * 32, 1_001), ReleasedCount("ac" * 32, 1_000)])
def test_signature_of_another_count_is_refused(other: ReleasedCount) -> None:
    with pytest.raises(CountRefusedError):
        COUNT.verify(other.sign(KEY), KEY.public_key())


@pytest.mark.parametrize("signature", [b"", bytes(64), KEY.sign(COUNT.signed_message.partition(b"\n")[2])])
def test_what_is_no_signature_of_a_count_is_refused(signature: bytes) -> None:
    with pytest.raises(CountRefusedError):
        COUNT.verify(signature, KEY.public_key())


@pytest.mark.parametrize("cohort_size", [1, 2, 50, 10_000, 10**9])
def test_largest_noise_is_the_least_that_is_hardly_ever_exceeded(cohort_size: int) -> None:
    ratio = exp(-1 / float(noisy_count.scale(cohort_size)))

    def exceeded(t: int) -> float:
        return 2 * ratio ** (t + 1) / (1 + ratio)

    largest = noisy_count.largest(cohort_size)
    assert exceeded(largest) <= noisy_count.LARGEST_EXCEEDED * (1 + 1e-9)
    assert exceeded(largest - 1) > noisy_count.LARGEST_EXCEEDED * (1 - 1e-9)
