"""Paillier: the contract, interchange with phe, and the dangers of its randomizers."""

import importlib
import random
import sys

import gmpy2
import pytest
from phe import paillier as phe

from panprivacy.encryption import load_private_key, load_public_key
from panprivacy.encryption.interface import InvalidCiphertextError, InvalidKeyError, ValueOutOfRangeError
from panprivacy.encryption.paillier import MAX_RERANDOMIZATIONS, PaillierPrivateKey
from tests.panprivacy.encryption.contract import EncryptionContract


class TestPaillier2048(EncryptionContract):
    scheme = "paillier-2048"
    code = 2
    modulus_bits = 2048

    @pytest.fixture(scope="class")
    @classmethod
    def n(cls, private_key: PaillierPrivateKey) -> int:
        return private_key.phe_key.public_key.n

    # Interchange with phe ---------------------------------------------------------

    @pytest.mark.parametrize("message", [0, 1, -3, 1234])
    def test_phe_decrypts_our_ciphertexts_and_we_those_of_phe(self, private_key, tables, message):
        ours, theirs = tables.encrypt(message, random.Random(1)), private_key.phe_key
        number = phe.EncryptedNumber(theirs.public_key, int.from_bytes(bytes(ours), "big"), exponent=0)
        assert theirs.decrypt(number) == message
        encoded = theirs.public_key.encrypt(message).ciphertext(be_secure=False)
        parsed = tables.parse(encoded.to_bytes(tables.ciphertext_bytes, "big"))
        assert private_key.decrypt(parsed, range(-10, 2000)) == message

    # Randomizers ------------------------------------------------------------------

    def test_mixed_randomizers_show_the_event_in_public(self, private_key, tables, n):
        # A state made by phe whose random r has Jacobi symbol -1, then one time step of ours.
        r = next(r for r in range(2, 1000) if gmpy2.jacobi(r, n) == -1)
        state = tables.parse(
            private_key.phe_key.public_key.raw_encrypt(0, r_value=r).to_bytes(tables.ciphertext_bytes, "big")
        )
        no_event = tables.rerandomize(state, random.Random(2))
        event = tables.encrypt(1, random.Random(3))
        assert jacobi(state, n) == -1
        assert jacobi(no_event, n) == -1
        assert jacobi(event, n) == 1

    def test_our_ciphertexts_all_have_jacobi_symbol_one(self, tables, n):
        random_source = random.Random(4)
        made = [tables.encrypt(message, random_source) for message in (0, 1, 1, -5)]
        made += [tables.rerandomize(one, random_source) for one in made]
        made += [
            tables.add(made),
            tables.scale(made[0], -3),
            tables.encrypt(1, random_source, rerandomizations=3),
        ]
        shares = tables.encrypt_bytes(random_source.randbytes(48), random_source, rerandomizations=2)
        made += shares
        for replace in (False, True):
            made += tables.replace_bytes_or_rerandomize(
                replace, random_source.randbytes(48), shares, random_source, rerandomizations=3
            )
        assert {jacobi(one, n) for one in made} == {1}

    @pytest.mark.parametrize("steps", [0, 1, 5])
    def test_encrypt_with_rerandomizations_equals_rerandomizing_step_by_step(self, public_key, steps):
        random_source = random.Random(5)
        stepped = public_key.encrypt(1, random_source)
        for _ in range(steps):
            stepped = public_key.rerandomize(stepped, random_source)
        assert not public_key.rerandomized_is_fresh
        assert public_key.encrypt(1, random.Random(5), rerandomizations=steps) == stepped

    def test_encrypt_with_the_smallest_and_largest_exponents_fits_the_tables(self, private_key, tables):
        class AllOnes(random.Random):
            def getrandbits(self, k: int) -> int:
                return 2**k - 1

        class Zeros(random.Random):
            def getrandbits(self, k: int) -> int:
                return 0

        steps = 300
        without = private_key.public_key
        assert tables.encrypt(1, AllOnes(), rerandomizations=steps) == without.encrypt(
            1, AllOnes(), rerandomizations=steps
        )
        before = tables.encrypt(1, random.Random(7))
        assert tables.rerandomize(before, Zeros()) == without.rerandomize(before, Zeros()) == before
        largest = (MAX_RERANDOMIZATIONS + 1) * (2 ** (self.modulus_bits // 2) - 1)
        members = without.to_json()
        hs = int(members["hs"], 16)
        assert tables._table.power(largest) == gmpy2.powmod(hs, largest, int(members["n"], 16) ** 2)

    def test_powers_on_a_device_have_exponents_of_one_length(self, monkeypatch, private_key):
        lengths = []
        power = gmpy2.powmod_sec
        monkeypatch.setattr(
            gmpy2, "powmod_sec", lambda x, e, m: lengths.append(e.bit_length()) or power(x, e, m)
        )
        public_key = private_key.public_key
        before = public_key.encrypt(0, random.Random(11))
        for replace, steps in [(False, 1), (True, 1), (True, 100)]:
            public_key.replace_or_rerandomize(replace, 1, before, random.Random(12), rerandomizations=steps)
        assert len(lengths) == 4
        assert len(set(lengths)) == 1

    def test_encrypt_with_too_many_rerandomizations_raises(self, tables):
        with pytest.raises(ValueError, match="at most"):
            tables.encrypt(1, random.Random(6), rerandomizations=MAX_RERANDOMIZATIONS + 1)

    @pytest.mark.parametrize("randomizer", ["standard", "", "DJN"])
    def test_public_key_with_another_randomizer_raises(self, private_key, randomizer):
        with pytest.raises(InvalidKeyError, match="randomizer"):
            load_public_key(private_key.public_key.to_json() | {"randomizer": randomizer})

    # Hostile values ---------------------------------------------------------------

    def test_decrypt_of_a_value_that_is_small_modulo_one_prime_only_raises(self, private_key, tables):
        p, q = private_key.phe_key.p, private_key.phe_key.q
        differing = int(p * gmpy2.invert(p, q) % (p * q))  # 0 modulo p, 1 modulo q
        for hostile in (1 + p, 1 + q, 1 + 5 * p, 1 - p, 1 - q, differing):
            with pytest.raises(ValueOutOfRangeError):
                private_key.decrypt(tables.encrypt(hostile, random.Random(8)), range(2))

    def test_decrypt_bytes_of_a_piece_modulo_one_prime_only_raises(self, private_key, tables):
        p, q = private_key.phe_key.p, private_key.phe_key.q
        piece = 0x01_41
        assert private_key.decrypt_bytes([tables.encrypt(piece, random.Random(13))], 1) == b"A"
        for hostile in (piece + p, piece + q, piece - p, piece - q):
            with pytest.raises(ValueOutOfRangeError):
                private_key.decrypt_bytes([tables.encrypt(hostile, random.Random(14))], 1)

    def test_parse_of_a_value_that_is_no_unit_raises(self, private_key, public_key, n):
        p, q = private_key.phe_key.p, private_key.phe_key.q
        for hostile in (0, n, 2 * n, p, q, 12345 * p, q * q, n * n, n * n + 1, n * n - n):
            encoded = int(hostile).to_bytes(public_key.ciphertext_bytes, "big")
            with pytest.raises(InvalidCiphertextError):
                public_key.parse(encoded)

    def test_parse_of_the_smallest_and_largest_unit_succeeds(self, public_key, n):
        for unit in (1, n * n - 1):
            encoded = unit.to_bytes(public_key.ciphertext_bytes, "big")
            assert bytes(public_key.parse(encoded)) == encoded

    def test_scale_by_a_multiple_of_the_modulus_raises(self, tables, n):
        with pytest.raises(ValueError, match="must not be 0"):
            tables.scale(tables.encrypt(1, random.Random(10)), -2 * n)

    # Keys -------------------------------------------------------------------------

    def test_generated_key_has_blum_primes_and_the_exact_size(self, private_key, n):
        p, q = private_key.phe_key.p, private_key.phe_key.q
        assert n.bit_length() == self.modulus_bits
        assert p.bit_length() == q.bit_length() == self.modulus_bits // 2
        assert p % 4 == q % 4 == 3
        assert gmpy2.gcd(p - 1, q - 1) == 2

    def test_public_key_with_an_unsound_modulus_raises(self, private_key, n):
        members = private_key.public_key.to_json()
        prime = int(gmpy2.next_prime(n))
        while prime % 4 != 1:
            prime = int(gmpy2.next_prime(prime))
        root = int(gmpy2.next_prime(gmpy2.isqrt(n)))
        for wrong in (n + 1, n + 2, prime, root * root, n >> 1, n - n % 12 + 9):
            changed = members | {"n": wrong.to_bytes(self.modulus_bits // 8, "big").hex()}
            with pytest.raises(InvalidKeyError, match="'n'"):
                load_public_key(changed)

    def test_public_key_with_an_unsound_base_raises(self, private_key, n):
        members = private_key.public_key.to_json()
        negative = next(value for value in range(2, 1000) if gmpy2.jacobi(value, n) == -1)
        for wrong in (0, 1, n, int(private_key.phe_key.p), negative, n * n, n * n + 4):
            changed = members | {"hs": int(wrong).to_bytes(self.modulus_bits // 4, "big").hex()}
            with pytest.raises(InvalidKeyError, match="'hs'"):
                load_public_key(changed)

    def test_private_key_with_the_base_of_no_residue_raises(self, private_key, n):
        length = self.modulus_bits // 8
        encoded = private_key.to_bytes()
        hs = int.from_bytes(encoded[length:], "big")
        for wrong in (hs * (1 + n) % (n * n), hs * (1 + int(private_key.phe_key.p) * n) % (n * n)):
            with pytest.raises(InvalidKeyError, match="residue"):
                load_private_key(self.scheme, encoded[:length] + wrong.to_bytes(2 * length, "big"))

    def test_private_key_with_unfit_factors_raises(self, private_key):
        half = self.modulus_bits // 16
        encoded = private_key.to_bytes()
        p, q, hs = encoded[:half], encoded[half : 2 * half], encoded[2 * half :]
        composite = int.from_bytes(q, "big") - 4
        not_blum = int(gmpy2.next_prime(composite))
        while not_blum % 4 != 1:
            not_blum = int(gmpy2.next_prime(not_blum))
        for wrong, reason in (
            (p, "common factor"),
            (composite.to_bytes(half, "big"), "p and q must be primes"),
            (not_blum.to_bytes(half, "big"), "p and q must be primes"),
        ):
            with pytest.raises(InvalidKeyError, match=reason):
                load_private_key(self.scheme, p + wrong + hs)


def test_paillier_3072_in_short(key_of):
    """One implementation serves both sizes: so here what the size changes, lengths and the largest piece."""
    private_key, random_source = key_of("paillier-3072"), random.Random(1)
    assert private_key.public_key.code == 3
    assert private_key.phe_key.public_key.n.bit_length() == 3072
    public_key = load_public_key(private_key.public_key.to_json())
    loaded = load_private_key("paillier-3072", private_key.to_bytes())
    total = public_key.add([public_key.encrypt(message, random_source) for message in (2, -5)])
    encoded = bytes(public_key.rerandomize(total, random_source))
    assert len(encoded) == 768
    assert loaded.decrypt(public_key.parse(encoded), range(-10, 10)) == -3
    message = random_source.randbytes(382 + 1)
    pieces = public_key.encrypt_bytes(message, random_source)
    assert len(pieces) == 2
    assert loaded.decrypt_bytes(pieces, 383) == message
    (largest,) = public_key.encrypt_bytes(b"\xff" * 382, random_source)
    assert loaded.decrypt_bytes([largest], 382) == b"\xff" * 382


def test_import_without_phe_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "phe", None)
    monkeypatch.delitem(sys.modules, "panprivacy.encryption.paillier")
    with pytest.raises(ImportError, match=r"need phe: install panprivacy\[paillier\]$"):
        importlib.import_module("panprivacy.encryption.paillier")


def jacobi(ciphertext, n: int) -> int:
    """What anyone can compute from a ciphertext and the public modulus."""
    return gmpy2.jacobi(int.from_bytes(bytes(ciphertext), "big") % n, n)


def test_public_key_of_2048_bits_under_the_name_of_3072_raises(key_of):
    members = key_of("paillier-2048").public_key.to_json() | {"scheme": "paillier-3072"}
    with pytest.raises(InvalidKeyError):
        load_public_key(members)
