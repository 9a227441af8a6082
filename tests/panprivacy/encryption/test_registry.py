"""Schemes by name."""

import random
import subprocess
import sys

import pytest

from panprivacy.encryption import (
    DEFAULT_SCHEME,
    SCHEMES,
    generate_private_key,
    load_private_key,
    load_public_key,
)
from panprivacy.errors import FieldError


def test_schemes_names_are_those_of_their_keys():
    assert DEFAULT_SCHEME in SCHEMES
    assert {name: cls.public_key_class.scheme for name, cls in SCHEMES.items()} == {
        name: name for name in SCHEMES
    }
    assert len(SCHEMES) == 3


@pytest.mark.parametrize("name", ["", "paillier", "rot13", None, 3, ["elgamal-secp256k1"]])
def test_unknown_scheme_raises_a_field_error_that_lists_the_known(name):
    for operation in (
        lambda: generate_private_key(name, random.Random(1)),
        lambda: load_public_key({"scheme": name}),
        lambda: load_private_key(name, b""),
    ):
        with pytest.raises(FieldError, match=DEFAULT_SCHEME) as caught:
            operation()
        assert caught.value.field == "encryption"


def test_load_public_key_without_a_scheme_raises_a_field_error():
    with pytest.raises(FieldError):
        load_public_key({})


def test_default_scheme_loads_neither_phe_nor_gmpy2():
    script = (
        "import sys, random\n"
        "from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES, generate_private_key\n"
        "generate_private_key(DEFAULT_SCHEME, random.Random(1)); list(SCHEMES)\n"
        "sys.exit(bool({'phe', 'gmpy2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
