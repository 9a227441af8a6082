"""Schemes by name."""

import random
import subprocess
import sys
from types import ModuleType

import pytest

from panprivacy.encryption import (
    DEFAULT_SCHEME,
    SCHEMES,
    generate_private_key,
    load_private_key,
    load_public_key,
    scheme_of_code,
)
from panprivacy.encryption.elgamal import ElGamalPrivateKey, ElGamalPublicKey
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.encrypted_shares.configuration import PanPrivateCountVec
from tests.refusals import field_refused


def test_schemes_are_found_by_the_names_and_codes_of_their_keys():
    assert DEFAULT_SCHEME in SCHEMES
    for name, private_key_class in SCHEMES.items():
        public = private_key_class.public_key_class
        assert (public.scheme, scheme_of_code(public.code)) == (name, name)
        assert 1 <= public.code <= 255


def test_scheme_of_code_unknown_raises_a_field_error_that_lists_the_known():
    with field_refused("scheme", match=rf"1 \({DEFAULT_SCHEME}\), .*, not 0$"):
        scheme_of_code(0)


def test_scheme_of_code_without_the_libraries_of_a_scheme_does_not_know_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    monkeypatch.delitem(sys.modules, "panprivacy.encryption.paillier", raising=False)
    # As in a process that has not used Paillier.
    paillier = "paillier:Paillier2048PrivateKey"
    monkeypatch.setattr(SCHEMES, "_entries", {DEFAULT_SCHEME: ElGamalPrivateKey, "paillier-2048": paillier})
    assert scheme_of_code(1) == DEFAULT_SCHEME
    with pytest.raises(FieldError, match=rf"must be one of 1 \({DEFAULT_SCHEME}\), not 2$"):
        scheme_of_code(2)


@pytest.mark.parametrize("name", ["", "paillier", "rot13", None, 3, ["elgamal-secp256k1"]])
def test_unknown_scheme_raises_a_field_error_that_lists_the_known(name):
    for operation in (
        lambda: generate_private_key(name, random.Random(1)),
        lambda: load_public_key({"scheme": name}),
        lambda: load_private_key(name, b""),
    ):
        with field_refused("encryption", match=DEFAULT_SCHEME):
            operation()


def test_load_public_key_without_a_scheme_raises_a_field_error():
    with pytest.raises(FieldError):
        load_public_key({})


def test_scheme_added_by_one_line_of_the_registry_is_known_everywhere(monkeypatch):
    module = ModuleType("panprivacy.encryption.toy")
    public = type("ToyPublicKey", (ElGamalPublicKey,), {"scheme": "toy", "code": 200})
    module.ToyPrivateKey = type("ToyPrivateKey", (ElGamalPrivateKey,), {"public_key_class": public})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(SCHEMES, "toy", module.ToyPrivateKey)

    private_key = generate_private_key("toy", random.Random(1))
    assert isinstance(load_private_key("toy", private_key.to_bytes()), module.ToyPrivateKey)
    assert isinstance(load_public_key(private_key.public_key.to_json() | {"scheme": "toy"}), public)
    configuration = PanPrivateCountVec("toy", 3)
    assert configuration.encode() == bytes([200, 0, 0, 0, 3])
    assert PanPrivateCountVec.decode(configuration.encode()) == configuration


def test_default_scheme_loads_neither_phe_nor_gmpy2():
    script = (
        "import sys, random\n"
        "from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES, generate_private_key, scheme_of_code\n"
        "generate_private_key(DEFAULT_SCHEME, random.Random(1)); list(SCHEMES); scheme_of_code(1)\n"
        "sys.exit(bool({'phe', 'gmpy2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
