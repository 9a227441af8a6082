"""The key schedule and both KEMs, against official vectors and on their own."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.protocols import hpke
from panprivacy.protocols.hpke import (
    CIPHERS,
    HKDF_SHA256,
    KEMS,
    HpkeOpenError,
    HpkeSealError,
    Kem,
    PrivateKey,
    Suite,
    X25519Kem,
    XWingKem,
)

VECTORS = json.loads(Path(__file__).with_name("hpke_vectors.json").read_text())
"""Facts of RFC 9180 and two drafts; each names its source."""

BYTES = st.binary(max_size=300)
SOURCE = random.Random(9180)


def decoded(vector: dict[str, Any]) -> dict[str, bytes]:
    texts = {name: value for name, value in vector.items() if isinstance(value, str) and name != "source"}
    return {name: bytes.fromhex(value) for name, value in texts.items()}


def suite_of(vector: dict[str, Any]) -> Suite:
    return Suite(*(vector[name] for name in ("kem_id", "kdf_id", "aead_id")))


@pytest.fixture(params=KEMS.values(), ids=list(KEMS))
def kem(request: pytest.FixtureRequest) -> Kem:
    return request.param


def suite(kem: Kem) -> Suite:
    return Suite(kem.number, HKDF_SHA256, hpke.AES_128_GCM)


@pytest.mark.parametrize("vector", VECTORS["sealed"], ids=lambda vector: vector["source"])
def test_open_official_vector_gives_plaintext_and_exports(vector: dict[str, Any]) -> None:
    given = decoded(vector)
    key = PrivateKey(suite_of(vector), given["private_key"])
    assert key.public_key == given["public_key"]
    plaintext, exporter = key.open(given["enc"], given["ciphertext"], given["info"], given["aad"])
    assert plaintext == given["plaintext"]
    for export in vector["exports"]:
        assert exporter.export(bytes.fromhex(export["label"]), 32).hex() == export["value"]


@pytest.mark.parametrize("vector", VECTORS["sealed"], ids=lambda vector: vector["source"])
def test_seal_with_official_draw_gives_its_ciphertext(vector: dict[str, Any]) -> None:
    given, drawn = decoded(vector), suite_of(vector)
    secret, enc = given["shared_secret"], given["enc"]
    if "ephemeral_material" in given:
        ephemeral = X25519Kem.derived(given["ephemeral_material"])
        assert X25519Kem.encapsulate_with(given["public_key"], ephemeral) == (secret, enc)
    sealed = hpke.seal_with(drawn, secret, enc, given["info"], given["aad"], given["plaintext"])
    assert sealed[:2] == (enc, given["ciphertext"])


@pytest.mark.parametrize("vector", VECTORS["x_wing"], ids=lambda vector: vector["source"])
def test_decapsulate_official_x_wing_vector_gives_its_secret(vector: dict[str, Any]) -> None:
    given = decoded(vector)
    key = XWingKem().load(given["private_key"])
    assert key.public_key == given["public_key"]
    assert key.decapsulate(given["enc"]) == given["shared_secret"]


@given(st.sampled_from(list(KEMS.values())), st.sampled_from(list(CIPHERS)), BYTES, BYTES, BYTES)
def test_open_inverts_seal_and_is_bound_to_info_and_aad(
    kem: Kem, aead_id: int, info: bytes, aad: bytes, plaintext: bytes
) -> None:
    drawn = Suite(kem.number, HKDF_SHA256, aead_id)
    key = PrivateKey(drawn, SOURCE.randbytes(32))
    enc, ciphertext, sender = hpke.seal(drawn, key.public_key, info, aad, plaintext, SOURCE)
    assert (len(enc), len(ciphertext)) == (kem.enc_bytes, len(plaintext) + hpke.TAG_BYTES)
    assert len(key.public_key) == kem.public_key_bytes
    opened, recipient = key.open(enc, ciphertext, info, aad)
    assert opened == plaintext
    assert sender.export(b"label", 32) == recipient.export(b"label", 32) != sender.export(b"other", 32)
    for wrong in ((info + b"\0", aad), (info, aad + b"\0")):
        with pytest.raises(HpkeOpenError):
            key.open(enc, ciphertext, *wrong)


@pytest.mark.parametrize("at", [0, 500, 1087, 1088, 1119], ids="byte {}".format)
def test_open_with_either_half_of_x_wing_altered_is_refused(at: int) -> None:
    drawn = suite(KEMS[hpke.KemName.X_WING])
    key = PrivateKey(drawn, SOURCE.randbytes(32))
    enc, ciphertext, _ = hpke.seal(drawn, key.public_key, b"", b"", b"secret", SOURCE)
    altered = bytearray(enc)
    altered[at] ^= 1
    with pytest.raises(HpkeOpenError):
        key.open(bytes(altered), ciphertext, b"", b"")


def test_open_of_enc_of_a_wrong_length_is_refused(kem: Kem) -> None:
    drawn = suite(kem)
    key = PrivateKey(drawn, SOURCE.randbytes(32))
    enc, ciphertext, _ = hpke.seal(drawn, key.public_key, b"", b"", b"secret", SOURCE)
    for wrong in (b"", enc[:-1], enc + b"\0", enc[:31], enc + enc):
        with pytest.raises(HpkeOpenError):
            key.open(wrong, ciphertext, b"", b"")


def test_seal_to_something_that_is_no_key_is_refused(kem: Kem) -> None:
    valid = PrivateKey(suite(kem), SOURCE.randbytes(32)).public_key
    small_order = valid[:-32] + bytes(32)
    # A coefficient of ML-KEM that is not reduced (FIPS 203, section 7.2).
    unreduced = b"\xff" * len(valid)
    for wrong in (b"", valid[:-1], valid + b"\0", small_order, *((unreduced,) if len(valid) > 32 else ())):
        with pytest.raises(HpkeSealError, match="public key"):
            hpke.seal(suite(kem), wrong, b"", b"", b"secret", SOURCE)


def test_seal_draws_x25519_from_its_source_and_ml_kem_for_itself(kem: Kem) -> None:
    public_key = PrivateKey(suite(kem), SOURCE.randbytes(32)).public_key
    encs = {hpke.seal(suite(kem), public_key, b"", b"", b"x", random.Random(1))[0] for _ in range(3)}
    assert len(encs) == (3 if kem.number == XWingKem.number else 1)


@pytest.mark.parametrize("numbers", [(0x10, 1, 1), (0x20, 2, 1), (0x20, 1, 0xFFFF), (0x647A, 0x11, 3)])
def test_unknown_algorithms_are_refused(numbers: tuple[int, int, int]) -> None:
    unknown = Suite(*numbers)
    with pytest.raises(HpkeSealError, match="unknown HPKE algorithms"):
        hpke.seal(unknown, bytes(32), b"", b"", b"", SOURCE)
    with pytest.raises(HpkeOpenError, match="unknown HPKE algorithms"):
        PrivateKey(unknown, bytes(32))


def test_private_key_of_another_length_is_refused(kem: Kem) -> None:
    for length in (0, 31, 33, 64):
        with pytest.raises(HpkeOpenError, match="private key"):
            PrivateKey(suite(kem), bytes(length))


def test_export_of_more_than_one_block_is_refused(kem: Kem) -> None:
    public_key = PrivateKey(suite(kem), SOURCE.randbytes(32)).public_key
    _, _, exporter = hpke.seal(suite(kem), public_key, b"", b"", b"", SOURCE)
    with pytest.raises(ValueError, match="at most 32 bytes"):
        exporter.export(b"label", 33)
