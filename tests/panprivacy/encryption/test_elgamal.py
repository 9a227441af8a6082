"""Lifted ElGamal: the contract, and what the missing point at infinity asks for."""

import random

import pytest
from coincurve import PrivateKey as CurveKey
from coincurve import PublicKey as CurvePoint

from panprivacy.encryption import load_public_key
from panprivacy.encryption.elgamal import ElGamalCiphertext, ElGamalPrivateKey, ElGamalPublicKey
from panprivacy.encryption.interface import (
    MAX_ALLOWED_WIDTH,
    InvalidCiphertextError,
    InvalidKeyError,
    ValueOutOfRangeError,
)
from panprivacy.encryption.secp256k1 import GROUP_ORDER, POINT_BYTES
from tests.panprivacy.encryption.contract import EncryptionContract

SECRET = 0x1234_5678_9ABC_DEF0


class FixedBits(random.Random):
    """Draws the given values, then fails."""

    def __init__(self, *drawn: int) -> None:
        super().__init__()
        self.remaining = list(drawn)

    def getrandbits(self, k: int) -> int:
        return self.remaining.pop(0)


def multiple(scalar: int) -> bytes:
    """scalar·G, encoded, by coincurve's own public interface."""
    return CurveKey.from_int(scalar % GROUP_ORDER).public_key.format()


def ciphertext(first: int, second: int) -> ElGamalCiphertext:
    """(first·G, second·G)."""
    return ElGamalCiphertext.parse(multiple(first) + multiple(second))


@pytest.fixture(scope="module")
def private_key() -> ElGamalPrivateKey:
    return ElGamalPrivateKey.from_bytes(SECRET.to_bytes(32, "big"))


@pytest.fixture(scope="module", params=["devices", "tables"])
def public_key(request, private_key) -> ElGamalPublicKey:
    key = private_key.public_key
    return key.with_tables() if request.param == "tables" else key


class TestContract(EncryptionContract):
    scheme = "elgamal-secp256k1"
    code = 1


class TestDefinition:
    @pytest.mark.parametrize("message", [0, 1, -7, 3000])
    @pytest.mark.parametrize(
        "scalar", [1, 2, 0xFF, 1 << 255, GROUP_ORDER - 2, random.Random(5).getrandbits(255)]
    )
    def test_encrypt_with_known_randomness_equals_the_textbook(self, public_key, message, scalar):
        # The source has randomness 1, so the whole has 1 + scalar.
        made = public_key.encrypt(message, FixedBits(scalar))
        randomness = 1 + scalar
        assert bytes(made) == multiple(randomness) + multiple(randomness * SECRET + message)

    def test_rerandomize_with_known_randomness_adds_it(self, public_key):
        made = public_key.rerandomize(ciphertext(10, 20), FixedBits(5))
        assert bytes(made) == multiple(15) + multiple(20 + 5 * SECRET)

    def test_encrypt_skips_scalars_that_are_zero_or_not_below_the_order(self, public_key):
        source = FixedBits(0, GROUP_ORDER, 2**256 - 1, 3)
        assert bytes(public_key.encrypt(0, source)) == multiple(4) + multiple(4 * SECRET)

    def test_decrypt_of_two_points_with_known_logarithms_finds_the_difference(self, private_key):
        for message in (0, 1, 900):
            assert private_key.decrypt(ciphertext(77, 77 * SECRET + message), range(1000)) == message

    @pytest.mark.parametrize("message", [0, 1, 2**15 - 1, 2**15, 2**19 + 3, MAX_ALLOWED_WIDTH - 1])
    def test_decrypt_in_the_widest_range_crosses_its_blocks(self, private_key, message):
        for start in (0, -(2**19)):
            allowed = range(start, start + MAX_ALLOWED_WIDTH)
            made = ciphertext(5, 5 * SECRET + start + message)
            assert private_key.decrypt(made, allowed) == start + message

    @pytest.mark.parametrize("beyond", [-1, MAX_ALLOWED_WIDTH, MAX_ALLOWED_WIDTH + 7])
    def test_decrypt_just_beyond_the_widest_range_raises(self, private_key, beyond):
        with pytest.raises(ValueOutOfRangeError):
            private_key.decrypt(ciphertext(5, 5 * SECRET + beyond), range(MAX_ALLOWED_WIDTH))

    def test_decrypt_after_a_wider_range_still_refuses_what_is_excluded(self, private_key):
        # The table of multiples is shared: a wider range must not widen a narrower one.
        made = ciphertext(5, 5 * SECRET + 2)
        assert private_key.decrypt(made, range(1000)) == 2
        with pytest.raises(ValueOutOfRangeError):
            private_key.decrypt(made, range(2))

    def test_rerandomize_is_fresh_and_ignores_rerandomizations(self, public_key):
        assert public_key.rerandomized_is_fresh
        once = public_key.encrypt(1, random.Random(1))
        assert public_key.encrypt(1, random.Random(1), rerandomizations=1000) == once


