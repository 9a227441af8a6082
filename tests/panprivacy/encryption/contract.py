"""What every encryption scheme must do. A scheme's test class inherits `EncryptionContract`."""

import pickle
import random
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from panprivacy.encryption import SCHEMES, load_private_key, load_public_key
from panprivacy.encryption.interface import (
    MAX_ALLOWED_WIDTH,
    Ciphertext,
    InvalidCiphertextError,
    InvalidKeyError,
    PrivateKey,
    PublicKey,
    ValueOutOfRangeError,
)
from tests.panprivacy.statistics.events.contract import CountingRandom

RANGE = range(-500, 501)
values = st.integers(-100, 100)
seeds = st.integers(0, 2**64)
byte_strings = st.binary(min_size=1, max_size=100)
few = settings(
    max_examples=8,
    # One inherited test per scheme is the point of a contract suite.
    suppress_health_check=[HealthCheck.differing_executors],
)


class EncryptionContract:
    """Set `scheme` and `code`. Flavours "devices" and "tables" of the public key are both tested."""

    scheme: ClassVar[str]
    code: ClassVar[int]

    @pytest.fixture(scope="class")
    @classmethod
    def private_key(cls, key_of) -> PrivateKey:
        return key_of(cls.scheme)

    @pytest.fixture(scope="class")
    @classmethod
    def tables(cls, private_key) -> PublicKey:
        return private_key.public_key.with_tables()

    @pytest.fixture(scope="class", params=["devices", "tables"])
    @classmethod
    def public_key(cls, request, private_key, tables) -> PublicKey:
        return tables if request.param == "tables" else private_key.public_key

    # Values ---------------------------------------------------------------------

    @few
    @given(message=values, seed=seeds)
    def test_decrypt_of_an_encryption_returns_the_message(self, private_key, public_key, message, seed):
        ciphertext = public_key.encrypt(message, random.Random(seed))
        assert private_key.decrypt(ciphertext, RANGE) == message

    @pytest.mark.parametrize(
        "allowed", [RANGE, range(2), range(1), range(-1, 1), range(40_000), range(-40_000, 1)]
    )
    def test_decrypt_in_any_range_returns_its_members(self, private_key, tables, allowed):
        for message in {allowed.start, allowed.stop - 1, 0}:
            assert private_key.decrypt(tables.encrypt(message, random.Random(2)), allowed) == message

    @few
    @given(messages=st.lists(values, min_size=1, max_size=5), seed=seeds)
    def test_add_of_ciphertexts_encrypts_the_sum(self, private_key, tables, messages, seed):
        random_source = random.Random(seed)
        total = tables.add([tables.encrypt(message, random_source) for message in messages])
        assert private_key.decrypt(total, RANGE) == sum(messages)

    @few
    @given(message=st.integers(-20, 20), factor=st.integers(-20, 20).filter(bool), seed=seeds)
    def test_scale_by_a_factor_encrypts_the_product(self, private_key, tables, message, factor, seed):
        product = tables.scale(tables.encrypt(message, random.Random(seed)), factor)
        assert private_key.decrypt(product, RANGE) == factor * message

    def test_add_of_a_ciphertext_and_its_negative_encrypts_zero(self, private_key, public_key):
        ciphertext = public_key.encrypt(5, random.Random(4))
        total = public_key.add([ciphertext, public_key.scale(ciphertext, -1)])
        assert private_key.decrypt(total, RANGE) == 0
        assert private_key.decrypt(public_key.rerandomize(total, random.Random(5)), RANGE) == 0

    @pytest.mark.parametrize(("message", "steps"), [(0, 1), (1, 2), (7, 5000)])
    def test_replace_or_rerandomize_gives_either_from_the_same_draws(
        self, private_key, tables, message, steps
    ):
        before = tables.encrypt(3, random.Random(30))
        drawn = []
        for replace in (False, True):
            counting = CountingRandom(31)
            found = tables.replace_or_rerandomize(replace, message, before, counting, rerandomizations=steps)
            if replace:
                expected = tables.encrypt(message, random.Random(31), rerandomizations=steps)
            else:
                expected = tables.rerandomize(before, random.Random(31))
            assert found == expected
            assert private_key.decrypt(found, RANGE) == (message if replace else 3)
            drawn.append(counting.calls)
        assert drawn[0] == drawn[1]

    @pytest.mark.parametrize(
        "operation",
        [
            lambda key, before, draw: key.encrypt(0, draw),
            lambda key, before, draw: key.encrypt(-3, draw),
            lambda key, before, draw: key.rerandomize(before[0], draw),
            lambda key, before, draw: key.replace_or_rerandomize(
                True, 1, before[0], draw, rerandomizations=3
            ),
            lambda key, before, draw: key.encrypt_bytes(bytes(range(32)), draw),
            lambda key, before, draw: key.replace_bytes_or_rerandomize(
                False, bytes(32), before, draw, rerandomizations=3
            ),
            lambda key, before, draw: key.replace_bytes_or_rerandomize(
                True, bytes(32), before, draw, rerandomizations=3
            ),
        ],
    )
    def test_key_with_tables_makes_what_one_without_makes(self, private_key, tables, operation):
        before = tables.encrypt_bytes(bytes(range(1, 33)), random.Random(6))
        made, without = (operation(key, before, random.Random(7)) for key in (tables, private_key.public_key))
        assert made == without

    # Byte strings ---------------------------------------------------------------

    @few
    @given(message=byte_strings, seed=seeds)
    def test_decrypt_bytes_of_encrypted_bytes_returns_them(self, private_key, public_key, message, seed):
        ciphertexts = public_key.encrypt_bytes(message, random.Random(seed))
        assert len(ciphertexts) == public_key.byte_ciphertexts(len(message))
        parsed = [public_key.parse(bytes(ciphertext)) for ciphertext in ciphertexts]
        assert private_key.decrypt_bytes(parsed, len(message)) == message

    @pytest.mark.parametrize("byte", [0x00, 0xFF])
    def test_decrypt_bytes_at_the_edges_of_a_piece_returns_them(self, private_key, tables, byte):
        longest = tables.bytes_per_ciphertext
        for length in (1, longest - 1, longest, longest + 1, 2 * longest, 2 * longest + 1):
            message = bytes([byte]) * length
            ciphertexts = tables.encrypt_bytes(message, random.Random(40))
            assert len(ciphertexts) == -(-length // longest)
            assert private_key.decrypt_bytes(ciphertexts, length) == message

    @few
    @given(message=byte_strings, seed=seeds)
    def test_rerandomize_of_encrypted_bytes_keeps_no_half_of_a_ciphertext(
        self, private_key, public_key, message, seed
    ):
        random_source = random.Random(seed)
        before = public_key.encrypt_bytes(message, random_source)
        after = [public_key.rerandomize(ciphertext, random_source) for ciphertext in before]
        assert private_key.decrypt_bytes(after, len(message)) == message
        assert len(_halves((*before, *after))) == 4 * len(before)

    def test_encrypt_bytes_twice_shares_no_half_of_a_ciphertext(self, public_key):
        random_source = random.Random(41)
        made = [*public_key.encrypt_bytes(b"same", random_source)]
        made += public_key.encrypt_bytes(b"same", random_source)
        made += [public_key.encrypt(1, random_source) for _ in range(2)]
        assert len(_halves(made)) == 2 * len(made)

    @pytest.mark.parametrize("steps", [1, 2, 5000])
    def test_replace_bytes_or_rerandomize_gives_either_from_the_same_draws(self, private_key, tables, steps):
        old, new = random.Random(42).randbytes(48), random.Random(43).randbytes(48)
        before = tables.encrypt_bytes(old, random.Random(44))
        drawn = []
        for replace in (False, True):
            counting = CountingRandom(45)
            found = tables.replace_bytes_or_rerandomize(
                replace, new, before, counting, rerandomizations=steps
            )
            assert private_key.decrypt_bytes(found, 48) == (new if replace else old)
            assert len(_halves((*before, *found))) == 4 * len(before)
            if replace:
                expected = tables.encrypt_bytes(new, random.Random(45), rerandomizations=steps)
                assert found == expected
            else:
                # Of the first alone: how many draws precede the second differs between the two calls.
                assert found[0] == tables.rerandomize(before[0], random.Random(45))
            drawn.append(counting.calls)
        assert drawn[0] == drawn[1]

    def test_replace_bytes_or_rerandomize_embeds_the_message_either_way(self, monkeypatch, private_key):
        public_key = private_key.public_key
        before = public_key.encrypt_bytes(b"old", random.Random(46))
        embedded = []
        inner = type(public_key)._replace_or_rerandomize_embedded
        monkeypatch.setattr(
            type(public_key),
            "_replace_or_rerandomize_embedded",
            lambda self, replace, value, *rest, **keywords: (
                embedded.append(value) or inner(self, replace, value, *rest, **keywords)
            ),
        )
        for replace in (False, True):
            public_key.replace_bytes_or_rerandomize(
                replace, b"new", before, random.Random(47), rerandomizations=1
            )
        assert embedded == [0x01_6E_65_77] * 2

    @pytest.mark.parametrize("integer", [0, 1, -1, 255, 257, 511, 512, 2**24, 10**30])
    def test_decrypt_bytes_of_an_encrypted_integer_raises(self, private_key, tables, integer):
        with pytest.raises(ValueOutOfRangeError):
            private_key.decrypt_bytes([tables.encrypt(integer, random.Random(51))], 2)

    @pytest.mark.parametrize("other", [1, 3, 24])
    def test_decrypt_bytes_of_a_piece_of_another_length_raises(self, private_key, tables, other):
        for message in (bytes(other), b"\xff" * other):
            with pytest.raises(ValueOutOfRangeError):
                private_key.decrypt_bytes(tables.encrypt_bytes(message, random.Random(52)), 2)

    def test_decrypt_bytes_of_manipulated_ciphertexts_raises(self, private_key, tables):
        (made,) = tables.encrypt_bytes(b"share", random.Random(53))
        for changed in (tables.scale(made, 2), tables.scale(made, -1), tables.add([made, made])):
            with pytest.raises(ValueOutOfRangeError):
                private_key.decrypt_bytes([changed], 5)

    # Refusals -------------------------------------------------------------------

    @pytest.mark.parametrize("message", [-1, 2, 10**9, -(10**30)])
    def test_decrypt_of_a_value_outside_the_range_raises(self, private_key, tables, message):
        with pytest.raises(ValueOutOfRangeError):
            private_key.decrypt(tables.encrypt(message, random.Random(9)), range(2))

    def test_decrypt_under_another_key_raises(self, key_of, tables):
        other, source = key_of(self.scheme, seed=2), random.Random(10)
        with pytest.raises(ValueOutOfRangeError):
            other.decrypt(tables.encrypt(1, source), RANGE)
        with pytest.raises(ValueOutOfRangeError):
            other.decrypt_bytes(tables.encrypt_bytes(bytes(48), source), 48)

    @pytest.mark.parametrize(
        ("operation", "reason"),
        [
            (lambda key, pieces, draw: key.public_key.add([]), "at least one"),
            (lambda key, pieces, draw: key.public_key.scale(pieces[0], 0), "must not be 0"),
            (
                lambda key, pieces, draw: key.public_key.encrypt(1, draw, rerandomizations=-1),
                "at least 0",
            ),
            (lambda key, pieces, draw: key.public_key.encrypt_bytes(b"", draw), "at least 1 byte"),
            (lambda key, pieces, draw: key.decrypt_bytes((), 48), "48 bytes take"),
            (lambda key, pieces, draw: key.decrypt_bytes(pieces * 3, 48), "48 bytes take"),
            (
                lambda key, pieces, draw: key.public_key.replace_bytes_or_rerandomize(
                    True, b"a", pieces, draw, rerandomizations=1
                ),
                "1 bytes take 1 ciphertexts, not 2",
            ),
        ],
    )
    def test_operation_that_has_no_result_raises(self, private_key, tables, operation, reason):
        pieces = tables.encrypt_bytes(bytes(2 * tables.bytes_per_ciphertext), random.Random(56))
        with pytest.raises(ValueError, match=reason):
            operation(private_key, pieces, random.Random(57))

    @pytest.mark.parametrize("allowed", [range(0), range(0, 10, 2), range(MAX_ALLOWED_WIDTH + 1)])
    def test_decrypt_for_an_unusable_range_raises(self, private_key, tables, allowed):
        ciphertext = tables.encrypt(0, random.Random(11))
        with pytest.raises(ValueError, match="allowed must have step 1"):
            private_key.decrypt(ciphertext, allowed)

    def test_operations_on_a_ciphertext_of_another_scheme_raise(self, private_key, public_key, key_of):
        other = next(name for name in SCHEMES if SCHEMES[name].__module__ != SCHEMES[self.scheme].__module__)
        foreign = key_of(other).public_key.encrypt(1, random.Random(14))
        for operation in (
            lambda: public_key.rerandomize(foreign, random.Random(15)),
            lambda: public_key.add([foreign]),
            lambda: public_key.scale(foreign, 2),
            lambda: private_key.decrypt(foreign, range(2)),
            lambda: private_key.decrypt_bytes([foreign], 2),
        ):
            with pytest.raises(TypeError):
                operation()

    # Encodings ------------------------------------------------------------------

    def test_code_is_the_one_that_encoded_configurations_have(self, public_key):
        assert (public_key.scheme, public_key.code) == (self.scheme, self.code)

    def test_parse_of_a_wrong_size_or_of_constant_bytes_raises(self, public_key):
        encoded = bytes(public_key.encrypt(1, random.Random(17)))
        assert len(encoded) == public_key.ciphertext_bytes
        constant = (bytes([byte]) * len(encoded) for byte in (0x00, 0xFF))
        for wrong in (b"", encoded[:-1], encoded + b"\0", b"\0" + encoded, encoded[:33], *constant):
            with pytest.raises(InvalidCiphertextError):
                public_key.parse(wrong)

    @few
    @given(data=st.data())
    def test_parse_of_random_bytes_either_raises_or_round_trips(self, tables, data):
        encoded = data.draw(st.binary(min_size=tables.ciphertext_bytes, max_size=tables.ciphertext_bytes))
        try:
            parsed: Ciphertext = tables.parse(encoded)
        except InvalidCiphertextError:
            return
        assert bytes(parsed) == encoded

    def test_public_key_through_json_encrypts_for_the_same_private_key(self, private_key):
        members = private_key.public_key.to_json()
        loaded = load_public_key(members)
        assert members["scheme"] == self.scheme == loaded.scheme
        assert loaded.to_json() == members
        assert private_key.decrypt(loaded.encrypt(1, random.Random(18)), range(2)) == 1

    def test_public_key_with_a_member_missing_extra_or_not_a_string_raises(self, private_key):
        members = private_key.public_key.to_json()
        names = [name for name in members if name != "scheme"]
        wrong = [{key: value for key, value in members.items() if key != name} for name in names]
        wrong += [members | {"extra": "1"}]
        wrong += [members | {name: 1} for name in names]
        wrong += [members | {name: ""} for name in names]
        wrong += [members | {name: members[name] + "00"} for name in names]
        wrong += [members | {name: "zz" + members[name][2:]} for name in names]
        for case in wrong:
            with pytest.raises(InvalidKeyError):
                load_public_key(case)

    def test_public_key_in_upper_case_raises(self, private_key):
        members = private_key.public_key.to_json()
        shouted = {name: text if name == "scheme" else text.upper() for name, text in members.items()}
        with pytest.raises(InvalidKeyError):
            load_public_key(shouted)

    def test_public_key_of_another_scheme_raises(self, private_key):
        members = private_key.public_key.to_json() | {"scheme": "another"}
        with pytest.raises(InvalidKeyError, match="scheme"):
            type(private_key.public_key).from_json(members)

    def test_private_key_through_bytes_decrypts(self, private_key, tables):
        loaded = load_private_key(self.scheme, private_key.to_bytes())
        assert loaded.public_key.to_json() == private_key.public_key.to_json()
        assert loaded.decrypt(tables.encrypt(1, random.Random(19)), range(2)) == 1

    def test_private_key_of_a_wrong_size_or_value_raises(self, private_key):
        encoded = private_key.to_bytes()
        for wrong in (b"", encoded[:-1], encoded + b"\0", bytes(len(encoded)), b"\xff" * len(encoded)):
            with pytest.raises(InvalidKeyError):
                load_private_key(self.scheme, wrong)

    def test_public_key_and_ciphertext_through_pickle_are_the_same(self, private_key, public_key):
        loaded = pickle.loads(pickle.dumps(public_key))  # noqa: S301  # our own bytes
        ciphertext = public_key.encrypt(1, random.Random(20))
        assert loaded.to_json() == public_key.to_json()
        assert pickle.loads(pickle.dumps(ciphertext)) == ciphertext  # noqa: S301  # our own bytes

    # Secrets --------------------------------------------------------------------

    def test_repr_and_str_of_a_private_key_show_no_secret(self, private_key):
        secret = private_key.to_bytes()
        for shown in (repr(private_key), str(private_key), f"{[private_key]}"):
            assert shown.count("(secret)") == 1
            for start in range(0, len(secret) - 4, 4):
                piece = secret[start : start + 4]
                assert piece.hex() not in shown
                assert str(int.from_bytes(piece, "big")) not in shown

    def test_pickle_of_a_private_key_raises(self, private_key):
        with pytest.raises(TypeError, match="seal"):
            pickle.dumps(private_key)

    @pytest.mark.parametrize("message", [0, 1, 17, -4])
    def test_encrypt_on_a_device_leaves_no_trace_in_the_public_key(self, private_key, message):
        public_key = load_public_key(private_key.public_key.to_json())
        before = _memory(public_key)
        public_key.encrypt(message, random.Random(21))
        public_key.encrypt_bytes(bytes([message % 256]), random.Random(21))
        assert _memory(public_key) == before


def _halves(ciphertexts) -> set[bytes]:
    """What of ciphertexts must never occur twice; for lifted ElGamal the two points."""
    encoded = [bytes(ciphertext) for ciphertext in ciphertexts]
    middle = len(encoded[0]) // 2
    return {half for one in encoded for half in (one[:middle], one[middle:])}


def _memory(public_key: PublicKey) -> dict[str, str]:
    return {name: repr(value) for name, value in vars(public_key).items()}
