import random

import pytest

from panprivacy.protocols.hpke import (
    AES_128_GCM,
    CHACHA20_POLY1305,
    HKDF_SHA256,
    KEMS,
    KemName,
    public_key_of,
)
from panprivacy.protocols.oblivious_http import capsules, keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from panprivacy.protocols.oblivious_http.capsules import CapsuleError, UnknownKeyError
from panprivacy.protocols.oblivious_http.keys import Algorithms, KemKey, KeyConfig

SOURCE = random.Random(9458)

# RFC 9458, appendix A
PRIVATE_KEY = bytes.fromhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
CONFIG = bytes.fromhex(
    "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003"
)
EPHEMERAL_KEY = bytes.fromhex("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
REQUEST = bytes.fromhex("00034745540568747470730b6578616d706c652e636f6d012f")
CAPSULE = bytes.fromhex(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e"
    "1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
ANSWER_NONCE = bytes.fromhex("c789e7151fcba46158ca84b04464910d")
ANSWER = bytes.fromhex("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")


def test_exchange_is_that_of_rfc_9458_byte_for_byte() -> None:
    config = KeyConfig.decode(CONFIG)
    assert config.encode() == CONFIG
    assert config.key.public_key == public_key_of(KEMS[KemName.X25519], PRIVATE_KEY)
    capsule, client = capsules.seal_with(config, REQUEST, EPHEMERAL_KEY)
    assert capsule == CAPSULE
    request, server = capsules.open_({config.key_id: (config, PRIVATE_KEY)}, capsule)
    assert Request.decode(request) == Request(b"GET", b"https", b"example.com", b"/")
    answer = server.seal_with(Response(200).encode()[:3], ANSWER_NONCE)
    assert answer == ANSWER
    assert Response.decode(client.open(answer)) == Response(200)


@pytest.mark.parametrize("kem", KemName)
@pytest.mark.parametrize("aead_id", [AES_128_GCM, CHACHA20_POLY1305])
def test_request_and_answer_arrive_with_either_cipher(aead_id: int, kem: KemName) -> None:
    config, private_key = keys.generate(7, SOURCE, kem)
    only = KeyConfig(7, config.key, (Algorithms(HKDF_SHA256, aead_id),))
    capsule, client = capsules.seal(only, b"request", SOURCE)
    other, other_client = capsules.seal(only, b"request", SOURCE)
    assert len(capsule) == capsules.request_overhead(kem) + len(b"request")
    assert capsule[7:] != other[7:]
    request, server = capsules.open_({7: (config, private_key)}, capsule)
    answers = [server.seal(b"answer", SOURCE) for _ in range(2)]
    assert request == b"request"
    assert [client.open(answer) for answer in answers] == [b"answer"] * 2
    assert answers[0] != answers[1]
    with pytest.raises(CapsuleError):
        other_client.open(answers[0])


def test_open_of_an_altered_or_cut_capsule_or_by_another_key_is_refused() -> None:
    held = {1: (KeyConfig.decode(CONFIG), PRIVATE_KEY)}
    for position in range(len(CAPSULE)):
        changed = bytearray(CAPSULE)
        changed[position] ^= 1
        with pytest.raises(UnknownKeyError if position < 7 else CapsuleError):
            capsules.open_(held, bytes(changed))
        with pytest.raises(CapsuleError):
            capsules.open_(held, CAPSULE[:position])
    with pytest.raises(CapsuleError) as refusal:
        capsules.open_({1: keys.generate(1, SOURCE, KemName.X25519)}, CAPSULE)
    assert not isinstance(refusal.value, UnknownKeyError)


def test_open_of_an_altered_or_cut_answer_is_refused() -> None:
    _, client = capsules.seal_with(KeyConfig.decode(CONFIG), REQUEST, EPHEMERAL_KEY)
    for position in range(len(ANSWER)):
        changed = bytearray(ANSWER)
        changed[position] ^= 1
        for answer in (bytes(changed), ANSWER[:position]):
            with pytest.raises(CapsuleError):
                client.open(answer)


def test_seal_to_a_key_that_is_no_point_of_the_curve_is_refused() -> None:
    """Of order 1, 2, 4 or 8: everybody would know the secret (RFC 7748, section 6.1)."""
    config = KeyConfig.decode(CONFIG)
    for point in (bytes(32), b"\1" + bytes(31)):
        with pytest.raises(ValueError, match="no valid one"):
            capsules.seal(KeyConfig(1, KemKey(KemName.X25519, point), config.algorithms), REQUEST, SOURCE)


def test_capsule_of_the_other_kem_is_not_opened_with_a_keys_secret() -> None:
    """Both private keys are 32 bytes: the secret of one must not serve as that of the other."""
    _, private_key = keys.generate(7, SOURCE, KemName.X_WING)
    as_x25519 = KemKey(KemName.X25519, public_key_of(KEMS[KemName.X25519], private_key))
    capsule, _ = capsules.seal(KeyConfig(7, as_x25519, keys.OURS), REQUEST, SOURCE)
    published = KeyConfig(
        7, KemKey(KemName.X_WING, public_key_of(KEMS[KemName.X_WING], private_key)), keys.OURS
    )
    with pytest.raises(UnknownKeyError):
        capsules.open_({7: (published, private_key)}, capsule)