class TestInfinity:
    @pytest.mark.parametrize("start", [-5, 0, 3])
    def test_decrypt_at_the_start_of_a_range_returns_it(self, private_key, start):
        assert private_key.decrypt(ciphertext(3, 3 * SECRET + start), range(start, start + 2)) == start

    @pytest.mark.parametrize(
        ("before", "expected"),
        [
            ((-9, 50), (-9 + 4, 50 + 4 * SECRET)),  # 9 cancels the first half
            ((50, -9 * SECRET), (50 + 4, (-9 + 4) * SECRET)),  # and here the second
        ],
    )
    def test_rerandomize_to_infinity_in_one_half_draws_again(self, public_key, before, expected):
        source = FixedBits(9, 4)
        assert public_key.rerandomize(ciphertext(*before), source) == ciphertext(*expected)
        assert not source.remaining

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            # Each time there is an infinity, (G, H) is added.
            ((8, 8 * SECRET + 1), (-8, -8 * SECRET + 1), (1, SECRET + 2)),
            ((1, SECRET + 3), (4, -SECRET - 3), (6, SECRET)),
            ((7, 11), (-7, -11 - SECRET), (2, SECRET)),  # (infinity, -H), then (G, infinity)
        ],
    )
    def test_add_of_cancelling_halves_keeps_the_plaintext(self, public_key, first, second, expected):
        total = public_key.add([ciphertext(*first), ciphertext(*second)])
        assert total == ciphertext(*expected)

    def test_scale_by_the_group_order_raises(self, public_key):
        with pytest.raises(ValueError, match="must not be 0"):
            public_key.scale(ciphertext(2, 3), 5 * GROUP_ORDER)

    def test_encrypt_of_a_multiple_of_the_order_is_an_encryption_of_zero(self, private_key, public_key):
        assert private_key.decrypt(public_key.encrypt(GROUP_ORDER, random.Random(2)), range(2)) == 0

    def test_public_key_whose_source_of_one_is_infinity_raises(self):
        with pytest.raises(InvalidKeyError, match="guess"):
            load_public_key({"scheme": "elgamal-secp256k1", "point": multiple(-1).hex()})


