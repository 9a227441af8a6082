"""The key of two servers, as a device uses it."""

import pickle
import random
from itertools import pairwise

import pytest

from panprivacy.encryption.interface import InvalidCiphertextError
from panprivacy.protocols.encrypted_shares.configuration import open_part
from panprivacy.protocols.encrypted_shares.shared_key import SharedCiphertext, SharedKey
from panprivacy.protocols.prio3.interface import InvalidShareError, VerificationError
from panprivacy.protocols.prio3.reference_verifier import HELPER, LEADER
from tests.panprivacy.protocols.encrypted_shares.conftest import CONTEXT, NONCE, key_of
from tests.panprivacy.statistics.events.contract import CountingRandom


def shares_in(servers, sharing):
    """The two input shares, in the clear."""
    leader, helper = servers.key.split(bytes(sharing))
    return open_part(servers.leader, leader, LEADER), open_part(servers.helper, helper, HELPER)


def pieces(servers, *sharings):
    """Halves of ciphertexts, each of which must be random: of ElGamal's the points."""
    encoded = b"".join(map(bytes, sharings))
    size = servers.leader.public_key.ciphertext_bytes // 2
    return [encoded[at : at + size] for at in range(0, len(encoded), size)]


@pytest.fixture(params=["devices", "tables"])
def key(request, servers):
    if request.param == "tables":
        return servers.key
    return SharedKey(servers.leader.public_key, servers.helper.public_key, CONTEXT, nonce=NONCE)


@pytest.mark.parametrize("bit", [0, 1])
def test_encrypt_of_a_bit_is_a_sharing_of_it_that_both_servers_accept(servers, key, bit):
    source = random.Random(1)
    sharing, again = key.encrypt(bit, source), key.encrypt(bit, source)
    assert all(a != b for a, b in zip(shares_in(servers, sharing), shares_in(servers, again), strict=True))
    assert servers.bits([key.parse(bytes(sharing))]) == (bit,)
    assert [len(share) for share in shares_in(servers, sharing)] == [48, 32]


@pytest.mark.parametrize("bit", [0, 1])
def test_rerandomize_keeps_both_shares_and_no_piece_of_a_ciphertext(servers, key, bit):
    source = random.Random(2)
    before = key.encrypt(bit, source)
    after = key.rerandomize(before, source)
    assert shares_in(servers, after) == shares_in(servers, before)
    assert servers.bits([after]) == (bit,)
    seen = pieces(servers, before, after)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("steps", [1, 7])
def test_replace_or_rerandomize_to_replace_makes_fresh_shares(servers, key, steps):
    source = random.Random(3)
    before = key.encrypt(1, source)
    after = key.replace_or_rerandomize(True, 1, before, source, rerandomizations=steps)
    assert servers.bits([after]) == (1,)
    (old_leader, old_helper), (new_leader, new_helper) = shares_in(servers, before), shares_in(servers, after)
    assert old_helper != new_helper
    # Every field element of the leader's: the share of the bit, and five of the proof.
    assert all(old_leader[at : at + 8] != new_leader[at : at + 8] for at in range(0, 48, 8))
    seen = pieces(servers, before, after)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("steps", [1, 50])
def test_replace_or_rerandomize_takes_the_same_path_either_way(monkeypatch, servers, key, steps):
    before = key.encrypt(0, random.Random(5))
    drawn, operations = [], []
    for replace in (False, True):
        source = CountingRandom(6)
        done = []
        for name in ("replace_bytes_or_rerandomize", "_replace_or_rerandomize_embedded"):
            inner = getattr(type(key.leader), name)

            def spy(self, chosen, message, *rest, inner=inner, name=name, done=done, **keywords):
                done.append((name, message))
                return inner(self, chosen, message, *rest, **keywords)

            monkeypatch.setattr(type(key.leader), name, spy)
        key.replace_or_rerandomize(replace, 1, before, source, rerandomizations=steps)
        monkeypatch.undo()
        drawn.append(source.calls)
        operations.append(done)
    # A fresh sharing (512 bits) is drawn and embedded each time, the same one from the same source.
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == 8 * 64
    assert operations[0] == operations[1]
    assert operations[0]


def test_sharings_for_another_nonce_or_another_task_do_not_verify(servers):
    of_task = SharedKey(servers.key.leader, servers.key.helper, b"dap-18" + bytes(32), nonce=NONCE)
    with pytest.raises(VerificationError):
        servers.bits([of_task.encrypt(1, random.Random(9))])
    other = bytes(16)
    sharing = servers.unbound.bound_to(other).encrypt(1, random.Random(8))
    assert servers.bits([sharing], other) == (1,)
    with pytest.raises(VerificationError):
        servers.bits([sharing], NONCE)


