import random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.protocols.oblivious_http import keys, signed_keys
from panprivacy.protocols.oblivious_http.signed_keys import UnsignedKeysError

CONFIG, _ = keys.generate(7, random.Random(9458))
LIST = keys.encode_list((CONFIG,))
SERVER = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def test_list_is_taken_from_the_server_that_signed_it_as_documented() -> None:
    signature = signed_keys.signature(LIST, SERVER)
    SERVER.public_key().verify(base64_text.decode(signature), b"panapp-ohttp-keys-1\n" + LIST)
    assert signed_keys.verified(LIST, signature, SERVER.public_key()) == (CONFIG,)


@pytest.mark.parametrize("signature", ["", "x", "A" * 86 + "==", signed_keys.signature(LIST, OTHER)])
def test_list_that_the_server_did_not_sign_is_refused(signature: str) -> None:
    with pytest.raises(UnsignedKeysError, match="not signed"):
        signed_keys.verified(LIST, signature, SERVER.public_key())


def test_list_with_another_key_or_without_a_usable_one_is_refused() -> None:
    other, _ = keys.generate(7, random.Random(9459))
    signature = signed_keys.signature(LIST, SERVER)
    with pytest.raises(UnsignedKeysError, match="not signed by the server"):
        signed_keys.verified(keys.encode_list((other,)), signature, SERVER.public_key())
    with pytest.raises(UnsignedKeysError, match="cannot be used"):
        signed_keys.verified(b"\0\1\1", signed_keys.signature(b"\0\1\1", SERVER), SERVER.public_key())
