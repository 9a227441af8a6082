"""Signatures under keys that others bring: which the product accepts, of all that some library would."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of, require_signature
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, NoteError, VerifierKey
from panprivacy.statistics.trust_models.members import read_verification_key
from tests.panprivacy.protocols.ed25519_cases import ORDER, Case, P, cases, halves

CASES = cases()
KEYS = halves(12345)
WEAK = [half for half in KEYS if half.low or not half.secret]
ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("collections", "devices_sim", "examples", "panapp", "panprivacy", "research")


def holds_for_openssl(case: Case) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(case.key.encoded).verify(case.signature, case.message)
    except InvalidSignature:
        return False
    return True


def holds(case: Case) -> bool:
    try:
        require_signature(public_key_of(case.key.encoded), case.signature, case.message)
    except (InvalidSignature, KeyRefusedError):
        return False
    return True


def test_openssl_accepts_what_fits_without_the_cofactor() -> None:
    """What is accepted if nobody looks at keys: so the tests below refuse what is not refused anyway."""
    for case in CASES:
        assert holds_for_openssl(case) == (case.fits and case.point.canonical)


def test_only_signatures_of_points_of_prime_order_hold() -> None:
    accepted = [case for case in CASES if holds(case)]
    assert accepted == [case for case in CASES if case.is_plain]
    assert len(accepted) == 1


@pytest.mark.parametrize("half", WEAK, ids=lambda half: half.encoded.hex())
def test_key_that_is_not_of_prime_order_is_refused(half: Any) -> None:
    with pytest.raises(KeyRefusedError, match=r"prime order|one encoding"):
        public_key_of(half.encoded)


def test_key_of_another_length_or_encoding_is_refused() -> None:
    for encoded in (b"", bytes(31), bytes(33)):
        with pytest.raises(KeyRefusedError, match="32 bytes"):
            public_key_of(encoded)
    for number in (2, P, P + 1, P + 3, 2**255 - 1):
        with pytest.raises(KeyRefusedError, match="one encoding"):
            public_key_of(number.to_bytes(32, "little"))


def test_every_honest_key_is_taken_and_its_signatures_hold() -> None:
    for number in range(50):
        private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        encoded = private.public_key().public_bytes_raw()
        require_signature(public_key_of(encoded), private.sign(b"message"), b"message")


def test_scalar_that_is_not_reduced_is_refused() -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    signature = private.sign(b"message")
    larger = int.from_bytes(signature[32:], "little") + ORDER
    with pytest.raises(InvalidSignature):
        require_signature(private.public_key(), signature[:32] + larger.to_bytes(32, "little"), b"message")


@pytest.mark.parametrize("half", WEAK[::5], ids=lambda half: half.encoded.hex())
def test_weak_key_of_a_log_witness_or_partner_is_refused(half: Any) -> None:
    for kind in (ED25519, COSIGNATURE):
        with pytest.raises(NoteError, match=r"prime order|one encoding"):
            VerifierKey("witness.example", kind, half.encoded)
    with pytest.raises(ValueError, match=r"helper.verification_key: .*(prime order|one encoding)"):
        read_verification_key("helper.verification_key", base64.b64encode(half.encoded).decode())


def test_nothing_but_one_module_reads_keys_that_others_bring() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"Ed25519PublicKey\.from_public_bytes|load_(der|pem)_public_key", path.read_text())
    }
    assert found - {"panprivacy/protocols/privacy_pass/rsa_keys.py"} == {"panprivacy/protocols/ed25519.py"}