def test_encrypt_with_an_unbound_key_raises(servers):
    sharing = servers.key.encrypt(0, random.Random(10))
    for operation in (
        lambda: servers.unbound.encrypt(1, random.Random(10)),
        lambda: servers.unbound.replace_or_rerandomize(
            False, 1, sharing, random.Random(10), rerandomizations=1
        ),
    ):
        with pytest.raises(ValueError, match="bind this key"):
            operation()
    for nonce in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError, match="16 bytes"):
            servers.unbound.bound_to(nonce)


@pytest.mark.parametrize("message", [2, -1, 10**6])
def test_encrypt_of_anything_but_a_bit_raises(servers, message):
    with pytest.raises(ValueError, match="only a bit"):
        servers.key.encrypt(message, random.Random(11))


def test_encrypt_with_tables_equals_encrypt_without(servers):
    without = SharedKey(servers.leader.public_key, servers.helper.public_key, CONTEXT, nonce=NONCE)
    for operation in (
        lambda key: key.encrypt(1, random.Random(12), rerandomizations=3),
        lambda key: key.replace_or_rerandomize(
            True, 1, key.encrypt(0, random.Random(13)), random.Random(14), rerandomizations=3
        ),
    ):
        assert operation(without) == operation(servers.key)
    assert servers.key.with_tables() is servers.key
    assert without.with_tables() is not without


def test_parts_under_the_other_servers_key_do_not_open(servers):
    leader, helper = servers.key.split(bytes(servers.key.encrypt(1, random.Random(15))))
    for private_key, part, side in ((servers.helper, leader, LEADER), (servers.leader, helper, HELPER)):
        with pytest.raises(InvalidShareError):
            open_part(private_key, part, side)


def test_split_of_an_encoding_gives_the_parts_of_fixed_sizes(servers):
    sharing = servers.key.encrypt(1, random.Random(16))
    leader, helper = servers.key.split(bytes(sharing))
    assert leader + helper == bytes(sharing)
    assert len(bytes(sharing)) == servers.key.ciphertext_bytes
    assert leader == b"".join(map(bytes, sharing.leader))
    expected = {66: (132, 132), 512: (512, 512)}[servers.leader.public_key.ciphertext_bytes]
    assert (len(leader), len(helper)) == expected


def test_parse_of_a_wrong_size_or_of_other_bytes_raises(servers):
    encoded = bytes(servers.key.encrypt(1, random.Random(17)))
    for wrong in (b"", encoded[:-1], encoded + b"\0", encoded * 2, bytes(len(encoded))):
        with pytest.raises(InvalidCiphertextError):
            servers.key.parse(wrong)


def test_operations_on_a_ciphertext_of_one_server_raise(servers):
    foreign = servers.key.leader.encrypt(1, random.Random(18))
    for operation in (
        lambda: servers.key.rerandomize(foreign, random.Random(18)),
        lambda: servers.key.replace_or_rerandomize(True, 1, foreign, random.Random(18), rerandomizations=1),
    ):
        with pytest.raises(TypeError):
            operation()


def test_key_of_two_schemes_raises(servers_of):
    with pytest.raises(ValueError, match="scheme"):
        SharedKey(key_of("elgamal-secp256k1", 11).public_key, key_of("paillier-2048", 11).public_key, CONTEXT)


def test_key_and_sharing_through_pickle_are_the_same(servers):
    key, sharing = (
        pickle.loads(pickle.dumps(x))  # noqa: S301  # our own bytes
        for x in (servers.key, servers.key.encrypt(1, random.Random(19)))
    )
    assert isinstance(sharing, SharedCiphertext)
    assert key.encrypt(1, random.Random(19)) == servers.key.encrypt(1, random.Random(19)) == sharing


def test_shares_of_equal_bits_have_nothing_in_common_over_many_steps(servers):
    """A state that never has an event keeps its shares; one with an event each step never does."""
    source = random.Random(20)
    for event in (False, True):
        sharing = servers.key.encrypt(1, source)
        states = [sharing]
        for step in (1, 2, 3):
            sharing = servers.key.replace_or_rerandomize(event, 1, sharing, source, rerandomizations=step)
            states.append(sharing)
        shares = [shares_in(servers, state) for state in states]
        # What a server that colludes with an intruder would learn (docs/threat-model.md).
        assert all((before == after) != event for before, after in pairwise(shares))
