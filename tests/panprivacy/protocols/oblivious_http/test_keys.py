import random
from dataclasses import replace

import pytest

from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.hpke import AES_128_GCM, CHACHA20_POLY1305, HKDF_SHA256, KemName
from panprivacy.protocols.oblivious_http import keys
from panprivacy.protocols.oblivious_http.keys import Algorithms, KemKey, KeyConfig

SOURCE = random.Random(9458)


def listed(encoded: bytes) -> bytes:
    return len(encoded).to_bytes(2, "big") + encoded


def test_list_is_read_as_written_in_its_order() -> None:
    configs = tuple(
        keys.generate(key_id, SOURCE, kem)[0] for key_id, kem in zip((3, 2), KemName, strict=True)
    )
    assert [len(config.encode()) for config in configs] == [1_229, 45]
    encoded = keys.encode_list(configs)
    assert keys.decode_list(encoded) == configs
    assert [keys.decode_list(encoded, kem) for kem in KemName] == [(config,) for config in configs]


def test_list_without_the_recipes_kem_is_refused() -> None:
    encoded = keys.encode_list((keys.generate(1, SOURCE, KemName.X25519)[0],))
    with pytest.raises(InvalidMessageError, match="x-wing"):
        keys.decode_list(encoded, KemName.X_WING)


@pytest.mark.parametrize("kem", KemName)
def test_key_of_another_length_is_refused(kem: KemName) -> None:
    config, _ = keys.generate(1, SOURCE, kem)
    for wrong in (config.key.public_key[:-1], config.key.public_key + b"\0"):
        with pytest.raises(InvalidMessageError, match="bytes"):
            replace(config, key=KemKey(kem, wrong)).encode()


def test_list_leaves_out_what_cannot_be_used_here() -> None:
    config, _ = keys.generate(1, SOURCE, KemName.X25519)
    unknown_cipher = replace(config, algorithms=(Algorithms(HKDF_SHA256, 2),))
    another_kem = listed(config.encode().replace(b"\0\x20", b"\0\x10", 1))
    encoded = another_kem + keys.encode_list((unknown_cipher, config)) + listed(b"\1")
    assert keys.decode_list(encoded) == (config,)


@pytest.mark.parametrize("encoded", [b"", b"\0", b"\0\x05\1", listed(b"\1")])
def test_list_without_a_usable_key_is_refused(encoded: bytes) -> None:
    with pytest.raises(InvalidMessageError):
        keys.decode_list(encoded)


def test_first_algorithms_that_are_ours_are_chosen() -> None:
    config, _ = keys.generate(1, SOURCE)
    ours = Algorithms(HKDF_SHA256, CHACHA20_POLY1305)
    mixed = replace(
        config, algorithms=(Algorithms(3, AES_128_GCM), ours, Algorithms(HKDF_SHA256, AES_128_GCM))
    )
    assert mixed.chosen == ours


def test_configuration_without_algorithms_is_refused() -> None:
    config, _ = keys.generate(1, SOURCE, KemName.X25519)
    with pytest.raises(InvalidMessageError, match="algorithms"):
        replace(config, algorithms=()).encode()
    with pytest.raises(InvalidMessageError, match="algorithms"):
        KeyConfig.decode(config.encode()[:35] + b"\0\0")
