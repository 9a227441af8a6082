"""Whom one believes, and proofs that are checked offline."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.merkle import ProofError, inclusion_proof
from panprivacy.protocols.transparency.policy import Policy, PolicyError, QuorumError
from panprivacy.protocols.transparency.proof import Proof
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, Note, NoteError, VerifierKey
from tests.panprivacy.protocols.transparency.trees import ENTRIES, nodes_in_memory, slow_root

NAMES = ("log", "X1", "X2", "Y")
KEYS = {name: Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32)) for name in NAMES}
VKEYS = {
    name: VerifierKey(
        f"{name}.example", ED25519 if name == "log" else COSIGNATURE, key.public_key().public_bytes_raw()
    )
    for name, key in KEYS.items()
}
POLICY = f"""# Two organizations must have seen it.
log {VKEYS["log"].text}
witness X1 {VKEYS["X1"].text} https://x1.example
\twitness  X2\t{VKEYS["X2"].text}

witness Y {VKEYS["Y"].text}
group X any X1 X2
group both all X Y
quorum both
"""


def a_note(*witnesses: str, size: int = 8, root: bytes | None = None) -> bytes:
    checkpoint = Checkpoint("log.example", size, slow_root(ENTRIES) if root is None else root)
    signatures = [signed_note.sign(checkpoint.text, "log.example", KEYS["log"])]
    signatures += [cosign(checkpoint, f"{name}.example", KEYS[name], time=1) for name in witnesses]
    return Note(checkpoint.text, tuple(signatures)).encode()


@pytest.mark.parametrize(
    ("witnesses", "enough"),
    [((), False), (("X1", "X2"), False), (("Y",), False), (("X1", "Y"), True), (("X2", "Y"), True)],
)
def test_a_checkpoint_is_accepted_by_its_quorum_only(witnesses: tuple[str, ...], enough: bool) -> None:
    policy = Policy.parse(POLICY.encode())
    if enough:
        accepted = policy.accepted(a_note(*witnesses))
        assert {one.name for one in accepted.witnesses} == {f"{name}.example" for name in witnesses}
    else:
        with pytest.raises(QuorumError, match="quorum both is not reached"):
            policy.accepted(a_note(*witnesses))


def test_one_witness_that_signs_twice_counts_once() -> None:
    policy = Policy.parse(POLICY.replace("group X any", "group X all").encode())
    with pytest.raises(QuorumError):
        policy.accepted(a_note("X1", "X1", "Y"))


def test_a_signature_from_the_future_does_not_count_and_the_clock_is_named() -> None:
    policy = Policy.parse(POLICY.encode())
    assert policy.accepted(a_note("X1", "Y"), latest=1)
    with pytest.raises(QuorumError, match=r"signed at a time that has not come yet.* X1, Y"):
        policy.accepted(a_note("X1", "Y"), latest=0)


def test_a_policy_is_read_as_it_was_written() -> None:
    for text in (POLICY, f"log {VKEYS['log'].text}\nquorum none\n"):
        policy = Policy.parse(text.encode())
        assert Policy.parse(policy.encode()) == policy
    assert b" https://x1.example\n" in Policy.parse(POLICY.encode()).encode()


def test_without_a_quorum_the_log_alone_is_believed() -> None:
    policy = Policy.parse(f"log {VKEYS['log'].text}\nquorum none\n".encode())
    assert policy.accepted(a_note()).witnesses == ()
    with pytest.raises(NoteError, match="no key that is known"):
        Policy.parse(b"quorum none").accepted(a_note())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a line: quorum"),
        ("quorum both", "line 1: both is no witness"),
        ("quorum none\nquorum none", "line 2: there must be one line"),
        ("trust me", "line 1: must begin with"),
        (f"log {VKEYS['X1'].text}", "key of a log must be of type 1, not 4"),
        (f"witness a {VKEYS['log'].text}", "key of a witness must be of type 4, not 1"),
        (f"log {VKEYS['log'].text}\nlog {VKEYS['log'].text}", "line 2: names a log's key twice"),
        (f"witness a {VKEYS['Y'].text}\nwitness b {VKEYS['Y'].text}", "line 2: names a witness's key twice"),
        (f"witness a {VKEYS['Y'].text}\nwitness a {VKEYS['X1'].text}", "line 2: a is a name already"),
        (f"witness none {VKEYS['Y'].text}", "none is a name already"),
        (f"witness a {VKEYS['Y'].text}\ngroup g 2 a", "must be any, all or 1 to 1, not 2"),
        (f"witness a {VKEYS['Y'].text}\ngroup g 0 a", "must be any, all or 1 to 1, not 0"),
        (f"witness a {VKEYS['Y'].text}\ngroup g all a a", "a is a member already"),
        ("group g all", "must be: group"),
        ("group g all g", "g is no witness"),
        ("log x", "verifier key must look like"),
        ("quorum none\x00", "control characters"),
        ("\n" * 1_001, "at most"),
    ],
)
def test_what_is_no_policy_is_refused_and_the_line_named(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy.parse(text.encode())


def a_proof(index: int = 3) -> Proof:
    path = tuple(inclusion_proof(nodes_in_memory(ENTRIES), index, 8))
    return Proof(index, path, a_note("X1", "Y"))


def test_a_proof_is_read_as_it_was_written() -> None:
    for proof in (a_proof(), Proof(0, (), a_note(), b"extra")):
        assert Proof.decode(proof.encode()) == proof


def test_a_proof_holds_for_its_entry_only() -> None:
    policy, proof = Policy.parse(POLICY.encode()), Proof.decode(a_proof().encode())
    assert proof.verify(ENTRIES[3], policy).checkpoint.size == 8
    with pytest.raises(ProofError):
        proof.verify(ENTRIES[4], policy)
    with pytest.raises(ProofError):
        Proof(4, proof.path, proof.note).verify(ENTRIES[3], policy)
    with pytest.raises(QuorumError):
        Proof(3, proof.path, a_note("X1")).verify(ENTRIES[3], policy)
    with pytest.raises(ProofError):
        Proof(3, proof.path, a_note("X1", "Y", root=bytes(32))).verify(ENTRIES[3], policy)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"c2sp.org/tlog-proof@v1\n\n",
        b"c2sp.org/tlog-proof@v2\nindex 0\n\nx",
        b"c2sp.org/tlog-proof@v1\nindex 00\n\nx",
        b"c2sp.org/tlog-proof@v1\nindex 0\nextra QQ==\n\nx",
        b"c2sp.org/tlog-proof@v1\nextra \nindex 0\n\nx",
        b"c2sp.org/tlog-proof@v1\nextra QR==\nindex 0\n\nx",
        b"c2sp.org/tlog-proof@v1\nindex 0\nnonsense\n\nx",
        b"c2sp.org/tlog-proof@v1\nindex 0\n" + (b"A" * 43 + b"=\n") * 64 + b"\nx",
        b"c2sp.org/tlog-proof@v1\r\nindex 0\r\n\r\nx",
    ],
)
def test_what_is_no_proof_is_refused(document: bytes) -> None:
    with pytest.raises(NoteError):
        Proof.decode(document)
