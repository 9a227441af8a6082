import random
from dataclasses import replace

import pytest

from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.oblivious_http import keys
from panprivacy.protocols.oblivious_http.keys import (
    AES_128_GCM,
    CHACHA20_POLY1305,
    KDF,
    KEM,
    Algorithms,
    KeyConfig,
)

SOURCE = random.Random(9458)


def listed(encoded: bytes) -> bytes:
    return len(encoded).to_bytes(2, "big") + encoded


def test_list_is_read_as_written_in_its_order() -> None:
    configs = tuple(keys.generate(key_id, SOURCE)[0] for key_id in (3, 2))
    assert keys.decode_list(keys.encode_list(configs)) == configs


def test_list_leaves_out_what_cannot_be_used_here() -> None:
    config, _ = keys.generate(1, SOURCE)
    unknown_cipher = replace(config, algorithms=(Algorithms(KDF, 2),))
    another_kem = listed(config.encode().replace(b"\0\x20", b"\0\x10", 1))
    encoded = another_kem + keys.encode_list((unknown_cipher, config)) + listed(b"\1")
    assert keys.decode_list(encoded) == (config,)


@pytest.mark.parametrize("encoded", [b"", b"\0", b"\0\x05\1", listed(b"\1")])
def test_list_without_a_usable_key_is_refused(encoded: bytes) -> None:
    with pytest.raises(InvalidMessageError):
        keys.decode_list(encoded)


def test_first_algorithms_that_are_ours_are_chosen() -> None:
    config, _ = keys.generate(1, SOURCE)
    ours = Algorithms(KDF, CHACHA20_POLY1305)
    mixed = replace(config, algorithms=(Algorithms(3, AES_128_GCM), ours, Algorithms(KDF, AES_128_GCM)))
    assert mixed.chosen == ours
    assert config.kem_id == KEM


def test_configuration_without_algorithms_is_refused() -> None:
    config, _ = keys.generate(1, SOURCE)
    with pytest.raises(InvalidMessageError, match="algorithms"):
        replace(config, algorithms=()).encode()
    with pytest.raises(InvalidMessageError, match="algorithms"):
        KeyConfig.decode(config.encode()[:35] + b"\0\0")