class TestByteStrings:
    # 256·(256 + 0x41) + counter for the least counter that is on the curve.
    PIECE = b"A"

    @staticmethod
    def embedding(value: int) -> CurvePoint:
        """By the definition, with coincurve's own public interface."""
        for counter in range(256):
            try:
                return CurvePoint(b"\x02" + (256 * value + counter).to_bytes(32, "big"))
            except ValueError:
                continue
        raise AssertionError

    def test_encrypt_bytes_with_known_randomness_equals_the_definition(self, public_key):
        for piece in (b"A", b"B", bytes(30), b"\xff" * 30):
            (made,) = public_key.encrypt_bytes(piece, FixedBits(7))
            point = self.embedding(int.from_bytes(b"\x01" + piece, "big"))
            second = CurvePoint.combine_keys([CurvePoint(multiple(8 * SECRET)), point])
            assert bytes(made) == multiple(8) + second.format()

    def test_encrypt_bytes_some_pieces_take_several_tries(self):
        counters = [self.embedding(256 + byte).format()[-1] for byte in range(64)]
        assert 0 in counters
        assert max(counters) > 2

    def test_decrypt_bytes_of_the_same_x_with_odd_y_raises(self, private_key):
        even = self.embedding(0x141)
        odd = CurvePoint(b"\x03" + even.format()[1:])
        for point, readable in ((even, True), (odd, False)):
            second = CurvePoint.combine_keys([CurvePoint(multiple(3 * SECRET)), point]).format()
            made = ElGamalCiphertext.parse(multiple(3) + second)
            if readable:
                assert private_key.decrypt_bytes([made], 1) == self.PIECE
            else:
                with pytest.raises(ValueOutOfRangeError):
                    private_key.decrypt_bytes([made], 1)

    def test_decrypt_bytes_of_infinity_raises(self, private_key):
        with pytest.raises(ValueOutOfRangeError):
            private_key.decrypt_bytes([ciphertext(3, 3 * SECRET)], 1)

    def test_encrypt_bytes_whose_source_is_at_infinity_takes_another(self):
        # H = −M: nobody knows its private key, and a device must encrypt all the same.
        point = self.embedding(0x141)
        hostile = CurvePoint(b"\x03" + point.format()[1:])
        public_key = load_public_key({"scheme": "elgamal-secp256k1", "point": hostile.format().hex()})
        (made,) = public_key.encrypt_bytes(self.PIECE, FixedBits(7))
        masked = hostile.multiply((2 + 7).to_bytes(32, "big"))  # (2 + 7)·H + M
        assert bytes(made) == multiple(2 + 7) + CurvePoint.combine_keys([masked, point]).format()

    def test_rerandomize_of_bytes_to_infinity_draws_again(self, public_key):
        (before,) = public_key.encrypt_bytes(self.PIECE, FixedBits(7))
        source = FixedBits(GROUP_ORDER - 8, 4)  # −8·G cancels the first half
        made = public_key.rerandomize(before, source)
        assert bytes(made)[:POINT_BYTES] == multiple(12)
        assert not source.remaining


class TestParse:
    GOOD = multiple(5)

    @pytest.mark.parametrize(
        "bad",
        [
            pytest.param(bytes(POINT_BYTES), id="infinity-as-zeros"),
            pytest.param(b"\x02" + bytes(32), id="x-0-not-on-the-curve"),
            pytest.param(b"\x02" + b"\xff" * 32, id="x-not-a-field-element"),
            pytest.param(b"\x02" + (2**256 - 2**32 - 977 + 1).to_bytes(32, "big"), id="x-not-reduced"),
            pytest.param(b"\x04" + multiple(5)[1:], id="uncompressed-prefix"),
            pytest.param(b"\x06" + multiple(5)[1:], id="hybrid-prefix"),
            pytest.param(b"\x00" + multiple(5)[1:], id="no-prefix"),
        ],
    )
    def test_parse_of_a_half_that_is_no_point_raises(self, private_key, bad):
        for encoded in (bad + self.GOOD, self.GOOD + bad):
            with pytest.raises(InvalidCiphertextError):
                private_key.public_key.parse(encoded)

    def test_parse_of_one_uncompressed_point_and_a_rest_raises(self, private_key):
        uncompressed = CurvePoint(self.GOOD).format(compressed=False)
        with pytest.raises(InvalidCiphertextError):
            private_key.public_key.parse(uncompressed + b"\x02")

    def test_from_json_of_a_non_point_raises(self):
        with pytest.raises(InvalidKeyError):
            load_public_key({"scheme": "elgamal-secp256k1", "point": "02" + 64 * "0"})

    @pytest.mark.parametrize("scalar", [0, GROUP_ORDER, GROUP_ORDER + 1])
    def test_from_bytes_of_a_scalar_outside_the_group_raises(self, scalar):
        with pytest.raises(InvalidKeyError):
            ElGamalPrivateKey.from_bytes(scalar.to_bytes(32, "big"))
