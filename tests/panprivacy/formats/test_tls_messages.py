"""Every message has exactly one encoding, and nothing else decodes."""

import pickle
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from panprivacy.formats.tls_messages import InvalidMessageError, Message, Rest
from panprivacy.protocols.dap.aggregation import VerifyResp
from panprivacy.protocols.dap.basics import Extension, HpkeCiphertext, Interval
from panprivacy.protocols.dap.upload import PlaintextInputShare, Report, ReportMetadata, ReportUploadStatus
from tests.panprivacy.protocols.dap.strategies import ALL_MESSAGES, messages

each_message = pytest.mark.parametrize("message", ALL_MESSAGES, ids=lambda message: message.__name__)
FEW = settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])


def ends_open(message: type[Message]) -> bool:
    """Whether it ends in a vector that reaches to the end of the content."""
    return bool(message.struct) and isinstance(message.struct[-1][1], Rest)


def test_every_message_is_tried():
    assert len({message.__name__ for message in ALL_MESSAGES}) == 37


@each_message
@FEW
@given(st.data())
def test_decode_of_an_encoding_gives_the_message(message, data):
    value = data.draw(messages(message))
    assert message.decode(value.encode()) == value


@each_message
@FEW
@given(st.data())
def test_decode_of_anything_cut_short_is_refused(message, data):
    """Where the last vector reaches to the end of the content, a cut between two elements gives the
    message without those after it; any other cut is refused."""
    value = data.draw(messages(message))
    encoded = value.encode()
    for length in range(len(encoded)):
        try:
            shorter = message.decode(encoded[:length])
        except InvalidMessageError:
            continue
        assert ends_open(message)
        last = message.struct[-1][0]
        found = getattr(shorter, last)
        assert found == getattr(value, last)[: len(found)]
        assert len(found) < len(getattr(value, last))


@each_message
@FEW
@given(st.data(), st.binary(min_size=1, max_size=3))
def test_decode_with_bytes_too_many_is_refused(message, data, more):
    encoded = data.draw(messages(message)).encode()
    with pytest.raises(InvalidMessageError):
        message.decode(encoded + more)


@each_message
@FEW
@given(st.data(), st.binary(max_size=200))
def test_decode_of_other_bytes_is_refused_or_encodes_to_them_again(message, data, any_bytes):
    altered = bytearray(data.draw(messages(message)).encode())
    if altered:
        position = data.draw(st.integers(0, len(altered) - 1))
        altered[position] ^= data.draw(st.integers(1, 255))
    for encoded in (bytes(altered), any_bytes):
        with suppress(InvalidMessageError):
            assert message.decode(encoded).encode() == encoded


def test_refusal_names_the_inner_message_and_its_field_also_after_pickling():
    with pytest.raises(InvalidMessageError, match=r"ReportMetadata\.time is cut short"):
        Report.decode(bytes(20))
    with pytest.raises(InvalidMessageError, match=r"Interval\.duration is cut short") as caught:
        Interval.decode(bytes(15))
    assert (caught.value.message, caught.value.field) == ("Interval", "duration")
    error = caught.value
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert (type(again), str(again), again.field) == (type(error), str(error), "duration")


def test_length_that_promises_too_much_is_refused_unread():
    """A length of 4 GB in a message of 21 bytes."""
    with pytest.raises(InvalidMessageError, match=r"HpkeCiphertext\.payload is cut short"):
        HpkeCiphertext.decode(bytes.fromhex("07 0001 aa ffffffff"))


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (Interval(-1, 0), "start"),
        (Interval(0, 2**64), "duration"),
        (ReportMetadata(bytes(15), 0), "report_id"),
        (ReportUploadStatus(bytes(16), 12), "error"),
        (HpkeCiphertext(1, b"", b"payload"), "enc"),
        (HpkeCiphertext(256, b"enc", b"payload"), "config_id"),
        (PlaintextInputShare((), b""), "payload"),
        (Extension(1, bytes(2**16)), "extension_data"),
        (VerifyResp(bytes(16), Interval(0, 1)), "outcome"),
    ],
)
def test_encode_of_a_value_that_does_not_fit_is_refused(value, field):
    with pytest.raises(InvalidMessageError) as caught:
        value.encode()
    assert caught.value.field == field
