"""Notes, checkpoints, cosignatures, requests to witnesses: one spelling each, nothing unsigned passes."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import LARGEST_SIZE, Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign, cosigned
from panprivacy.protocols.transparency.merkle import EMPTY_ROOT, ProofError, consistency_proof
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, Note, NoteError, VerifierKey
from panprivacy.protocols.transparency.witnessing import (
    AddCheckpoint,
    ForkedLogError,
    OtherSizeError,
    require_continues,
)
from tests.panprivacy.protocols.transparency.trees import nodes_in_memory, slow_root

# From the page of the format (C2SP, signed-note).
VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
NOTE = """This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
""".encode()

LOG = Ed25519PrivateKey.from_private_bytes(bytes(32))
WITNESS = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32))
LOG_KEY = VerifierKey("log.example/a", ED25519, LOG.public_key().public_bytes_raw())
WITNESS_KEY = VerifierKey("witness.example/w", COSIGNATURE, WITNESS.public_key().public_bytes_raw())


def signed(text: str, name: str = LOG_KEY.name) -> bytes:
    return Note(text, (signed_note.sign(text, name, LOG),)).encode()


def a_checkpoint(size: int = 1, root: bytes = bytes(32)) -> Checkpoint:
    return Checkpoint(LOG_KEY.name, size, root)


def test_the_published_note_opens_under_its_published_key() -> None:
    key = VerifierKey.parse(VKEY)
    assert key.text == VKEY
    assert signed_note.opened(NOTE, [key]).text == "This is an example message.\n"
    assert Note.decode(NOTE).encode() == NOTE


@given(st.integers(0, 26), st.integers(0, 7))
def test_a_note_with_one_bit_of_its_text_changed_does_not_open(place: int, bit: int) -> None:
    changed = bytearray(NOTE)
    changed[place] ^= 1 << bit
    with pytest.raises(NoteError):
        signed_note.opened(bytes(changed), [VerifierKey.parse(VKEY)])


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"text\n",
        b"text\n\n",
        b"text\n\nno dash\n",
        NOTE[:-1],
        NOTE.replace(b"=\n", b"\n"),
        NOTE.replace(b" Uw2Q", b"  Uw2Q"),
        NOTE.replace(b"example message", b"example\tmessage"),
        NOTE.replace(b"\n", b"\r\n"),
        NOTE.replace(b"example message", b"\xff"),
        NOTE.replace(b"/foo", b"+foo"),
        NOTE.replace(b"/foo", "/f\N{NO-BREAK SPACE}oo".encode()),
        b"text\n\n" + NOTE.split(b"\n\n")[1] * 101,
        b"a" * (signed_note.LONGEST_NOTE + 1),
    ],
)
def test_what_is_no_note_is_refused(note: bytes) -> None:
    with pytest.raises(NoteError):
        Note.decode(note)


def test_a_note_without_a_known_signature_does_not_open() -> None:
    with pytest.raises(NoteError, match="no key that is known"):
        signed_note.opened(NOTE, [LOG_KEY])
    with pytest.raises(NoteError, match="no key that is known"):
        signed_note.opened(NOTE, [])


def test_a_bad_signature_by_a_known_key_is_not_outweighed_by_a_good_one() -> None:
    good = Note.decode(NOTE)
    [line] = good.signatures
    stranger = signed_note.Signature("stranger", b"1234", b"nonsense")
    assert signed_note.opened(Note(good.text, (stranger, line)).encode(), [VerifierKey.parse(VKEY)])
    bad = signed_note.Signature(line.name, line.identifier, bytes(64))
    with pytest.raises(NoteError, match="does not hold"):
        signed_note.opened(Note(good.text, (line, bad)).encode(), [VerifierKey.parse(VKEY)])


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a+b", "a+530d903a+", VKEY[:-1], VKEY.replace("530d", "530e"), VKEY + "=", " " + VKEY),
        VKEY.replace("+A", "+B"),
    ],
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        VerifierKey.parse(text)


@given(
    size=st.integers(1, LARGEST_SIZE),
    root=st.binary(min_size=32, max_size=32),
    extensions=st.lists(st.from_regex(r"[ -~]+", fullmatch=True), max_size=3),
)
def test_a_checkpoint_is_read_as_it_was_written(size: int, root: bytes, extensions: list[str]) -> None:
    checkpoint = Checkpoint("log.example/a", size, root, tuple(extensions))
    assert Checkpoint.parse(checkpoint.text) == checkpoint
    assert Checkpoint.parse(a_checkpoint(0, EMPTY_ROOT).text).size == 0


@pytest.mark.parametrize(
    "text",
    [
        "log\n1\n",
        "\n1\n" + "A" * 43 + "=\n",
        "log\n01\n" + "A" * 43 + "=\n",
        "log\n-1\n" + "A" * 43 + "=\n",
        f"log\n{LARGEST_SIZE + 1}\n" + "A" * 43 + "=\n",
        "log\n1\n" + "A" * 42 + "B=\n",
        "log\n1\n" + "A" * 44 + "\n",
        "log\n0\n" + "A" * 43 + "=\n",
        "log\n1\n" + "A" * 43 + "=\n\n",
        "log\n1\n" + "A" * 43 + "=",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        Checkpoint.parse(text)


def test_a_key_speaks_for_the_log_of_its_name_only() -> None:
    text = Checkpoint("log.example/b", 1, bytes(32)).text
    # Signed by a key that is trusted, under its own name, for another log.
    with pytest.raises(NoteError):
        checkpoints.opened(signed(text), [LOG_KEY])
    checkpoint, _ = checkpoints.opened(signed(a_checkpoint().text), [LOG_KEY])
    assert checkpoint == a_checkpoint()


def test_a_cosignature_holds_for_its_checkpoint_and_time() -> None:
    signature = cosign(a_checkpoint(), WITNESS_KEY.name, WITNESS, time=1_679_315_147)
    found = cosigned(Note(a_checkpoint().text, (signature,)), WITNESS_KEY)
    assert found is not None
    assert found.time == 1_679_315_147
    assert cosigned(Note(a_checkpoint().text, ()), WITNESS_KEY) is None
    with pytest.raises(NoteError, match="does not hold"):
        cosigned(Note(a_checkpoint(2).text, (signature,)), WITNESS_KEY)
    later = signature.content[:7] + bytes([signature.content[7] ^ 1]) + signature.content[8:]
    changed = signed_note.Signature(signature.name, signature.identifier, later)
    with pytest.raises(NoteError, match="does not hold"):
        cosigned(Note(a_checkpoint().text, (changed,)), WITNESS_KEY)


def test_a_witness_of_one_key_as_log_and_witness_signs_different_messages() -> None:
    both = VerifierKey("log.example/a", COSIGNATURE, LOG.public_key().public_bytes_raw())
    assert both.identifier != LOG_KEY.identifier
    plain = signed_note.sign(a_checkpoint().text, LOG_KEY.name, LOG)
    as_witness = signed_note.Signature(both.name, both.identifier, bytes(8) + plain.content)
    with pytest.raises(NoteError):
        cosigned(Note(a_checkpoint().text, (as_witness,)), both)


@pytest.mark.parametrize("time", [0, -1, 2**63])
def test_a_time_out_of_range_is_not_signed(time: int) -> None:
    with pytest.raises(NoteError, match="time"):
        cosign(a_checkpoint(), WITNESS_KEY.name, WITNESS, time=time)


def test_a_request_to_a_witness_is_read_as_it_was_written() -> None:
    request = AddCheckpoint(3, (bytes(32), bytes([1] * 32)), signed(a_checkpoint(5).text))
    assert AddCheckpoint.decode(request.encode()) == request
    assert AddCheckpoint.decode(AddCheckpoint(0, (), NOTE).encode()) == AddCheckpoint(0, (), NOTE)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"old 1", b"old 01\n\nx", b"new 1\n\nx", b"old 1\r\n\r\nx", b"old \xff\n\nx"),
        b"old 1\nnonsense\n\nx",
        b"old 1\n" + b"A" * 43 + b"=\n",
        b"old 1\n" + (b"A" * 43 + b"=\n") * 64 + b"\nx",
    ],
)
def test_what_is_no_request_to_a_witness_is_refused(body: bytes) -> None:
    with pytest.raises(NoteError):
        AddCheckpoint.decode(body)


def test_a_witness_follows_a_log_that_grows_and_no_other() -> None:
    entries = [bytes([number]) for number in range(7)]
    known = a_checkpoint(3, slow_root(entries[:3]))
    grown = a_checkpoint(7, slow_root(entries))
    proof = tuple(consistency_proof(nodes_in_memory(entries), 3, 7))
    require_continues(AddCheckpoint(3, proof, b""), grown, known)
    require_continues(AddCheckpoint(0, (), b""), grown, None)
    with pytest.raises(OtherSizeError, match="knows size 3"):
        require_continues(AddCheckpoint(0, (), b""), grown, known)
    with pytest.raises(ProofError):
        require_continues(
            AddCheckpoint(3, proof, b""), a_checkpoint(7, slow_root([b"?", *entries[1:]])), known
        )
    with pytest.raises(NoteError, match="at most the checkpoint's, 2"):  # rolled back
        require_continues(AddCheckpoint(3, (), b""), a_checkpoint(2, slow_root(entries[:2])), known)
    with pytest.raises(ForkedLogError):
        require_continues(AddCheckpoint(3, (), b""), a_checkpoint(3, bytes(32)), known)
